package grid

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBringMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, yes, no string }{
		{"*.dat", "a.dat x.dat", "a.txt out/a.dat .a.dat"},
		{"out/*.dat", "out/a.dat", "a.dat out/b/a.dat in/a.dat"},
		{"out", "out out/a out/b/c", "outer a/out out/.a out/.b/c"},
		{"out/**", "out out/a out/b/c", "in/a"},
		{"**", "a a/b a/b/c", ".a a/.b a/.b/c .a/b"},
		{"**/*.dat", "a.dat x/a.dat x/y/a.dat", "a.txt .x/a.dat"},
		{"a/**/b", "a/b a/x/b a/x/y/b a/x/b/c", "b a/x"},
		{".config", ".config .config/a", "config .config/.a"},
		{".*", ".a", "a"},
		{"run[0-9]/o?t", "run1/out run9/oat", "runx/out run1/ot"},
		{"*", "a a/b", ".a"},
	} {
		b := Bring{Pattern: c.pattern}
		if err := b.Check(); err != nil {
			t.Error(err)
		}
		for _, name := range strings.Fields(c.yes) {
			if !b.Matches(name) {
				t.Errorf("%q does not match %q", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.no) {
			if b.Matches(name) {
				t.Errorf("%q matches %q", c.pattern, name)
			}
		}
	}
	for _, bad := range []Bring{{}, {Pattern: "/a"}, {Pattern: "../a"}, {Pattern: "a/../b"}, {Pattern: "a//b"}, {Pattern: "./a"}, {Pattern: "a/"}, {Pattern: "["}, {Pattern: `a\b`}, {Pattern: "a\nb"},
		{Pattern: "**/a/**/b/**/c/**/d/**"}, {Pattern: strings.Repeat("a/", 40) + "a"}, {Pattern: "a", Bytes: -1}, {Pattern: "a", Bytes: MaxSandbox + 1}} {
		if bad.Check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// naive is the same by trying all ways.
func naive(pattern, names []string) bool {
	switch {
	case len(pattern) == 0:
		return !hidden(names)
	case pattern[0] == "**" && naive(pattern[1:], names):
		return true
	case len(names) == 0:
		return false
	case strings.HasPrefix(names[0], ".") && !strings.HasPrefix(pattern[0], "."):
		return false
	case pattern[0] == "**":
		return naive(pattern, names[1:])
	}
	ok, _ := path.Match(pattern[0], names[0])
	return ok && naive(pattern[1:], names[1:])
}

func TestBringAsNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "a*", ".b", "?"}), 1, 5).Draw(t, "pattern")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "b", ".b", "c"}), 1, 5).Draw(t, "names")
		if got, want := (Bring{Pattern: strings.Join(pattern, "/")}).Matches(strings.Join(names, "/")), naive(pattern, names); got != want {
			t.Fatalf("%v matches %v: %v, and by trying all %v", pattern, names, got, want)
		}
	})
}

// A pattern that is taken is matched against anything soon, and what lies outside is never meant.
func FuzzBring(f *testing.F) {
	f.Add("out/*.dat", "out/a.dat")
	f.Add("**/a*/**/[a-z]?", "x/ab/c/yz")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		b := Bring{Pattern: pattern}
		if b.Check() == nil && b.Matches(name) && (name == "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../")) {
			t.Errorf("%q matches %q", pattern, name)
		}
	})
}

func TestNumbered(t *testing.T) {
	t.Parallel()
	const group, id = "a.01JD3V0QX2M6W8T9Z4C5A7B1EF", "a.01JD3V0QX2M6W8T9Z4C5A7B1EF.17"
	j := Job{ID: id, Program: Program{Dialect: DialectSlurm, Directory: "d", Output: "%A/%j%%j", Error: "e%%"}, Outputs: []Output{
		{Path: "d/%A/%j%%j", Target: "%A/%j%%j"}, {Path: "d/e%%", Target: "mine"}, {Path: "other%j", Target: "other%j"}}}
	was := j
	j.Number()
	if j.Program.Output != group+"/"+id+"%j" || j.Program.Error != "e%" || was.Outputs[0].Path != "d/%A/%j%%j" {
		t.Errorf("%+v", j.Program)
	}
	if o := j.Outputs; o[0] != (Output{Path: "d/" + group + "/" + id + "%j", Target: group + "/" + id + "%j"}) || o[1] != (Output{Path: "d/e%", Target: "mine"}) || o[2].Path != "other%j" {
		t.Errorf("%+v", o)
	}
	plain := Job{ID: id, Program: Program{Output: "%j"}}
	if plain.Number(); plain.Program.Output != "%j" {
		t.Error("a program of no dialect has its files renamed")
	}
	j.Renumber("b.01JD3V0QX2M6W8T9Z4C5A7B1EG")
	if j.Program.Output != group+"/b.01JD3V0QX2M6W8T9Z4C5A7B1EG%j" {
		t.Errorf("handed in again: %q", j.Program.Output)
	}
	if FitsNumbered(strings.Repeat("%j", 3)) || FitsNumbered(strings.Repeat("%j/", 11)) || !FitsNumbered("%j/%A") {
		t.Error("long names")
	}
}
