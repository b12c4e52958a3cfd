package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pbstest"
)

// What cannot be started has not run, with the reason and the way out in words; no name leads out of the sandbox.
func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	program := func(name string) func(s *Spec) {
		return func(s *Spec) { s.Program = grid.Program{Executable: name} }
	}
	for says, k := range map[string]struct {
		change func(s *Spec)
		file   string // of the sandbox: its content
		mode   os.FileMode
	}{
		`the job names no executable`:                               {change: program("")},
		`"/no/such" does not exist at site here`:                    {change: program("/no/such")},
		`"x" does not exist in the working directory`:               {change: program("x")},
		`its interpreter "/no/sh" does not exist`:                   {program("x"), "#! /no/sh -e\n", 0o755},
		`Windows line ends, so its first line names no`:             {program("x"), "#!/bin/sh\r\n", 0o755},
		`"x" is not executable: give the file its`:                  {program("x"), "#!/bin/sh\n", 0o644},
		`neither a program for this machine nor a script`:           {program("x"), "words", 0o755},
		`the working directory "../y" leads out of the job's`:       {change: func(s *Spec) { s.Program.Directory = "../y" }},
		`the working directory "/y" is absolute`:                    {change: func(s *Spec) { s.Program.Directory = "/y" }},
		`the working directory "out/y" leads out of the job's s`:    {change: func(s *Spec) { s.Program.Directory = "out/y" }},
		`the working directory "x": `:                               {func(s *Spec) { s.Program.Directory = "x" }, "a file", 0o644},
		`the input file "../../in" leads out of`:                    {change: func(s *Spec) { s.Program.Input = "../../in" }},
		`the input file "none": `:                                   {change: func(s *Spec) { s.Program.Input = "none" }},
		`the input file "path escapes from parent": `:               {change: func(s *Spec) { s.Program.Input = "path escapes from parent" }},
		`the input file "out/in" leads out of the job's sandbox by`: {change: func(s *Spec) { s.Program.Input = "out/in" }},
		`the input file ".": is no regular file`:                    {change: func(s *Spec) { s.Program.Input = "." }},
		`the output file "/dev/null" is absolute`:                   {change: func(s *Spec) { s.Program.Output = "/dev/null" }},
		`the output file "out/o" leads out of the job's sandbox by`: {change: func(s *Spec) { s.Program.Output = "out/o" }},
		`the output file "pipe": `:                                  {change: func(s *Spec) { s.Program.Output = "pipe" }},
		`the error file "../../e" leads out of`:                     {change: func(s *Spec) { s.Program.Error = "../../e" }},
		`the job's sandbox cannot be opened`:                        {change: func(s *Spec) { s.Work += "/none" }},
		`the job's control group cannot be opened`:                  {change: func(s *Spec) { s.Group = "/no/such" }},
		`cannot run "PVM" programs: it knows MPI`:                   {change: func(s *Spec) { s.Program.Parallel = "PVM" }},
		`mpirun is not installed at site here: the job asks for`:    {change: func(s *Spec) { s.Program.Parallel, s.Path = "MPI", "bin:/no/such" }},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, "echo ran > ran", k.change)
			top := strings.TrimSuffix(r.Work, "/none")
			err := errors.Join(os.Symlink("..", filepath.Join(top, "out")), syscall.Mkfifo(filepath.Join(top, "pipe"), 0o600))
			if k.file != "" {
				err = errors.Join(err, os.WriteFile(filepath.Join(top, "x"), []byte(k.file), k.mode))
			}
			if err != nil {
				t.Fatal(err)
			}
			end := r.start().end()
			if end.Cause != grid.NeverRan || end.ExitCode != 0 || !strings.Contains(end.Detail, says) || r.exists("ran") || r.hears() != 0 {
				t.Errorf("ended %+v", end)
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(top), "o")); err == nil {
				t.Error("a file is made beside the sandbox")
			}
		})
	}
}

