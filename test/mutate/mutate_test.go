package main

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// One of two equal rules is tested: its mutant dies, that of the other is told.
func TestSurvivorIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/weak")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := sample{folder: folder, packages: []string{"."}, number: 10, seed: 1, first: time.Hour, limit: time.Minute}
	if err := s.all(context.Background(), &out); err != nil {
		t.Fatal(err, out.String())
	}
	s.files = "^none"
	if err := s.all(context.Background(), &out); err != nil || !strings.Contains(out.String(), "0 of 0 killed") {
		t.Error("of files that there are not: ", err, out.String())
	}
	s.files, s.changes = "", "if false"
	if err := s.all(context.Background(), &out); err != nil || strings.Count(out.String(), "0 of 0 killed") != 2 {
		t.Error("of changes that there are not: ", err, out.String())
	}
	s.changes = "weak.go:6: "
	if err := s.all(context.Background(), &out); err != nil || !strings.Contains(out.String(), "0 of 1 killed") {
		t.Error("of one line: ", err, out.String())
	}
	if !strings.Contains(out.String(), "1 of 2 killed (50 %)") || !strings.Contains(out.String(), ". weak.go:6: compare: <= instead of <") {
		t.Error(out.String())
	}
}

// Most changes are built together, what has no place beside the original is built alone: the tests say the same of each.
func TestTogetherAndAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/kinds")); err != nil {
		t.Fatal(err)
	}
	all, err := mutants(filepath.Join(folder, "kinds.go"))
	if err != nil {
		t.Fatal(err)
	}
	s := sample{folder: folder, first: time.Hour, limit: time.Minute}
	both, err := s.trial(t.Context(), t.TempDir(), ".", all)
	if err != nil {
		t.Fatal(err)
	}
	alone := &trial{sample: s, name: ".", scratch: t.TempDir(), whole: bounds{time.Hour, time.Hour}}
	found, together := map[outcome]int{}, 0
	for i, m := range all {
		one, err := both.of(t.Context(), i+1, m)
		if err != nil {
			t.Fatal(err)
		}
		if both.bench.has[i+1] {
			together++
		}
		other, err := alone.of(t.Context(), i+1, m)
		if one == unreached {
			one = survived
			found[unreached]++
		}
		if err != nil || one != other {
			t.Errorf("%s:%d: %s: %s: %d together and %d alone, %v", m.file, m.line, m.kind, m.what, one, other, err)
		}
		found[one]++
	}
	if found[killed] != 7 || found[unbuilt] != 1 || found[survived] != 3 || found[unreached] != 2 || together != len(all)-2 {
		t.Errorf("%v of %d, %d of them built together", found, len(all), together)
	}
}

// What exceeds the limit is noticed only where the tests of the code as it is keep well below it.
func TestHangIsNoFaultOfTheMachine(t *testing.T) {
	t.Parallel()
	const holds, fails, hangs = "true", "false", "echo panic: test timed out after 1s; exit 2"
	const circles = "ulimit -t 1; while :; do :; done"
	for name, k := range map[string]struct {
		mutated, asItIs []string // what becomes of the runs, in order
		want            outcome
	}{
		"it hangs, the code as it is does not":  {[]string{hangs}, []string{holds}, hung},
		"the code as it is takes as long":       {[]string{hangs, hangs, hangs}, []string{hangs, hangs, hangs}, unsure},
		"as long, and once more in time: holds": {[]string{hangs, holds}, []string{hangs}, survived},
		"as long, and once more in time: fails": {[]string{hangs, fails}, []string{hangs}, killed},
		"in a circle":                           {[]string{circles}, nil, circled},
		"in time":                               {[]string{fails}, nil, killed},
	} {
		tr := &trial{name: name, scratch: t.TempDir()}
		left := map[bool][]string{true: k.mutated, false: k.asItIs}
		got, err := tr.patient(t.Context(), bounds{time.Hour, time.Second / 2}, func(mutated bool, _ bounds) *exec.Cmd {
			if len(left[mutated]) == 0 {
				t.Fatalf("%s: one run more (mutated: %v)", name, mutated)
			}
			script := left[mutated][0]
			left[mutated] = left[mutated][1:]
			return exec.Command("sh", "-c", script)
		})
		if got != k.want || err != nil || len(left[true])+len(left[false]) > 0 {
			t.Errorf("%s: %d, %v, %d not run", name, got, err, len(left[true])+len(left[false]))
		}
	}
}

const source = `package p

func f(a, b int) (c int) {
	c = 7
	if a == b && b > 3 {
		c++
		g()
	}
	defer g()
	switch {
	case a, b:
	}
	switch c {
	case a:
	}
	d := c + a
	return d
}

func g() {}
`

// Each kind of change is found, is Go, is another text, and is taken back.
func TestMutants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := mutants(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	texts := map[string]bool{source: true}
	for _, m := range all {
		text, err := m.text()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), path, text, 0); err != nil {
			t.Errorf("%s %s: %v\n%s", m.kind, m.what, err, text)
		}
		if texts[string(text)] {
			t.Errorf("line %d: %s %s: the text was there before:\n%s", m.line, m.kind, m.what, text)
		}
		texts[string(text)] = true
		kinds[m.kind]++
	}
	for kind, n := range map[string]int{"compare": 2, "logic": 1, "condition": 6, "sum": 1, "number": 2, "statement": 4} {
		if kinds[kind] != n {
			t.Errorf("%d mutants of kind %s, want %d", kinds[kind], kind, n)
		}
	}
}

func TestScriptLosesALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "body.sh")
	if err := os.WriteFile(path, []byte("# what it is\ntrap : TERM\n\nexit 75\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := mutants(path)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d mutants, %v", len(all), err)
	}
	text, err := all[0].text()
	if err != nil || string(text) != "# what it is\n\n\nexit 75\n" || all[0].line != 2 {
		t.Errorf("%d %q %v", all[0].line, text, err)
	}
}

// Tests that run programs under other accounts may lead those into the folders that they get.
func TestFoldersOfTestsCanBePassed(t *testing.T) {
	t.Parallel()
	dir, err := passable(t.TempDir(), "left")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
