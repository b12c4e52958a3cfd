package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// TestMain stops what was called as a supervisor and is none: it would run these tests, each of which calls another.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(ExitUsage)
	}
	os.Exit(m.Run())
}

// run is a supervisor over a script: this very program, called as the daemon calls it.
type run struct {
	*testing.T
	*Spec
	cmd    *exec.Cmd
	said   bytes.Buffer // by the supervisor
	status *os.File     // of its pipe
	done   chan struct{}
	code   int
}

var attempts atomic.Uint64

func newRun(t *testing.T, script string, change func(s *Spec)) *run {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{T: t, done: make(chan struct{}), Spec: &Spec{
		ID:   grid.AttemptID{Job: grid.NewJobID("here", fmt.Sprintf("01%012d%012d", os.Getpid(), attempts.Add(1))), Epoch: grid.Epoch{Term: 1}, Attempt: 2},
		Work: filepath.Join(dir, "work"), Control: filepath.Join(dir, "ctl"), Limit: grid.Hour, Grace: 200, Site: "here", Path: "/usr/bin:/bin",
		Base: []string{"PATH=/usr/bin:/bin"}, Shares: []Share{{Node: "n1", Processes: 2, Cores: 2}, {Node: "n2", Processes: 1, Cores: 1}},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1, Cores: 1}}},
		Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}},
	}}
	for _, d := range []string{r.Work, r.Control} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(r.Spec)
	}
	return r
}

// start calls the supervisor; it is ended with the test.
func (r *run) start() *run {
	r.Helper()
	data, err := r.Encode()
	name := filepath.Join(filepath.Dir(r.Work), "spec")
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	self, err2 := os.Executable()
	status, told, err3 := os.Pipe()
	if err := errors.Join(err, err2, err3); err != nil {
		r.Fatal(err)
	}
	r.status = status
	r.cmd = exec.Command(self, Command, name)
	r.cmd.Env = append(os.Environ(), StatusVariable+"=1")
	r.cmd.Stderr, r.cmd.ExtraFiles = &r.said, []*os.File{told}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	told.Close()
	go func() {
		r.cmd.Wait()
		r.code = r.cmd.ProcessState.ExitCode()
		close(r.done)
	}()
	r.Cleanup(func() { r.cmd.Process.Kill(); <-r.done; status.Close() })
	return r
}

// wait waits for the supervisor, and gives how it ended.
func (r *run) wait() int {
	r.Helper()
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		r.Fatalf("it does not end: %s", &r.said)
	}
	return r.code
}

// end is the end of the attempt, once the supervisor has written it.
func (r *run) end() control.End {
	r.Helper()
	if code := r.wait(); code != ExitDone {
		r.Errorf("the supervisor ended with %d: %s", code, &r.said)
	}
	end, there, err := control.ReadEnd(r.Control, r.ID)
	if err != nil || !there {
		r.Fatalf("its end: %t, %v", there, err)
	}
	return end
}

// hears is the next word on the status pipe, 0 at its end.
func (r *run) hears() byte {
	r.Helper()
	r.status.SetReadDeadline(time.Now().Add(20 * time.Second))
	var b [1]byte
	if _, err := r.status.Read(b[:]); errors.Is(err, os.ErrDeadlineExceeded) {
		r.Fatal("the supervisor says nothing")
	}
	return b[0]
}

// until waits for something that the program does.
func (r *run) until(what string, is func() bool) {
	r.Helper()
	every, over := time.NewTicker(5*time.Millisecond), time.After(20*time.Second)
	defer every.Stop()
	for !is() {
		select {
		case <-every.C:
		case <-over:
			r.Fatalf("it never comes that %s: %s", what, &r.said)
		}
	}
}

func (r *run) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(r.Work, name))
	return string(text)
}

func (r *run) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(r.Work, name))
	return err == nil
}

func (r *run) tell(s syscall.Signal) {
	r.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.Fatal(err)
	}
}

