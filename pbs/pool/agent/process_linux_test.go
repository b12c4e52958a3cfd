package agent

import (
	"testing"
	"time"

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

// What is suspended in the moment in which it begins stays so.
func TestSuspendedBeforeItBegins(t *testing.T) {
	t.Parallel()
	p, _ := launch(t, "while :; do :; done")
	if err := p.Suspend(true); err != nil {
		t.Fatal(err)
	}
	began(t, p)
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; {
		before := p.Used()
		<-tick.C
		if p.Used() == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it runs on while the owner is there")
		}
	}
}
