package agent

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// began waits until a program runs: for minutes, as it has only the time that nobody else wants.
func began(t *testing.T, p Process) {
	t.Helper()
	select {
	case <-p.Began():
	case <-time.After(3 * time.Minute):
		t.Fatal("it does not begin")
	}
}

// An owner who comes back in the moment in which a job begins suspends it, and an order to end it ends it: its supervisor, which cannot hear a signal yet, is not
// ended by that.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for range 10 {
		p, _ := launch(t, "true")
		if err := p.Suspend(true); err != nil {
			t.Fatal(err)
		}
		began(t, p)
		if err := p.Suspend(false); err != nil {
			t.Fatal(err)
		}
		if o, err := p.Wait(t.Context()); err != nil || o.Cause != line.ByItself || o.ExitCode != 0 {
			t.Fatalf("suspended for a moment, it ended %+v, %v", o.End, err)
		}
	}
	for range 10 {
		p, _ := launch(t, "sleep 1000")
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if o, err := p.Wait(t.Context()); err != nil || o.Cause != line.ByRequest {
			t.Fatalf("killed at once, it ended %+v, %v", o.End, err)
		}
	}
}

// What is suspended in the moment in which it begins stays so. Beside other work it may get no time for long: so it is looked at what it is and
// what it has used, and not how long that takes.
func TestSuspendedBeforeItBegins(t *testing.T) {
	t.Parallel()
	p, f := launch(t, "while :; do :; done")
	if err := p.Suspend(true); err != nil {
		t.Fatal(err)
	}
	began(t, p)
	run, _, err := control.ReadRun(f.ctl(), p.(*linuxProcess).job.ID())
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		before := p.Used()
		<-tick.C
		switch used := p.Used(); {
		case used == before && halted(t, run.Leader.PID):
			return
		case used > 3*grid.Second:
			t.Fatal("it runs on while the owner is there")
		}
	}
}

// halted tells that a program which never sleeps of itself is stopped, or frozen.
func halted(t *testing.T, pid int) bool {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "S")
}
