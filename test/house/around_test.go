package house

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Each way around the rules in testdata/around.txtar is found at its line, and nothing else is.
func TestWaysAround(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "around.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := []string{
		"go.mod:7: something stands in",
		"plan/apart/go.mod: a module of its own",
		"plan/fast_s390x.s: no Go",
		"plan: imports around/plan/apart, which is no package of this module",
	}
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		for n, line := range slices.Collect(strings.Lines(string(f.Data))) {
			if strings.Contains(line, "// FOUND") {
				want = append(want, fmt.Sprintf("%s:%d: ", f.Name, n+1))
			}
		}
	}
	got := breaches(t, list(t, dir))
	modules, err := Modules(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range modules {
		got = append(got, b.String())
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("not found: %s", w)
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("found, but in order: %s", g)
		}
	}
}
