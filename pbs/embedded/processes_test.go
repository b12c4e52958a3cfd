package embedded

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/spool"

	"go.uber.org/zap"
)

// bare is a system of which nothing runs, over empty folders, and an attempt that it has not heard of.
func bare(t *testing.T) (*System, *entry) {
	t.Helper()
	dir := t.TempDir()
	s := &System{
		known: map[grid.AttemptID]*entry{}, byID: map[string]pbs.Reservation{}, jobs: spool.Folder{Path: filepath.Join(dir, "jobs"), Suffix: spoolSuffix, Log: zap.NewNop()}, wake: make(chan struct{}, 1), log: zap.NewNop(),
		config: Config{Spool: dir, Changed: func(grid.AttemptID) {}},
	}
	at := grid.AttemptID{Job: grid.NewJobID("here", ulid(t)), Epoch: grid.Epoch{Term: 1}, Attempt: uint32(os.Getpid())}
	e := &entry{spec: &supervise.Spec{ID: at, Control: filepath.Join(dir, "c"), Work: filepath.Join(dir, "w"), Limit: grid.Minute}}
	for _, d := range []string{s.jobs.Path, e.spec.Control, filepath.Join(dir, "reservations")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s, e
}

// sleeper is a process that lives until the test ends; it has the mark of an attempt, if that is given.
func sleeper(t *testing.T, of *grid.AttemptID) (*exec.Cmd, control.Process) {
	t.Helper()
	c := exec.Command("sleep", "60")
	if of != nil {
		c.Env = []string{supervise.Mark(*of)}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	p, err := control.Describe(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// dead is a process that has ended.
func dead(t *testing.T) control.Process {
	t.Helper()
	c, p := sleeper(t, nil)
	c.Process.Kill()
	c.Wait()
	return p
}

// Only the very process is told to end: none of another start or boot, and none at all for no number.
func TestTerminate(t *testing.T) {
	t.Parallel()
	c, p := sleeper(t, nil)
	later, elsewhere := p, p
	later.Start++
	elsewhere.Boot = "another"
	for name, gone := range map[string]control.Process{"nobody": {}, "a group": {PID: -p.PID}, "dead": dead(t), "of another start": later, "of another boot": elsewhere} {
		if err := terminate(gone); !errors.Is(err, errGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if alive, err := p.Alive(); !alive || err != nil {
		t.Fatalf("it was ended in the place of another: %v", err)
	}
	if err := terminate(p); err != nil {
		t.Error(err)
	}
	c.Wait()
	if s, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", c.ProcessState)
	}
}

// The end of a process is waited for whether or not it is a child; one that is gone, or is another by now, is not.
func TestAwaitProcess(t *testing.T) {
	t.Parallel()
	c, p := sleeper(t, nil)
	later := p
	later.Start++
	for name, gone := range map[string]control.Process{"dead": dead(t), "of another start": later} {
		if err := awaitProcess(t.Context(), gone); !errors.Is(err, errGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := awaitProcess(short, p); err != nil || short.Err() == nil {
		t.Errorf("it lives on, and that is %v after %v", err, short.Err())
	}
	time.AfterFunc(50*time.Millisecond, func() { c.Process.Kill() })
	if err := awaitProcess(t.Context(), p); err != nil {
		t.Errorf("its end: %v", err)
	}
	if alive, err := p.Alive(); alive || err != nil {
		t.Errorf("it lives: %t, %v", alive, err)
	}
}

// Where the kernel gives nothing to wait by, it is asked again and again.
func TestAwaitWithoutPidfd(t *testing.T) {
	t.Parallel()
	asked := 0
	awaitPidfd(t.Context(), -1, func() bool { asked++; return asked == 2 })
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	awaitPidfd(over, -1, func() bool { t.Error("asked after the end"); return true })
}

// A supervisor waits at the barrier if its attempt is a part that was given its place, and has told of a process that lives.
func TestAtBarrier(t *testing.T) {
	t.Parallel()
	_, living := sleeper(t, nil)
	gone := dead(t)
	part, shares := &grid.Part{}, []supervise.Share{{Node: "n1"}}
	for name, c := range map[string]struct {
		spec    supervise.Spec
		arrived *control.Process
		waits   bool
	}{
		"it waits":       {supervise.Spec{Part: part, Shares: shares}, &living, true},
		"no part":        {supervise.Spec{Shares: shares}, &living, false},
		"no place":       {supervise.Spec{Part: part}, &living, false},
		"not yet":        {supervise.Spec{Part: part, Shares: shares}, nil, false},
		"it ended there": {supervise.Spec{Part: part, Shares: shares}, &gone, false},
	} {
		_, e := bare(t)
		c.spec.ID, c.spec.Control = e.spec.ID, e.spec.Control
		if c.arrived != nil {
			if err := control.WriteArrived(c.spec.Control, c.spec.ID, control.Arrival{At: control.Now(), Process: *c.arrived}); err != nil {
				t.Fatal(err)
			}
		}
		if is := atBarrier(&c.spec); is != c.waits {
			t.Errorf("%s: %t", name, is)
		}
	}
}

// A part whose supervisor lives at the barrier is waited for; one whose supervisor ended there is started again as long as
// anybody may still come, and then given up.
func TestSettleAtBarrier(t *testing.T) {
	t.Parallel()
	_, living := sleeper(t, nil)
	gone := dead(t)
	soon, past := control.Now()+grid.Hour, control.Now()-grid.Day
	for name, c := range map[string]struct {
		process        *control.Process
		start          grid.Tick
		waits, givenUp bool
	}{
		"it lives":              {&living, soon, true, false},
		"it lives, though late": {&living, past, true, false},
		"it ended, in time":     {&gone, soon, false, false},
		"it ended, too late":    {&gone, past, false, true},
		"it never arrived":      {nil, soon, false, false},
		"never, and too late":   {nil, past, false, true},
	} {
		s, e := bare(t)
		e.spec.Part = &grid.Part{Start: c.start, Grace: grid.Minute}
		s.known[e.spec.ID], s.busy = e, []*entry{e}
		if c.process != nil {
			if err := control.WriteArrived(e.spec.Control, e.spec.ID, control.Arrival{At: control.Now(), Process: *c.process}); err != nil {
				t.Fatal(err)
			}
		}
		next, err := s.settle(e, false)
		if err != nil || (next != nil) != c.waits || next != nil && *next != living {
			t.Errorf("%s: next is %v, %v", name, next, err)
		}
		end, ended, err := control.ReadEnd(e.spec.Control, e.spec.ID)
		if err != nil || ended != c.givenUp || ended && end.Cause != grid.NeverRan {
			t.Errorf("%s: its end is %+v (%t), %v", name, end, ended, err)
		}
		if again := len(s.queue) == 1 && len(s.busy) == 0; again == (c.waits || c.givenUp) {
			t.Errorf("%s: in the queue are %d, busy %d", name, len(s.queue), len(s.busy))
		}
	}
}

// What runs of an attempt whose control files are of no use is ended: its supervisor by a signal, and where that is gone the
// processes that have its mark.
func TestKillByProcesses(t *testing.T) {
	t.Parallel()
	s, e := bare(t)
	program, p := sleeper(t, &e.spec.ID)
	if err := s.killByProcesses(e.spec.ID); err != nil {
		t.Error(err)
	}
	program.Wait()
	if alive, _ := p.Alive(); alive {
		t.Error("its program lives")
	}
	if err := s.killByProcesses(e.spec.ID); err != nil {
		t.Errorf("nothing of it runs: %v", err)
	}
	s, e = bare(t)
	// Its name tells a supervisor, as here: WORDS... supervise FILE.
	guard := exec.Command("sh", "-c", "sleep 60; :", supervise.Command, s.jobs.File(e.spec.ID))
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	defer guard.Process.Kill()
	at := e.spec.ID
	await(t, "the supervisor is found", func() bool { p, any, err := s.living(at); return p.PID == guard.Process.Pid && any && err == nil })
	if next, err := s.settleByProcesses(e, grid.ErrDamaged); err != nil || next == nil || next.PID != guard.Process.Pid {
		t.Errorf("what is waited for is %v, %v", next, err)
	}
	if err := s.killByProcesses(at); err != nil {
		t.Error(err)
	}
	if guard.Wait(); guard.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the supervisor ended by %v", guard.ProcessState)
	}
}

// What becomes of an attempt that has started and is in no spool: it runs while its supervisor or anything of it does, and
// has disappeared when nothing does.
func TestProgressOfAStray(t *testing.T) {
	t.Parallel()
	_, living := sleeper(t, nil)
	gone := dead(t)
	for name, c := range map[string]struct {
		token  control.Token
		marked bool // a process of its program runs
		want   grid.Phase
	}{
		"its supervisor lives":          {control.Token{Process: living}, false, grid.Started},
		"its supervisor is gone":        {control.Token{Process: gone}, false, grid.Ended},
		"gone, with its program behind": {control.Token{Process: gone}, true, grid.Ended},
		"seen to start, and it runs":    {control.Token{Inferred: true}, true, grid.Started},
		"seen to start, and is gone":    {control.Token{Inferred: true}, false, grid.Ended},
	} {
		s, e := bare(t)
		var program *exec.Cmd
		if c.marked {
			program, _ = sleeper(t, &e.spec.ID)
		}
		if _, _, err := control.Take(e.spec.Control, e.spec.ID, control.Supervisor, c.token.Process); err != nil {
			t.Fatal(err)
		}
		c.token.Holder, c.token.At = control.Supervisor, 1
		p := grid.Progress{ID: e.spec.ID, Phase: grid.Started}
		p, err := s.progressOfStray(p, e.spec.Control, c.token)
		if err != nil || p.Phase != c.want || c.want == grid.Ended && p.Cause != grid.Disappeared {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if program != nil && c.want == grid.Ended {
			program.Wait() // killed: what is left of it must not run on
		}
	}
}
