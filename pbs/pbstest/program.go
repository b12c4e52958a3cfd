package pbstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

func testEnds(t *testing.T, open Open) {
	s := newSite(t, open)
	for _, c := range []struct {
		script       string
		code, signal int
	}{
		{"exit 0", 0, 0}, {"exit 3", 3, 0}, {"exit 255", 255, 0},
		{"kill -9 $$", 137, 9}, {"kill -TERM $$", 143, 15}, {"kill -SEGV $$", 139, 11},
	} {
		before := grid.Tick(nowMillis())
		j := s.submit(s.shell(c.script))
		p := s.end(j)
		if p.ExitCode != c.code || p.Signal != c.signal || p.Cause != grid.ByItself {
			t.Errorf("%q ended with code %d, signal %d, cause %d", c.script, p.ExitCode, p.Signal, p.Cause)
		}
		if p.Started < before || p.Finished < p.Started || p.Finished > nowMillis() {
			t.Errorf("%q: started %d, finished %d, submitted %d", c.script, p.Started, p.Finished, before)
		}
		if p.ID != j.ID || p.Local == "" {
			t.Errorf("progress of %v is %+v", j.ID, p)
		}
	}
}

func testProgramGetsWhatItAsked(t *testing.T, open Open) {
	s := newSite(t, open)
	odd := "a b\tc\n\"'\\$HOME `x` \xff\xfe ä"
	j := s.job(grid.Program{
		Executable: "tool.sh", Directory: "deep/er",
		Arguments:   []string{odd, "", "-n", "*"},
		Input:       "../in put",
		Environment: []grid.Variable{{Name: "ODD", Value: odd}, {Name: "EMPTY"}, {Name: "LANG", Value: "de_DE"}, {Name: "GBROKER_SITE", Value: "lie"}},
	})
	j.Job.Demand = cores(3)
	s.write(j, "deep/er/tool.sh", `#!/bin/sh
echo "$0|$#"; for a; do printf '<%s>' "$a"; done; echo
printf '[%s][%s][%s]\n' "$ODD" "${EMPTY-unset}" "$LANG"
pwd -P; cat
echo "$GBROKER_JOB $GBROKER_SITE $GBROKER_PROCESSES"
echo "path:${PATH:+set} home:${HOME:+set} secret:$PBSTEST_SECRET"
ls /proc/self/fd | wc -l
echo oops >&2
`, 0o755)
	s.write(j, "deep/in put", "hello\x00\xff\n", 0o644)
	if p := s.end(s.submit(j)); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Fatalf("ended %+v", p)
	}
	work, err := filepath.EvalSymlinks(j.Work)
	if err != nil {
		t.Fatal(err)
	}
	want := "./tool.sh|4\n<" + odd + "><><-n><*>\n[" + odd + "][][de_DE]\n" +
		work + "/deep/er\nhello\x00\xff\n" + string(j.ID.Job) + " here 3\npath:set home:set secret:\n"
	got := s.read(j, grid.DefaultOutput)
	if !strings.HasPrefix(got, want) {
		t.Errorf("the program saw\n%q\nwant\n%q", got, want)
	}
	// ls itself has the three standard files and the folder it lists open.
	if rest := strings.TrimSpace(strings.TrimPrefix(got, want)); rest != "4" {
		t.Errorf("the program has inherited open files: %q", rest)
	}
	if got := s.read(j, grid.DefaultError); got != "oops\n" {
		t.Errorf("standard error is %q", got)
	}
}

func testOutputFiles(t *testing.T, open Open) {
	s := newSite(t, open)
	p := grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", "cat; echo out; echo err >&2; echo out2"}}

	apart := p
	apart.Directory, apart.Output, apart.Error = "d", "sub/o", "../e"
	j := s.job(apart)
	s.write(j, "d/sub/o", "what an earlier attempt wrote, which is long", 0o644)
	s.end(s.submit(j))
	if o, e := s.read(j, "d/sub/o"), s.read(j, "e"); o != "out\nout2\n" || e != "err\n" {
		t.Errorf("apart: %q and %q", o, e)
	}
	both := p
	both.Output, both.Error = "x/../log", "log"
	j = s.job(both)
	s.end(s.submit(j))
	if got := s.read(j, "log"); got != "out\nerr\nout2\n" {
		t.Errorf("both in one file: %q", got)
	}
}

