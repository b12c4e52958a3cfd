package torque

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// Where the scheduler looks at its queue at intervals, starts come that much later than ends (the live notes, 7). The lag is
// told by Maui, and learned from what is seen: what is expected of a chain of jobs is then not too early.
func TestTheSchedulersCycle(t *testing.T) {
	t.Parallel()
	const looks = 2 * time.Second
	s := onStage(t, batch.Config{Nodes: fakebatch.Nodes("torque", 1, 1), Looks: looks})
	system, err := external.New(external.Config{
		Client: s.maui, Owner: "suite", Spool: filepath.Join(t.TempDir(), "spool"), Site: grid.Site{Name: "here", Speed: 1},
		Runner: command.Runner{Folders: []string{s.Bin}}, Refresh: 300 * time.Millisecond, Age: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- system.Run(ctx) }()
	defer func() { cancel(); <-done }()
	shot := func() plan.Snapshot {
		t.Helper()
		shot, err := system.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return shot
	}
	if got, want := shot().Lag, (plan.Lag{Usual: grid.Span(looks) / 2, Most: grid.Span(looks)}); got != want {
		t.Errorf("before anything is seen the lag is %+v, not %+v", got, want)
	}
	const jobs = 5
	holder, short := s.order("while [ ! -e go ]; do sleep 0.05; done"), s.order("sleep 0.5")
	ids := []grid.LocalID{s.submit(s.maui, holder)}
	for range jobs {
		ids = append(ids, s.submit(s.maui, short))
	}
	s.awaitState(ids[0], external.Running)
	var all plan.Snapshot
	lookUntil(t, func() bool {
		all = shot()
		return len(all.Waiting) >= jobs
	})
	after := func(of plan.Snapshot) grid.Tick { // the holder's end, that one more would start
		at, _ := plan.Likely(of, halfASecond(&of)).Ask(plan.Question{Demand: one(1), Limit: grid.Minute})
		return at - of.At
	}
	aware := after(all)
	all.Lag = plan.Lag{}
	blind := after(all)
	if err := os.WriteFile(filepath.Join(holder.Work, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.awaitState(ids[jobs], external.Done)
	ended0, _ := s.Job(string(ids[0]))
	endedN, _ := s.Job(string(ids[jobs]))
	really := grid.Span(endedN.Finished.Sub(ended0.Finished)) + grid.Span(looks)/2
	t.Logf("%d jobs of 0.5 s in turn: one more after about %d ms, expected after %d; blind for the cycle after %d", jobs, really, aware, blind)
	if early, blindly := really-aware, really-blind; max(early, -early) > blindly/2 {
		t.Errorf("expected %d ms too early, blind for the cycle %d ms", early, blindly)
	}
	var lag plan.Lag
	lookUntil(t, func() bool {
		lag = shot().Lag
		return lag.Usual != grid.Span(looks)/2 || lag.Most != grid.Span(looks)
	})
	if lag.Usual <= 0 || lag.Most > grid.Span(looks)+grid.Second || lag.Usual > lag.Most {
		t.Errorf("learned is %+v of a scheduler that looks each %v", lag, looks)
	}
	t.Logf("learned: %+v", lag)
}

// lookUntil looks again and again, for a minute; what was seen by then is judged by its caller.
func lookUntil(t *testing.T, seen func() bool) {
	t.Helper()
	end, again := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer again.Stop()
	for !seen() {
		select {
		case <-again.C:
		case <-end:
			return
		case <-t.Context().Done():
			return
		}
	}
}

// halfASecond has all jobs of a snapshot run for half a second, and those that have run for longer end at once.
func halfASecond(s *plan.Snapshot) *plan.Runs {
	var r plan.Runs
	for i := range s.Running {
		r.Running = append(r.Running, max(500, s.At-s.Running[i].Start+1))
	}
	for range s.Waiting {
		r.Waiting = append(r.Waiting, 500)
	}
	return &r
}
