package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of one line too many is found, of whatever kind, and one that is just short enough is not.
func TestLengths(t *testing.T) {
	t.Parallel()
	p := Package{
		Dir: t.TempDir(), ImportPath: "long/plan", GoFiles: []string{"fits.go", "code.go"},
		IgnoredGoFiles: []string{"elsewhere_windows.go"}, TestGoFiles: []string{"in_test.go"}, XTestGoFiles: []string{"out_test.go"},
	}
	p.Module.Path = "long"
	for name, lines := range map[string]int{"fits.go": 400, "code.go": 401, "elsewhere_windows.go": 401, "in_test.go": 401, "out_test.go": 401} {
		text := "package plan\n" + strings.Repeat("\n", lines-1)
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Lengths([]Package{p})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 {
		t.Fatalf("four files are too long, and it found %v", got)
	}
	for i, name := range []string{"code.go", "elsewhere_windows.go", "in_test.go", "out_test.go"} {
		if want := "plan/" + name + ": 401 lines"; !strings.HasPrefix(got[i].String(), want) {
			t.Errorf("%s, and should begin with %s", got[i], want)
		}
	}
}