func testNeverRan(t *testing.T, open Open) {
	s := newSite(t, open)
	for _, c := range []struct {
		name    string
		program grid.Program
		content string
		mode    os.FileMode
		detail  []string
	}{
		{"relative and not there", grid.Program{Executable: "nothere"}, "", 0, []string{`"nothere"`, "does not exist"}},
		{"not by PATH", grid.Program{Executable: "sh", Arguments: []string{"-c", "exit 0"}}, "", 0, []string{`"sh"`, "PATH is not searched"}},
		{"absolute and not there", grid.Program{Executable: "/no/such/program"}, "", 0, []string{`"/no/such/program"`, "does not exist", "here"}},
		{"no permission", grid.Program{Executable: "p"}, "#!/bin/sh\n", 0o644, []string{`"p"`, "not executable"}},
		{"bad interpreter", grid.Program{Executable: "p"}, "#!/no/interpreter -x\n", 0o755, []string{`"p"`, "/no/interpreter"}},
		{"no program", grid.Program{Executable: "p"}, "\x01\x02 hello\n", 0o755, []string{`"p"`, "neither a program"}},
		{"a folder", grid.Program{Executable: "/tmp"}, "", 0, []string{`"/tmp"`, "not executable"}},
		{"no name", grid.Program{}, "", 0, []string{"no executable"}},
		{"no input", grid.Program{Executable: "/bin/true", Input: "nothere"}, "", 0, []string{`"nothere"`, "input file"}},
		{"unknown parallel kind", grid.Program{Executable: "/bin/true", Parallel: "PVM"}, "", 0, []string{`"PVM"`, "here"}},
	} {
		j := s.job(c.program)
		if c.mode != 0 {
			s.write(j, "p", c.content, c.mode)
		}
		p := s.end(s.submit(j))
		if p.Cause != grid.NeverRan || p.Started != 0 {
			t.Errorf("%s: ended %+v", c.name, p)
		}
		for _, want := range c.detail {
			if !strings.Contains(p.Detail, want) {
				t.Errorf("%s: detail %q does not say %q", c.name, p.Detail, want)
			}
		}
	}
}

// Nothing outside the sandbox is opened, made or cut short, by whatever name.
func testStaysInSandbox(t *testing.T, open Open) {
	s := newSite(t, open)
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	sh := func(p grid.Program) grid.Program {
		p.Executable, p.Arguments = "/bin/sh", []string{"-c", "echo spoilt; cat"}
		return p
	}
	for _, c := range []struct {
		name    string
		program grid.Program
		link    string // to precious
		folder  string // a link to the folder outside
	}{
		{name: "output is a link", program: sh(grid.Program{Output: "o"}), link: "o"},
		{name: "default output is a link", program: sh(grid.Program{}), link: "stdout"},
		{name: "error is a link", program: sh(grid.Program{Error: "e"}), link: "e"},
		{name: "input is a link", program: sh(grid.Program{Input: "i"}), link: "i"},
		{name: "a folder of output is a link", program: sh(grid.Program{Output: "f/precious"}), folder: "f"},
		{name: "new folders under a link", program: sh(grid.Program{Output: "f/new/o"}), folder: "f"},
		{name: "the working directory is a link", program: sh(grid.Program{Directory: "f"}), folder: "f"},
		{name: "dots", program: sh(grid.Program{Output: "../../precious"})},
		{name: "dots from the directory", program: sh(grid.Program{Directory: "a", Output: "../../x"})},
		{name: "working directory by dots", program: sh(grid.Program{Directory: "a/../.."})},
		{name: "absolute output", program: sh(grid.Program{Output: precious})},
		{name: "absolute directory", program: sh(grid.Program{Directory: outside})},
	} {
		j := s.job(c.program)
		for name, target := range map[string]string{c.link: precious, c.folder: outside} {
			if name == "" {
				continue
			}
			if err := os.Symlink(target, filepath.Join(j.Work, name)); err != nil {
				t.Fatal(err)
			}
		}
		p := s.end(s.submit(j))
		if p.Cause != grid.NeverRan || !strings.Contains(p.Detail, "sandbox") {
			t.Errorf("%s: ended %+v", c.name, p)
		}
		if data, err := os.ReadFile(precious); err != nil || string(data) != "precious" {
			t.Fatalf("%s: the file outside is now %q, %v", c.name, data, err)
		}
		if all, err := os.ReadDir(outside); err != nil || len(all) != 1 {
			t.Fatalf("%s: outside there is now %v, %v", c.name, all, err)
		}
	}
}

func testMemoryLimit(t *testing.T, open Open) {
	s := newSite(t, open)
	j := s.shell(`ulimit -d; ulimit -Hd`)
	j.Job.Program.MemoryLimit = 64 << 20
	s.end(s.submit(j))
	if got := s.read(j, "stdout"); got != "65536\n65536\n" {
		t.Errorf("data limits in KiB: %q", got)
	}
}

func testHostFile(t *testing.T, open Open) {
	s := newSite(t, open, plan.Node{Name: "n1", Cores: 2}, plan.Node{Name: "n2", Cores: 4})
	j := s.shell(`cat "$GBROKER_HOSTFILE"; echo $GBROKER_PROCESSES`)
	j.Job.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 5, Processes: 1, Cores: 1}}}
	s.end(s.submit(j))
	if got := s.read(j, "stdout"); got != "n1\nn1\nn2\nn2\nn2\n5\n" {
		t.Errorf("host file and count: %q", got)
	}
}
