package wrapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
)

func TestEnds(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for script, want := range map[string]control.End{
			"exit 0": {}, "exit 3": {ExitCode: 3}, "exit 255": {ExitCode: 255},
			"kill -9 $$": {ExitCode: 137, Signal: 9}, "kill -TERM $$": {ExitCode: 143, Signal: 15}, "kill -SEGV $$": {ExitCode: 139, Signal: 11},
		} {
			n := newNode(t, shell, sh(script))
			before := control.Now()
			code, said := n.run()
			end := n.end()
			if code != want.ExitCode || end.ExitCode != want.ExitCode || end.Signal != want.Signal || end.Cause != grid.ByItself {
				t.Errorf("%q: code %d, %+v (%s)", script, code, end, said)
			}
			token, taken, err := control.ReadToken(n.Control, n.ID)
			if err != nil || !taken || token.Holder != control.Supervisor || token.Process.PID == 0 || token.Process.Start == 0 || token.Process.Boot == "" {
				t.Errorf("the token: %+v, %v, %v", token, taken, err)
			}
			run, ran, err := control.ReadRun(n.Control, n.ID)
			if err != nil || !ran || run.Leader.PID == 0 || run.Leader.PID == token.Process.PID {
				t.Errorf("the start: %+v, %v, %v", run, ran, err)
			}
			if token.At < before || run.At < token.At || end.At < run.At || end.At > control.Now() {
				t.Errorf("begun at %d: token %d, start %d, end %d", before, token.At, run.At, end.At)
			}
			if left, _ := filepath.Glob(filepath.Join(n.Control, ".tmp*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		}
	})
}

// The program is told its GPUs where the batch system names them, in that one's words and in ours; what else is in the environment does not say so.
func TestGPUs(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for _, c := range [][2]string{
			{"CUDA_VISIBLE_DEVICES=0,3", "0,3 0,3 -"}, {"ROCR_VISIBLE_DEVICES=GPU-5f", "- GPU-5f GPU-5f"}, {"CUDA_VISIBLE_DEVICES=NoDevFiles", "NoDevFiles - -"}, {"GBROKER_GPUS=7", "- - -"},
		} {
			n := newNode(t, shell, sh("echo ${CUDA_VISIBLE_DEVICES--} ${GBROKER_GPUS--} ${ROCR_VISIBLE_DEVICES--}"))
			n.Program.Output = "out"
			n.env = append(n.env, c[0])
			code, said := n.run()
			text, err := os.ReadFile(filepath.Join(n.Work, "out"))
			if code != 0 || err != nil || string(text) != c[1]+"\n" {
				t.Errorf("%s: %q, not %q (%d, %v, %s)", c[0], text, c[1], code, err, said)
			}
		}
	})
}

