package house

import (
	"os"
	"slices"
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