// A program gets what was asked for it, and what it does is on record: who ran, on which nodes, how it ended and what it used.
func TestARunFromItsTokenToItsEnd(t *testing.T) {
	t.Parallel()
	r := newRun(t, `echo "$@ $GBROKER_JOB $GBROKER_SITE $GBROKER_PROCESSES $GBROKER_GPUS $CUDA_VISIBLE_DEVICES $A"; cat; pwd >&2; exit 3`, func(s *Spec) {
		s.Program.Arguments = append(s.Program.Arguments, "sh", "a b", "c")
		s.Program.Directory, s.Program.Input, s.Program.Output, s.Program.Error = "d", "../in", "out/o", "../e"
		s.Program.Environment, s.GPUs, s.Base = []grid.Variable{{Name: "A", Value: "own"}}, []int{0, 3}, append(s.Base, "A=site")
	})
	if err := os.WriteFile(filepath.Join(r.Work, "in"), []byte("input"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := control.Now()
	r.start()
	if got := r.hears(); got != Started {
		t.Errorf("it says %d first", got)
	}
	end := r.end()
	if got := r.hears(); got != 0 {
		t.Errorf("it says %d too", got)
	}
	if end.ExitCode != 3 || end.Signal != 0 || end.Cause != grid.ByItself || end.Detail != "" || end.At < before || end.At > control.Now() {
		t.Errorf("ended %+v", end)
	}
	if want := fmt.Sprintf("a b c %s here 3 0,3 0,3 own\ninput", r.ID.Job); r.read("d/out/o") != want {
		t.Errorf("it said %q, want %q", r.read("d/out/o"), want)
	}
	if got := r.read("e"); got != filepath.Join(r.Work, "d")+"\n" {
		t.Errorf("it was in %q", got)
	}
	token, taken, err := control.ReadToken(r.Control, r.ID)
	if err != nil || !taken || token.Holder != control.Supervisor {
		t.Errorf("its token: %+v, %t, %v", token, taken, err)
	}
	if hosts, err := os.ReadFile(control.HostFile(r.Control, r.ID)); err != nil || string(hosts) != "n1\nn1\nn2\n" {
		t.Errorf("its hosts: %q, %v", hosts, err)
	}
	if ran, there, err := control.ReadRun(r.Control, r.ID); err != nil || !there || ran.Leader.PID == 0 || ran.At < before {
		t.Errorf("who ran: %+v, %t, %v", ran, there, err)
	}
	if used, err := control.ReadUsage(r.Control, r.ID); err != nil || used.CPU > 60_000 {
		t.Errorf("what it used: %+v, %v", used, err)
	}
}

// Without names for them, output and error are where they always are, nothing is read, and both may be one file.
func TestFilesWithoutNames(t *testing.T) {
	t.Parallel()
	r := newRun(t, `cat; echo out; echo err >&2`, nil).start()
	if end := r.end(); end.ExitCode != 0 || r.read(grid.DefaultOutput) != "out\n" || r.read(grid.DefaultError) != "err\n" {
		t.Errorf("ended %+v: %q, %q", end, r.read(grid.DefaultOutput), r.read(grid.DefaultError))
	}
	r = newRun(t, `echo out; echo err >&2`, func(s *Spec) { s.Program.Output, s.Program.Error = "both", "both" }).start()
	if end := r.end(); end.ExitCode != 0 || r.read("both") != "out\nerr\n" {
		t.Errorf("ended %+v: %q", end, r.read("both"))
	}
}

// A supervisor that gets no token, or no specification, runs nothing, and says by its status why.
func TestNothingRunsWithoutTheToken(t *testing.T) {
	t.Parallel()
	if code := Main(nil); code != ExitUsage {
		t.Errorf("without a file: %d", code)
	}
	if code := Main([]string{filepath.Join(t.TempDir(), "none")}); code != ExitSpec {
		t.Errorf("without that file: %d", code)
	}
	for name, k := range map[string]struct {
		code   int
		change func(r *run) error
	}{
		"withdrawn": {ExitTaken, func(r *run) error {
			_, _, err := control.Take(r.Control, r.ID, control.Broker, control.Process{})
			return err
		}},
		"without its folder": {ExitControl, func(r *run) error { return os.Remove(r.Control) }},
	} {
		r := newRun(t, `echo ran > ran`, nil)
		if err := k.change(r); err != nil {
			t.Fatal(err)
		}
		if code := r.start().wait(); code != k.code || r.exists("ran") || r.hears() != 0 {
			t.Errorf("%s: %d, ran %t: %s", name, code, r.exists("ran"), &r.said)
		}
	}
}

// A program is asked to end, and made to after its grace; by whose word, and how, is told.
func TestHowProgramsAreEnded(t *testing.T) {
	t.Parallel()
	const stubborn = `trap 'echo asked > asked' TERM; touch up; while :; do sleep 0.02; done`
	ask := func(r *run) {
		if err := control.AskKill(r.Control, r.ID); err != nil {
			t.Error(err)
		}
		r.tell(syscall.SIGTERM)
	}
	for name, k := range map[string]struct {
		script string
		change func(s *Spec)
		then   func(r *run)
		signal int
		cause  grid.Cause
		says   string
	}{
		"by request":                      {`touch up; exec sleep 1000`, nil, ask, 15, grid.ByRequest, "on request"},
		"by request, and it will not":     {stubborn, nil, ask, 9, grid.ByRequest, "on request"},
		"by request, while it is stopped": {`touch up; kill -STOP $$; exec sleep 1000`, nil, ask, 15, grid.ByRequest, "on request"},
		"by nobody who is known":          {`touch up; exec sleep 1000`, nil, func(r *run) { r.tell(syscall.SIGTERM) }, 15, grid.Disappeared, "shut down"},
		"by its limit":                    {`touch up; exec sleep 1000`, func(s *Spec) { s.Limit = 300 }, nil, 15, grid.ByWalltime, "its limit of 300ms"},
		"by its limit, and it will not":   {stubborn, func(s *Spec) { s.Limit = 300 }, nil, 9, grid.ByWalltime, "its limit of 300ms"},
		"by itself":                       {`touch up; kill -9 $$`, nil, nil, 9, grid.ByItself, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, k.script, k.change).start()
			if k.then != nil {
				r.until("its program runs", func() bool { return r.exists("up") })
				k.then(r)
			}
			end := r.end()
			if end.Signal != k.signal || end.ExitCode != 128+k.signal || end.Cause != k.cause || !strings.Contains(end.Detail, k.says) || (k.says == "") != (end.Detail == "") {
				t.Errorf("ended %+v", end)
			}
			if k.script == stubborn && !r.exists("asked") {
				t.Error("it was not asked before")
			}
		})
	}
}

// What a program leaves behind ends with it, also where it has left its session.
func TestNothingOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	r := newRun(t, `sleep 1000 & echo $! > p
(setsid sh -c 'echo $$ >> p; touch away; exec sleep 1000' &)
while [ ! -e away ]; do sleep 0.01; done; exit 5`, nil).start()
	if end := r.end(); end.ExitCode != 5 || end.Cause != grid.ByItself {
		t.Errorf("ended %+v", end)
	}
	pids := strings.Fields(r.read("p"))
	if len(pids) != 2 {
		t.Fatalf("left are %q", pids)
	}
	for _, p := range pids {
		var pid int
		fmt.Sscan(p, &pid)
		r.until("what it left has ended", func() bool { s, err := control.ReadStat(pid); return err != nil || s.Ended() })
	}
}
