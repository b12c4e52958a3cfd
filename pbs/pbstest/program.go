package pbstest

import (
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
)

func testEnds(t *testing.T, k Kind) {
	s := newSite(t, k)
	cases := []struct {
		script       string
		code, signal int
	}{
		{"exit 0", 0, 0}, {"exit 3", 3, 0}, {"exit 255", 255, 0},
		{"kill -9 $$", 137, 9}, {"kill -TERM $$", 143, 15}, {"kill -SEGV $$", 139, 11},
	}
	before := nowMillis()
	var jobs []grid.Submission
	for _, c := range cases {
		jobs = append(jobs, s.submit(s.shell(c.script)))
	}
	for i, c := range cases {
		p := s.end(jobs[i])
		if p.ExitCode != c.code || p.Signal != c.signal || p.Cause != grid.ByItself {
			t.Errorf("%q ended %+v", c.script, p)
		}
		if p.Started < before-s.fuzz() || p.Finished < p.Started-s.fuzz() || p.Finished > nowMillis()+s.fuzz() {
			t.Errorf("%q: started %d, finished %d, submitted %d", c.script, p.Started, p.Finished, before)
		}
		if p.ID != jobs[i].ID || p.Local == "" {
			t.Errorf("progress of %v is %+v", jobs[i].ID, p)
		}
	}
}

func testProgramGetsWhatItAsked(t *testing.T, k Kind) {
	s := newSite(t, k)
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
echo oops >&2
`, 0o755)
	s.write(j, "deep/in put", "hello\x00\xff\n", 0o644)
	if p := s.end(s.submit(j)); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Fatalf("ended %+v", p)
	}
	work := s.home(j)
	if real, err := filepath.EvalSymlinks(work); err == nil {
		work = real
	}
	want := "./tool.sh|4\n<" + odd + "><><-n><*>\n[" + odd + "][][de_DE]\n" +
		work + "/deep/er\nhello\x00\xff\n" + string(j.ID.Job) + " here 3\npath:set home:set secret:\n"
	if got := s.read(j, grid.DefaultOutput); got != want {
		t.Errorf("the program saw\n%q\nwant\n%q", got, want)
	}
	if got := s.read(j, grid.DefaultError); got != "oops\n" {
		t.Errorf("standard error is %q", got)
	}
}

func testOutputFiles(t *testing.T, k Kind) {
	s := newSite(t, k)
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

// All bytes but zero, which no program can be given, arrive as they are: in arguments,
// in values of variables and in names of files.
func testEveryByte(t *testing.T, k Kind) {
	s := newSite(t, k)
	var bytes []byte
	for b := 255; b > 0; b-- { // in this order no byte ends up alone at the end
		bytes = append(bytes, byte(b), '\'', '"', '\\')
	}
	odd := string(bytes) + "\n\n $(echo x) `echo x` ${HOME} $'\\n' \\ \n"
	file := "o 'u\"t\\$x`\n*\xff"
	j := s.job(grid.Program{
		Executable: "/bin/sh", Arguments: []string{"-c", `printf '%s|%s|%s' "$1" "$2" "$ODD"`, "sh", odd, "-" + odd},
		Environment: []grid.Variable{{Name: "ODD", Value: odd}}, Output: file,
	})
	if p := s.end(s.submit(j)); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Fatalf("ended %+v", p)
	}
	if got, want := s.read(j, file), odd+"|-"+odd+"|"+odd; got != want {
		t.Errorf("the program saw\n%q\nwant\n%q", got, want)
	}
}

// What cannot be run ends as such, with words, and is no end of a program.
func testCannotRun(t *testing.T, k Kind) {
	s := newSite(t, k)
	absent := s.submit(s.job(grid.Program{Executable: "/no/such/program"}))
	plain := s.job(grid.Program{Executable: "p"})
	s.write(plain, "p", "#!/bin/sh\nexit 0\n", 0o644)
	s.submit(plain)
	input := s.submit(s.job(grid.Program{Executable: "/bin/true", Input: "nothere"}))
	for _, j := range []grid.Submission{absent, plain, input} {
		if p := s.end(j); p.Cause != grid.NeverRan || p.Detail == "" || p.Started != 0 {
			t.Errorf("%q ended %+v", j.Job.Program.Executable, p)
		}
	}
}

// What a program has used is told with its end: a second of processor time, after which the
// kernel ends a part of it, and a buffer of 64 MiB where the kind sees memory.
func testUsage(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell("cat $GBROKER_HOSTFILE >where; (ulimit -t 1; while :; do :; done); dd if=/dev/zero of=/dev/null bs=64M count=1; exit 0"))
	p := s.end(j)
	if p.Cause != grid.ByItself || p.Usage.CPU < grid.Second/2 || p.Usage.CPU > 10*grid.Minute {
		t.Errorf("after a second of processor time it is %+v", p)
	}
	if host, _, _ := strings.Cut(s.read(j, "where"), "\n"); p.Usage.Nodes != host {
		t.Errorf("on %q it ran on %q", host, p.Usage.Nodes)
	}
	if k.Supervised && (p.Usage.Memory < 64<<20 || p.Usage.Memory > 1<<30) {
		t.Errorf("with a buffer of %d bytes it used %d", 64<<20, p.Usage.Memory)
	}
	// Who starts a program lends it its own memory for a moment: that is not what it used.
	if small := s.end(s.submit(s.shell("exit 0"))); k.Supervised && small.Usage.Memory != 0 {
		t.Errorf("a program smaller than its supervisor used %d", small.Usage.Memory)
	}
	never := s.end(s.submit(s.job(grid.Program{Executable: "/no/such/program"})))
	if k.Supervised && never.Usage != (grid.Usage{}) {
		t.Errorf("what never ran used %+v", never.Usage)
	}
}

func testMemoryLimit(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(k.MemoryLimits, "no memory limit is set")
	j := s.shell(`ulimit -d; ulimit -Hd`)
	j.Job.Program.SetLimit(grid.LimitMemory, 64<<20)
	s.end(s.submit(j))
	if got := s.read(j, "stdout"); got != "65536\n65536\n" {
		t.Errorf("data limits in KiB: %q", got)
	}
}