// The program gets every byte that can be given, and nothing but what it is to get.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	var all []byte
	for c := 1; c < 256; c++ {
		all = append(all, byte(c))
	}
	odd := []string{"", "-n", "*", "'", "''a'", "\n", "a\n\n", "\r\n#PBS -l x", `\`, `\n`, "$HOME `x` $(x) ${x} !x", "\xff\xfe", "ä", string(all), "-", "--", "a=b", "~"}
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, grid.Program{Executable: "/bin/sh", Directory: "de ep/er'", Input: "../in\nput"})
		n.Program.Arguments = append([]string{"-c", `cat; for a; do printf '%s\000' "$a"; done; pwd; for f in 3 4 5 6 7 8 9; do [ ! -e /proc/self/fd/$f ] || echo "$f is open"; done; echo oops >&2`, "sh"}, odd...)
		for i, v := range odd {
			n.Program.Environment = append(n.Program.Environment, grid.Variable{Name: fmt.Sprintf("V%d", i), Value: v})
		}
		n.Program.Environment = append(n.Program.Environment, grid.Variable{Name: "a b.c-d'", Value: "odd name"}, grid.Variable{Name: "GBROKER_SITE", Value: "lie"},
			grid.Variable{Name: "GBROKER_HOSTFILE", Value: "lie"})
		n.Processes = 3
		n.write("de ep/in\nput", "hello\x00\xff\n", 0o644)
		if code, said := n.run(); code != 0 {
			t.Fatalf("code %d: %s; %+v", code, said, n.end())
		}
		want := "hello\x00\xff\n" + strings.Join(odd, "\x00") + "\x00" + n.Work + "/de ep/er'\n"
		if got := n.read("stdout"); got != want {
			t.Fatalf("the program saw\n%q\nwant\n%q", got, want)
		}
		if n.read("stderr") != "oops\n" {
			t.Errorf("standard error %q", n.read("stderr"))
		}
		again := newNode(t, shell, n.Program)
		again.Program.Executable, again.Program.Arguments, again.Program.Input, again.Processes = "/usr/bin/env", []string{"-0"}, "", 3
		if code, said := again.run(); code != 0 {
			t.Fatalf("code %d: %s; %+v", code, said, again.end())
		}
		environ := map[string]string{}
		for record := range strings.SplitSeq(again.read("stdout"), "\x00") {
			name, value, _ := strings.Cut(record, "=")
			environ[name] = value
		}
		for i, v := range odd {
			if environ[fmt.Sprintf("V%d", i)] != v {
				t.Errorf("variable %q is %q", v, environ[fmt.Sprintf("V%d", i)])
			}
		}
		for name, v := range map[string]string{"a b.c-d'": "odd name", "GBROKER_SITE": "here", "GBROKER_PROCESSES": "3", "PATH": "/usr/bin:/bin",
			"GBROKER_JOB": string(again.ID.Job), "GBROKER_ATTEMPT": again.ID.String(), "HOME": "/home/of", "SECRET": "", "LC_ALL": "",
			"GBROKER_HOSTFILE": control.HostFile(again.Control, again.ID)} {
			if environ[name] != v {
				t.Errorf("variable %s is %q, not %q", name, environ[name], v)
			}
		}
	})
}

// A program that is ended after a second of processor time has used that; one that never ran
// has used nothing.
func TestUsage(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("(ulimit -t 1; while :; do :; done); exit 0"))
		code, said := n.run()
		used, err := control.ReadUsage(n.Control, n.ID)
		if code != 0 || err != nil || used.CPU < 500 || used.CPU > 60*grid.Second || used.Memory != 0 {
			t.Errorf("code %d, used %+v, %v (%s)", code, used, err, said)
		}
		if left, _ := filepath.Glob(filepath.Join(n.Control, ".tmp*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		n = newNode(t, shell, grid.Program{Executable: "/no/such"})
		n.run()
		if used, err := control.ReadUsage(n.Control, n.ID); err != nil || used != (grid.Usage{}) {
			t.Errorf("what never ran used %+v, %v", used, err)
		}
	})
}

func TestScriptIsASCII(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil, sh("ä\r\n\xff"))
	n.Program.Output = "a\x01\nb"
	script, err := Script(n.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range script {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			t.Fatalf("byte %d is %d", i, c)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Spec){
		"zero byte in an argument": func(s *Spec) { s.Program.Arguments = []string{"a\x00b"} },
		"zero byte in a variable":  func(s *Spec) { s.Program.Environment = []grid.Variable{{Name: "A", Value: "\x00"}} },
		"zero byte in a path":      func(s *Spec) { s.Program.Output = "\x00" },
		"a variable without name":  func(s *Spec) { s.Program.Environment = []grid.Variable{{Value: "x"}} },
		"a variable with =":        func(s *Spec) { s.Program.Environment = []grid.Variable{{Name: "A=B"}} },
		"relative sandbox":         func(s *Spec) { s.Work = "work" },
		"no job":                   func(s *Spec) { s.ID.Job = "x" },
		"too long": func(s *Spec) {
			for range 50 {
				s.Program.Arguments = append(s.Program.Arguments, strings.Repeat("x", maxString-1))
			}
		},
	} {
		n := newNode(t, nil, sh("exit 0"))
		change(&n.Spec)
		if _, err := Script(n.Spec); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNeverRan(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for _, c := range []struct {
			name    string
			program grid.Program
			content string
			mode    os.FileMode
			detail  []string
		}{
			{"relative and not there", grid.Program{Executable: "nothere"}, "", 0, []string{`"nothere"`, "does not exist"}},
			{"not by PATH", grid.Program{Executable: "sh"}, "", 0, []string{`"sh"`, "PATH is not searched"}},
			{"absolute and not there", grid.Program{Executable: "/no/such"}, "", 0, []string{`"/no/such"`, "does not exist", "here"}},
			{"no permission", grid.Program{Executable: "p"}, "#!/bin/sh\n", 0o644, []string{`"p"`, "not executable"}},
			{"bad interpreter", grid.Program{Executable: "p"}, "#! /no/interpreter -x\n", 0o755, []string{`"p"`, `"/no/interpreter"`}},
			{"Windows line ends", grid.Program{Executable: "p"}, "#!/bin/sh\r\necho\r\n", 0o755, []string{`"p"`, "Windows line ends", `interpreter "/bin/sh":`, `sed -i 's/\r$//'`}},
			{"no program", grid.Program{Executable: "p"}, "\x01\x02 hello\n", 0o755, []string{`"p"`, "neither a program"}},
			{"empty", grid.Program{Executable: "p"}, "", 0o755, []string{`"p"`, "neither a program"}},
			{"a folder", grid.Program{Executable: "/tmp"}, "", 0, []string{`"/tmp"`, "not executable"}},
			{"no name", grid.Program{}, "", 0, []string{"no executable"}},
			{"no input", grid.Program{Executable: "/bin/true", Input: "nothere"}, "", 0, []string{`"nothere"`, "input file"}},
			{"unknown parallel kind", grid.Program{Executable: "/bin/true", Parallel: "PVM"}, "", 0, []string{`"PVM"`, "here"}},
			{"no mpirun", grid.Program{Executable: "/bin/true", Parallel: "MPICH"}, "", 0, []string{"mpirun is not installed", "MPICH"}},
			{"long argument", grid.Program{Executable: "/bin/true", Arguments: []string{strings.Repeat("x", maxString)}}, "", 0, []string{"longer than the system takes"}},
		} {
			n := newNode(t, shell, c.program)
			n.Path = "/no/such"
			if c.mode != 0 {
				n.write("p", c.content, c.mode)
			}
			code, said := n.run()
			if end := n.end(); end.Cause != grid.NeverRan || code != 126 {
				t.Errorf("%s: code %d, ended %+v; %s", c.name, code, end, said)
			} else {
				for _, want := range c.detail {
					if !strings.Contains(end.Detail, want) {
						t.Errorf("%s: detail %q does not say %q", c.name, end.Detail, want)
					}
				}
			}
		}
	})
}

func TestStaysInSandbox(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		outside := t.TempDir()
		precious := filepath.Join(outside, "precious")
		if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			p            grid.Program
			link, folder string
		}{
			"output is a link":             {grid.Program{Output: "o"}, "o", ""},
			"default output is a link":     {grid.Program{}, "stdout", ""},
			"error is a link":              {grid.Program{Error: "e"}, "e", ""},
			"input is a link":              {grid.Program{Input: "i"}, "i", ""},
			"a folder of output is a link": {grid.Program{Output: "f/precious"}, "", "f"},
			"new folders under a link":     {grid.Program{Output: "f/new/o"}, "", "f"},
			"the working directory":        {grid.Program{Directory: "f"}, "", "f"},
			"below the working directory":  {grid.Program{Directory: "f/new"}, "", "f"},
			"dots":                         {grid.Program{Output: "../../precious"}, "", ""},
			"dots from the directory":      {grid.Program{Directory: "a", Output: "../../x"}, "", ""},
			"working directory by dots":    {grid.Program{Directory: "a/../.."}, "", ""},
			"absolute output":              {grid.Program{Output: precious}, "", ""},
			"absolute directory":           {grid.Program{Directory: outside}, "", ""},
			"output is a link to be made":  {grid.Program{Output: "f/x"}, "", "f"},
			"the sandbox's sibling's name": {grid.Program{Directory: "../workx"}, "", ""},
		} {
			p := sh("echo spoilt; cat")
			p.Output, p.Error, p.Input, p.Directory = c.p.Output, c.p.Error, c.p.Input, c.p.Directory
			n := newNode(t, shell, p)
			for link, target := range map[string]string{c.link: precious, c.folder: outside} {
				if link != "" {
					if err := os.Symlink(target, filepath.Join(n.Work, link)); err != nil {
						t.Fatal(err)
					}
				}
			}
			n.run()
			if end := n.end(); end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "sandbox") {
				t.Errorf("%s: ended %+v", name, end)
			}
			if data, err := os.ReadFile(precious); err != nil || string(data) != "precious" {
				t.Fatalf("%s: the file outside is now %q, %v", name, data, err)
			}
			if all, err := os.ReadDir(outside); err != nil || len(all) != 1 {
				t.Fatalf("%s: outside there is now %v, %v", name, all, err)
			}
		}
		// A pipe nobody reads must not hold it up.
		n := newNode(t, shell, sh("exit 0"))
		if err := syscall.Mkfifo(filepath.Join(n.Work, "stdout"), 0o600); err != nil {
			t.Fatal(err)
		}
		n.run()
		if end := n.end(); end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "no regular file") {
			t.Errorf("a pipe: ended %+v", end)
		}
	})
}

func TestOutputFiles(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		p := sh("cat; echo out; echo err >&2; echo out2")
		p.Directory, p.Output, p.Error = "d", "sub/o", "../e"
		n := newNode(t, shell, p)
		n.write("d/sub/o", "what an earlier attempt wrote, which is long", 0o644)
		n.run()
		if o, e := n.read("d/sub/o"), n.read("e"); o != "out\nout2\n" || e != "err\n" {
			t.Errorf("apart: %q and %q", o, e)
		}
		p.Directory, p.Output, p.Error = "", "x/../log", "log"
		n = newNode(t, shell, p)
		n.run()
		if got := n.read("log"); got != "out\nerr\nout2\n" {
			t.Errorf("both in one file: %q", got)
		}
	})
}

// What stands in the way of a start, and leaves no trace of one.
func TestNothingStarts(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for name, c := range map[string]struct {
			spoil func(n *node)
			code  int
		}{
			"no control directory": {func(n *node) { os.RemoveAll(n.Control) }, 75},
			"a directory made again": {func(n *node) {
				os.RemoveAll(n.Control)
				os.Mkdir(n.Control, 0o755)
			}, 75},
			"submitted for another job": {func(n *node) {
				other := n.ID
				other.Job = grid.NewJobID("here", fmt.Sprintf("01%024d", ulids.Add(1)))
				control.WriteSubmit(n.Control, other)
			}, 75},
			"a directory made again meanwhile": {func(n *node) {
				n.tool("sync", `rm -f "${1%/*}"/submit.*; exec /bin/sync "$@"`) // comes right before the token
			}, 75},
			"submitted as another attempt": {func(n *node) { n.ID.Attempt++ }, 75},
			"withdrawn":                    {func(n *node) { control.Take(n.Control, n.ID, control.Broker, control.Process{}) }, 75},
			"started":                      {func(n *node) { control.Take(n.Control, n.ID, control.Supervisor, control.Process{}) }, 75},
			"started, its token lost":      {func(n *node) { control.WriteRun(n.Control, n.ID, control.Run{At: 1}) }, 75},
			"started, a host file is left": {func(n *node) { os.WriteFile(control.HostFile(n.Control, n.ID), []byte("n\n"), 0o644) }, 75},
		} {
			n := newNode(t, shell, sh("echo ran > ran"))
			c.spoil(n)
			code, said := n.run()
			if code != c.code || n.exists("ran") || !strings.Contains(said, "nothing is started") {
				t.Errorf("%s: code %d, ran %v, said %q", name, code, n.exists("ran"), said)
			}
			if _, there, err := control.ReadEnd(n.Control, n.ID); there {
				t.Errorf("%s: it has an end, %v", name, err)
			}
		}
	})
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("ulimit -d; ulimit -Hd"))
		n.Program.SetLimit(grid.LimitMemory, 64<<20)
		n.run()
		if got := n.read("stdout"); got != "65536\n65536\n" {
			t.Errorf("data limits in KiB: %q", got)
		}
	})
}
