package house

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The architecture note names the pure packages that the import test holds.
func TestThePurePackagesAreNamed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "out of the pure packages: ")
	told, _, _ := strings.Cut(rest, ", which import only pure ones")
	if want := strings.Join(pure, ", "); told != want {
		t.Errorf("docs/architecture.md calls pure: %s\nand they are: %s", told, want)
	}
}

// The table of packages in the architecture note has all of them, and the arrows that there are.
func TestThePackagesAreDescribed(t *testing.T) {
	t.Parallel()
	list, err := List(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| package | before | lines | imports | what |\n")
	told := map[string]string{}
	for line := range strings.Lines(table) {
		if columns := strings.Split(line, "|"); len(columns) == 7 && strings.HasPrefix(columns[1], " `") {
			told[strings.Trim(columns[1], " `")] = strings.TrimSpace(columns[4])
		}
	}
	for _, p := range list {
		name := p.inside()
		if family(name) == "test" {
			continue
		}
		var arrows []string
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, p.Module.Path+"/")
			if of := family(to); ours && of != family(name) && of != "internal" && !slices.Contains(arrows, of) {
				arrows = append(arrows, of)
			}
		}
		slices.Sort(arrows)
		if imports, is := told[name]; !is || imports != strings.Join(arrows, " ") {
			t.Errorf("%s imports %q: docs/architecture.md says %q (%t)", name, strings.Join(arrows, " "), imports, is)
		}
		delete(told, name)
	}
	for name := range told {
		t.Errorf("docs/architecture.md describes %s, which is no package", name)
	}
}

// The lines that the table tells are those of the packages, within a twentieth, so that not every commit has to count; their sum is the
// sum of the rows.
func TestTheLinesOfPackagesAreTold(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| package | before | lines | imports | what |\n")
	number := func(column string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(column), ",", ""))
		if err != nil && strings.TrimSpace(column) != "" {
			t.Errorf("%q is no number of lines", column)
		}
		return n
	}
	before, now, summed := 0, 0, false
	for line := range strings.Lines(table) {
		columns := strings.Split(line, "|")
		switch {
		case len(columns) == 7 && strings.HasPrefix(columns[1], " `"):
			name, told := strings.Trim(columns[1], " `"), number(columns[3])
			before, now = before+number(columns[2]), now+told
			if is := linesOf(t, name); 20*max(is-told, told-is) > is {
				t.Errorf("%s has %d lines: docs/architecture.md says %d", name, is, told)
			}
		case len(columns) == 7 && strings.TrimSpace(columns[1]) == "all of these":
			summed = true
			if b, n := number(columns[2]), number(columns[3]); b != before || n != now {
				t.Errorf("the rows of docs/architecture.md come to %d and %d lines, and it says %d and %d", before, now, b, n)
			}
		}
	}
	if !summed {
		t.Error("the table has no sum")
	}
}

// linesOf are the lines of a package, without tests.
func linesOf(t *testing.T, name string) (n int) {
	list, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(text, []byte("\n"))
	}
	return n
}
