package script

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gbroker/jsdl"
	"gbroker/jsdl/sweep"
)

// What is printed of a script is read as its job again, without a warning; of an array each job.
func TestDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	arrays := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, text, options())
		if err != nil {
			continue // its golden file says why
		}
		document := s.Document()
		if s.Array == nil {
			same(t, s, document, s.Job)
			continue
		}
		arrays++
		swept, err := sweep.Read(file, document, 0)
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, document)
			continue
		}
		if swept.Jobs() != len(s.Array.Indexes) || swept.AtOnce() != s.Array.Throttle {
			t.Errorf("%s: %d jobs, %d at once, of %+v", file, swept.Jobs(), swept.AtOnce(), s.Array)
		}
		for i, n := range s.Array.Indexes {
			same(t, s, swept.Document(i+1), s.Element(n))
		}
	}
	if arrays < 4 {
		t.Errorf("%d arrays", arrays)
	}
}

func same(t *testing.T, s *Script, document []byte, want any) {
	t.Helper()
	d, err := jsdl.Parse(s.File, document)
	if err != nil {
		t.Errorf("%v\n%s", err, document)
		return
	}
	if len(d.Warnings) > 0 || !reflect.DeepEqual(d.Job, want) {
		t.Errorf("%s is read as\n%+v\nnot\n%+v\n%v\n%s", s.File, d.Job, want, d.Warnings, document)
	}
	if len(d.Staging) != 1 || d.Staging[0].Source != s.Base() {
		t.Errorf("%s brings %+v", s.File, d.Staging)
	}
}

// A command is a job of sbatch's options: with a path it goes along, without one the site has it.
func TestCommand(t *testing.T) {
	t.Parallel()
	o := options()
	o.Directives = []string{"--ntasks=4", "--time=" + Quoted(`1:00:00`), "--comment=" + Quoted(`a "b" # c`)}
	s, err := Command([]string{"./prog", "-n", "x y"}, false, o)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Job.Program; p.Executable != "./prog" || len(p.Arguments) != 2 || p.Parallel != "MPI" || p.Dialect != "" || len(p.Environment) != 0 ||
		s.Job.Name != "prog" || s.Job.Walltime.Seconds() != 3600 || s.Job.About.Annotations[0] != `a "b" # c` || s.Base() != "" {
		t.Errorf("%s", told(s))
	}
	if _, err := jsdl.Parse("x", s.Document()); err != nil {
		t.Error(err)
	}
	if s, err = Command([]string{"hostname"}, true, o); err != nil || s.Job.Program.Executable != "/usr/bin/env" || s.Job.Program.Parallel != "" {
		t.Errorf("%+v, %v", s, err)
	}
	o.Directives = []string{"--time=never"}
	if _, err = Command([]string{"hostname"}, true, o); err == nil {
		t.Error("it runs for never")
	}
}