// A script that sends itself along is run by its name in its folder, and one of a dialect by the shell that reads it so.
func TestHowAProgramIsCalled(t *testing.T) {
	t.Parallel()
	r := newRun(t, "", func(s *Spec) { s.Program = grid.Program{Executable: "x", Arguments: []string{"a b"}, Directory: "d"} })
	if err := errors.Join(os.Mkdir(filepath.Join(r.Work, "d"), 0o755), os.WriteFile(filepath.Join(r.Work, "d", "x"), []byte("#!/bin/sh\necho \"$0 $1\"\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if end := r.start().end(); end.ExitCode != 0 || r.read(grid.DefaultOutput) != "./x a b\n" {
		t.Errorf("ended %+v: %q", end, r.read(grid.DefaultOutput))
	}
}

// Limits are set before the first instruction, of two of one resource the lower; what writes more than the site allows is told so.
func TestLimitsOfAProgram(t *testing.T) {
	t.Parallel()
	r := newRun(t, `ulimit -n; ulimit -Sd; ulimit -f; ulimit -c`, func(s *Spec) {
		s.FileLimit = 5 << 20
		for _, l := range []grid.Limit{{Name: grid.LimitFiles, Value: 77}, {Name: grid.LimitMemory, Value: 512 << 20}, {Name: grid.LimitData, Value: 256 << 20}, {Name: grid.LimitFile, Value: 9 << 20}, {Name: grid.LimitCore}} {
			s.Program.SetLimit(l.Name, l.Value)
		}
	}).start()
	if end := r.end(); end.ExitCode != 0 || r.read(grid.DefaultOutput) != "77\n262144\n10240\n0\n" {
		t.Errorf("ended %+v: %q", end, r.read(grid.DefaultOutput))
	}
	r = newRun(t, `trap '' XFSZ; head -c 5000 /dev/zero > x; exec sh -c 'kill -XFSZ $$; sleep 1'`, func(s *Spec) { s.FileLimit = 4096 }).start()
	if end := r.end(); len(r.read("x")) != 4096 {
		t.Errorf("ended %+v with a file of %d bytes", end, len(r.read("x")))
	}
	r = newRun(t, `exec head -c 5000 /dev/zero`, func(s *Spec) { s.FileLimit = 4096 }).start()
	if end := r.end(); end.Signal != int(syscall.SIGXFSZ) || !strings.Contains(end.Detail, "the limit of site here, 4096 bytes") {
		t.Errorf("ended %+v", end)
	}
	r = newRun(t, `kill -XFSZ $$`, nil).start()
	if end := r.end(); end.Detail != "" {
		t.Errorf("without a limit of the site it is told %q", end.Detail)
	}
}

// mpi is a folder with commands that say which MPI they are.
func mpi(t *testing.T, says map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, version := range says {
		script := "#!/bin/sh\n[ \"$1\" != --version ] || { echo '" + version + "'; exit; }\necho called \"$@\"\n"
		if err := pbstest.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A parallel program is started by the MPI that it asks for, wherever on the path that is, and under whatever name.
func TestTheStarterOfAParallelProgram(t *testing.T) {
	t.Parallel()
	all := mpi(t, map[string]string{"mpirun": "Intel(R) MPI Library", "mpirun.mpich": "HYDRA build details:", "mpirun.openmpi": "mpirun (Open MPI) 4.1"})
	plain := mpi(t, map[string]string{"mpirun": "HYDRA"})
	odd := mpi(t, map[string]string{"mpirun": "a wrapper"})
	open := []string{"--oversubscribe"}
	if os.Geteuid() == 0 {
		open = append(open, "--allow-run-as-root")
	}
	for _, k := range []struct {
		asked, path string
		want        []string
		says        string
	}{
		{"MPI", all, []string{all + "/mpirun", "-n", "3"}, ""},
		{"OpenMPI", all, slices.Concat([]string{all + "/mpirun.openmpi"}, open, []string{"-n", "3"}), ""},
		{"mpich2", all, []string{all + "/mpirun.mpich", "-n", "3"}, ""},
		{"Intel-MPI", all, []string{all + "/mpirun", "-n", "3"}, ""},
		{"MPICH", ".:" + odd + "x:" + plain, []string{plain + "/mpirun", "-n", "3"}, ""},
		{"IntelMPI", plain, nil, plain + "/mpirun is MPICH"},
		{"MPI", odd, nil, `it says "a wrapper`},
		{"MPI", "/no/such", nil, "it is on none of the folders of PATH=/no/such"},
	} {
		s := &Spec{Site: "here", Path: k.path, Program: grid.Program{Parallel: k.asked}, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1}}}}
		got, err := s.starter()
		if !slices.Equal(got, k.want) || (err == nil) != (k.says == "") || err != nil && !strings.Contains(err.Error(), k.says) {
			t.Errorf("%s on %s: %q, %v", k.asked, k.path, got, err)
		}
	}
	r := newRun(t, "", func(s *Spec) {
		s.Path, s.Program = plain, grid.Program{Executable: "/bin/true", Arguments: []string{"a"}, Parallel: "MPI"}
	}).start()
	if end := r.end(); end.ExitCode != 0 || r.read(grid.DefaultOutput) != "called -n 3 /bin/true a\n" {
		t.Errorf("ended %+v: %q", end, r.read(grid.DefaultOutput))
	}
}

// Of variables that are set more than once the last counts, in the place of the first.
func TestTheLastOfEachVariableCounts(t *testing.T) {
	t.Parallel()
	got := lastOfEach([]string{"A=1", "B=2", "A=3", "C", "B="})
	if want := []string{"A=3", "B=", "C"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}
