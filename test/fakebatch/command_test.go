package fakebatch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/fakebatch/batch"
)

// The commands in C, where they can be built, and the program say the same.
func TestCommandsOfBothKinds(t *testing.T) {
	t.Parallel()
	program, command, release, err := build()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if program == command {
		if _, err := exec.LookPath("gcc"); err == nil {
			t.Error("the commands are not built, and gcc is there")
		}
		t.Skip("the commands in C need a C compiler that links statically")
	}
	for _, face := range []string{"torque", "openpbs"} {
		s := Start(t, batch.Config{Face: face})
		file := filepath.Join(t.TempDir(), "job")
		if err := os.WriteFile(file, []byte("#PBS -N filed\nexit 3\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("# a line that is there for its length\n", 10000)
		said := func(which string) (all []Answer) {
			for _, c := range [][]string{
				{"ours", long + "exit 3\n", "qsub", "-h", "-N", "said"}, {"other", "", "qsub", "-h", "-v", "A=a b,B=" + strings.Repeat("x", 100000), file},
				{"", "", "qstat", "-f"}, {"", "", "qstat", "nosuch"}, {"", "", "qdel", "99999999"}, {"", "", "qstat", ""}, {"", "not read", "qstat", "--version"},
			} {
				a := s.Run(c[0], c[1], c[2], c[3:]...)
				if a.Stdout+a.Stderr == "" || strings.Contains(a.Stderr, "fakebatch:") {
					t.Errorf("%s of %s: %.40q says %+v", which, face, c[2:], a)
				}
				all = append(all, a)
			}
			return all
		}
		inC := said("C")
		for _, name := range []string{"qsub", "qstat", "qdel"} {
			if err := os.Remove(filepath.Join(s.Bin, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.links(program, "qsub", "qstat", "qdel"); err != nil {
			t.Fatal(err)
		}
		inGo := said("Go")
		for i, a := range inGo {
			if i > 2 && a != inC[i] || a.Exit != inC[i].Exit { // the first three tell of different jobs
				t.Errorf("%s: call %d says %+v in Go, %+v in C", face, i, a, inC[i])
			}
		}
		jobs := s.Jobs()
		if len(jobs) != 4 {
			t.Fatalf("%s: %d jobs", face, len(jobs))
		}
		for i := range 2 {
			c, g := jobs[i], jobs[i+2]
			if string(c.Script) != string(g.Script) || c.User != g.User || c.Name != g.Name || strings.Join(c.Variables, "\n") != strings.Join(g.Variables, "\n") ||
				len(c.Script) == 0 || strings.Join(c.Environ, "\n") != strings.Join(g.Environ, "\n") || c.Start != g.Start {
				t.Errorf("%s: a job in C %.2000s, in Go %.2000s", face, strings.Join(c.Environ, " "), strings.Join(g.Environ, " "))
			}
		}
	}
}
