package pbstest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// untilGo is a program that shows that it runs, and does until it is released.
const untilGo = `echo x > up; while [ ! -e go ]; do sleep 0.05; done`

// blocked is a site all of which is held by a program until it is released.
func blocked(t *testing.T, k Kind) (s *site, holder grid.Submission) {
	s = newSite(t, k)
	holder = s.submit(s.wholly(s.shell(untilGo)))
	s.awaitFile(holder, "up")
	return s, holder
}

func (s *site) release(j grid.Submission) { s.write(j, "go", "", 0o644) }

func testWithdraw(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.submit(s.wholly(s.shell("echo ran > ran")))
	if p := s.progress(j); p.Phase != grid.Waiting {
		t.Fatalf("it is %s", p.Phase)
	}
	for range 2 {
		if ok, err := s.Withdraw(context.Background(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
	}
	s.until("the queue is empty", func() bool { return len(s.snapshot().Waiting) == 0 })
	if _, err := s.Submit(context.Background(), j); err != nil {
		t.Errorf("Submit after Withdraw: %v", err)
	}
	if ok, err := s.Withdraw(context.Background(), holder.ID, holder.Control); ok || err != nil {
		t.Errorf("Withdraw of what runs: %v, %v", ok, err)
	}
	unknown := s.wholly(s.shell("echo ran > ran"))
	if ok, err := s.Withdraw(context.Background(), unknown.ID, unknown.Control); !ok || err != nil {
		t.Errorf("Withdraw of what never came: %v, %v", ok, err)
	}
	s.submit(unknown)
	last := s.submit(s.wholly(s.shell("exit 0")))
	s.restart()
	s.release(holder)
	s.end(last) // came after both
	for _, j := range []grid.Submission{j, unknown} {
		if p := s.progress(j); p.Phase != grid.Withdrawn || s.exists(j, "ran") {
			t.Errorf("a withdrawn job is %s; it ran: %v", p.Phase, s.exists(j, "ran"))
		}
	}
}

// Many times a withdrawal meets the start: exactly one of both comes true.
func testWithdrawRacesStart(t *testing.T, k Kind) {
	s := newSite(t, k)
	started := 0
	for i := range k.Rounds {
		j := s.submit(s.shell("echo ran >> ran"))
		submitted := 0 // nothing but what our side writes
		if !k.Supervised {
			submitted = 1
		}
		s.approach(j, submitted, i%3)
		withdrawn, err := s.Withdraw(context.Background(), j.ID, j.Control)
		if err != nil {
			t.Fatal(err)
		}
		if withdrawn {
			if p := s.progress(j); p.Phase != grid.Withdrawn {
				t.Fatalf("withdrawn, and yet %s", p.Phase)
			}
			defer func() {
				if s.exists(j, "ran") {
					t.Errorf("round %d: withdrawn, and yet it ran", i)
				}
			}()
			continue
		}
		started++
		if p := s.end(j); p.Cause != grid.ByItself || s.read(j, "ran") != "ran\n" {
			t.Errorf("round %d: not withdrawn; ended %+v", i, p)
		}
	}
	if started == 0 || started == k.Rounds {
		t.Logf("%d of %d started: the race was not met from both sides", started, k.Rounds)
	}
	s.until("nothing of it is left", func() bool {
		shot := s.snapshot()
		return len(shot.Running)+len(shot.Waiting) == 0
	})
}

// traces is how many files the control directory has.
func traces(j grid.Submission) int {
	names, _ := os.ReadDir(j.Control)
	return len(names)
}

// approach lets the start of a job come closer: by one step, or by two. before is what
// traces told when it was submitted.
func (s *site) approach(j grid.Submission, before, steps int) {
	if steps > 0 {
		s.until("the attempt is near its start", func() bool { return len(s.snapshot().Waiting) == 0 })
	}
	if steps == 2 {
		s.until("its supervisor or wrapper is at work", func() bool { return traces(j) > before })
	}
}

func testKillBeforeStart(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.submit(s.shell("echo ran > ran"))
	if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	if p := s.progress(j); p.Phase != grid.Withdrawn {
		t.Errorf("it is %s", p.Phase)
	}
	s.release(holder)
	s.end(holder)
}

func testSubmitAgain(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.shell("echo ran >> ran")
	locals := make([]grid.LocalID, 8)
	var all sync.WaitGroup
	for i := range locals {
		all.Go(func() {
			var err error
			if locals[i], err = s.Submit(context.Background(), j); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.submit(j)
	s.restart()
	s.submit(j)
	s.until("the job is seen", func() bool { return len(s.snapshot().Waiting) > 0 })
	if n := len(s.snapshot().Waiting); n != 1 {
		t.Errorf("%d jobs wait where one was submitted", n)
	}
	s.release(holder)
	s.end(j)
	s.submit(j)
	s.restart()
	last, err := s.Submit(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locals {
		if l != last || l == "" {
			t.Errorf("local identifiers %q and %q of one attempt", l, last)
		}
	}
	next := s.submit(s.shell("exit 0"))
	s.end(next)
	if got := s.read(j, "ran"); got != "ran\n" {
		t.Errorf("it ran: %q", got)
	}
	if p := s.progress(j); p.Phase != grid.Ended {
		t.Errorf("it is %s", p.Phase)
	}
}

func testSubmitRefuses(t *testing.T, k Kind) {
	s := newSite(t, k)
	for name, change := range map[string]func(*grid.Submission){
		"too many cores":     func(j *grid.Submission) { j.Job.Demand = cores(s.setup.Site.Processes + 1) },
		"other architecture": func(j *grid.Submission) { j.Job.Demand.Architecture = "ppc" },
		"zero byte":          func(j *grid.Submission) { j.Job.Program.Arguments = []string{"a\x00b"} },
		"bad variable": func(j *grid.Submission) {
			j.Job.Program.Environment = []grid.Variable{{Name: "A=B", Value: "x"}}
		},
		"no limit":         func(j *grid.Submission) { j.Limit = 0 },
		"relative sandbox": func(j *grid.Submission) { j.Work = "work" },
	} {
		j := s.shell("exit 0")
		change(&j)
		if _, err := s.Submit(context.Background(), j); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without its control directory nothing is known of an attempt, and nothing starts. What was
// submitted can be taken out of the batch system.
func testControlDirectoryLost(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.submit(s.shell("echo ran > ran"))
	torn := s.submit(s.shell("echo ran > ran"))
	if err := os.RemoveAll(j.Control); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn.Control, "start.1.2.1"), []byte("gbroker-ctl 1\nattempt"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, j := range []grid.Submission{j, torn} {
		if p, err := s.Progress(context.Background(), j.ID, j.Control); !errors.Is(err, grid.ErrDamaged) || p.Phase == grid.Started {
			t.Errorf("Progress knows that it is %s, %v", p.Phase, err)
		}
		// One that has left the queue of who alone starts jobs is withdrawn, whatever its token.
		if ok, err := s.Withdraw(context.Background(), j.ID, j.Control); ok != (err == nil) || err != nil && !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("Withdraw: %v, %v", ok, err)
		}
		if err := s.Kill(context.Background(), j.ID, j.Control); err != nil && !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("Kill: %v", err)
		}
		if _, err := s.Submit(context.Background(), j); err == nil {
			t.Error("Submit says that all is well")
		}
	}
	s.restart()
	after := s.submit(s.shell("exit 0"))
	s.release(holder)
	s.end(after)
	if s.exists(j, "ran") || s.exists(torn, "ran") {
		t.Error("it ran without a readable start token")
	}
}

func testRestart(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	order := filepath.Join(s.dir, "order")
	var waiting []grid.Submission
	for _, name := range []string{"a", "b", "c", "d"} {
		waiting = append(waiting, s.submit(s.wholly(s.shell("echo "+name+" >> "+order))))
	}
	s.restart()
	if p := s.progress(holder); p.Phase != grid.Started {
		t.Errorf("what ran is %s after the restart", p.Phase)
	}
	s.until("all is seen again", func() bool {
		shot := s.snapshot()
		return len(shot.Running) == 1 && len(shot.Waiting) == 4
	})
	r := s.snapshot().Running[0]
	if r.Job != holder.ID.Job || len(r.Shares) != len(s.nodes) || r.Shares[0].Cores != s.nodes[0].Cores || !s.spans(r.End-r.Start, holder.Limit) {
		t.Errorf("what runs: %+v", r)
	}
	s.stop()
	s.release(holder)
	s.until("the end is written", func() bool {
		if s.bench.Private != nil { // it ends at its computer, which cannot tell it now
			return true
		}
		_, ended, err := control.ReadEnd(holder.Control, holder.ID)
		return ended && err == nil
	})
	s.start()
	if p := s.end(holder); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("what ended meanwhile: %+v", p)
	}
	for _, j := range waiting {
		s.end(j)
	}
	if got, err := os.ReadFile(order); err != nil || string(got) != "a\nb\nc\nd\n" {
		t.Errorf("they ran in the order %q, %v", got, err)
	}
}

// spans tells whether a limit is what was asked, or a little more.
func (s *site) spans(got, asked grid.Tick) bool {
	asked = max(asked, s.kind.Least)
	return got >= asked-s.fuzz() && got <= asked+2*minute
}

func testKillAcrossRestart(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell(`echo x > up; sleep 1000`))
	s.awaitFile(j, "up")
	s.restart()
	if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	if p := s.end(j); p.Cause != grid.ByRequest {
		t.Errorf("ended %+v", p)
	}
	// Recorded just before a crash, and not yet sent.
	j = s.submit(s.shell(`echo x > up; sleep 1000`))
	s.awaitFile(j, "up")
	s.stop()
	if err := control.AskKill(j.Control, j.ID); err != nil {
		t.Fatal(err)
	}
	s.start()
	if p := s.end(j); p.Cause != grid.ByRequest {
		t.Errorf("ended %+v", p)
	}
}

// Three of four cores are held. The head needs all; a short job passes it, a long
// one does not.
func testBackfill(t *testing.T, k Kind) {
	s := newSite(t, k, plan.Node{Name: "n1", Cores: 4})
	holder := s.shell(untilGo)
	holder.Job.Demand, holder.Limit = cores(3), 10*grid.Minute
	s.submit(holder)
	s.awaitFile(holder, "up")
	head, long, short := s.shell("exit 0"), s.shell("exit 0"), s.shell("exit 0")
	head.Job.Demand, head.Limit = cores(4), grid.Minute
	long.Limit, short.Limit = grid.Hour, grid.Minute
	for _, j := range []grid.Submission{head, long, short} {
		s.submit(j)
	}
	s.end(short)
	for _, j := range []grid.Submission{head, long} {
		if p := s.progress(j); p.Phase != grid.Waiting {
			t.Errorf("%s is %s", j.ID, p.Phase)
		}
	}
	s.release(holder)
	h, l := s.end(head), s.end(long)
	if l.Started < h.Finished {
		t.Errorf("the long job started at %d, beside the head, which ended at %d", l.Started, h.Finished)
	}
}

func testOlderFirst(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	s.need(k.Ages, "the age of a job does not order the queue")
	young, old := s.wholly(s.shell("exit 0")), s.wholly(s.shell("exit 0"))
	old.Age = grid.Hour
	s.submit(young)
	s.submit(old)
	s.restart()
	s.release(holder)
	y, o := s.end(young), s.end(old)
	if o.Started > y.Started {
		t.Errorf("the older job started at %d, the younger at %d", o.Started, y.Started)
	}
}
