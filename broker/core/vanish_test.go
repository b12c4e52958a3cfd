package core

import (
	"testing"

	"gbroker/grid"
)

// vanishing is a job of this site whose batch system answers every probe the same.
type vanishing struct {
	*Core
	t   *testing.T
	now grid.Tick
	k   *job
	out []Effect
	onDisk
}

// Step steps, and looks whether what came of it is saved.
func (v *vanishing) Step(now grid.Tick, ev Event) []Effect {
	v.t.Helper()
	effects := v.Core.Step(now, ev)
	if err := v.missed(v.Core, effects); err != nil {
		v.t.Errorf("%T: %v", ev, err)
	}
	return effects
}

func newVanishing(t *testing.T, r grid.Record) *vanishing {
	r.Job.Home, r.Job.User = me, grid.User{Home: me, Name: "alice"}
	r.Role, r.Owner, r.Epoch, r.Attempt, r.Local = grid.Owning, me, grid.Epoch{Term: 1}, 1, "l"
	v := &vanishing{Core: New(signer(me, "a"), nil, []grid.Record{r}), t: t, now: 1_000_000, onDisk: onDisk{}}
	v.k = v.jobs[r.Job.ID]
	v.out = v.Step(v.now, Boot{})
	v.Step(v.now, Reconciled{Jobs: []grid.JobID{r.Job.ID}})
	return v
}

// probes answers n probes, each at its time, and returns all effects.
func (v *vanishing) probes(n int, phase grid.Phase, err string) {
	v.t.Helper()
	for answered := 0; answered < n; {
		for _, e := range v.out {
			if p, ok := e.(Probe); ok && answered < n {
				answered++
				v.out = v.Step(v.now, Progressed{Progress: grid.Progress{ID: p.ID, Phase: phase}, Err: errOf(err)})
				break
			}
		}
		if answered == n {
			return
		}
		at, ok := v.Next()
		if !ok || at > 1_000_000+grid.Day {
			v.t.Fatalf("after %d probes nothing is asked any more: %s %s", answered, v.k.rec.State, v.k.rec.Reason)
		}
		v.now = max(v.now, at)
		v.out = v.Step(v.now, Tick{})
	}
}

func (v *vanishing) withdraws() bool {
	for _, e := range v.out {
		if _, ok := e.(Withdraw); ok {
			return true
		}
	}
	return false
}

// A waiting job that the batch system does not show is withdrawn after several good
// listings and the grace time, and not before; what cannot be listed counts nothing.
func TestAVanishedJobIsWithdrawnAfterAGrace(t *testing.T) {
	t.Parallel()
	v := newVanishing(t, grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned})
	first := v.now
	for n := 0; !v.kernel.withdraws(v.k); n++ {
		v.probes(1, grid.Unknown, "")
		if v.withdraws() && (n+1 < goodListings || v.now-first < v.cfg.Grace) {
			t.Fatalf("withdrawn after %d listings and %v s", n+1, (v.now - first).Seconds())
		}
		if v.now-first > 3*v.cfg.Grace {
			t.Fatal("never withdrawn")
		}
	}
	v.Step(v.now, Withdrawn{ID: v.attempt(v.k), Done: true})
	if v.k.rec.Attempt != 2 || v.k.rec.State != grid.Assigned || v.k.rec.Missing != 0 {
		t.Errorf("it is not submitted anew: %+v", v.k.rec)
	}
	v = newVanishing(t, grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned})
	v.probes(60, grid.Unknown, "no listing")
	if v.k.rec.Missing != 0 || v.kernel.withdraws(v.k) {
		t.Errorf("listings that failed: %+v", v.k.rec)
	}
	v.probes(2, grid.Unknown, "")
	v.probes(1, grid.Waiting, "")
	if v.k.rec.Missing != 0 || v.k.misses != 0 {
		t.Errorf("it was shown again: %+v", v.k.rec)
	}
}

// The grace survives a restart, a few looks must be made again, and a clock that was
// ahead then is not waited for.
func TestTheGraceSurvivesARestart(t *testing.T) {
	t.Parallel()
	v := newVanishing(t, grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned, Run: grid.Run{Missing: 1_000_000 - grid.Hour}})
	v.probes(goodListings-1, grid.Unknown, "")
	if v.kernel.withdraws(v.k) {
		t.Error("withdrawn before it was looked for")
	}
	v.probes(1, grid.Unknown, "")
	if !v.kernel.withdraws(v.k) {
		t.Error("the grace was over an hour ago")
	}
	v = newVanishing(t, grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned, Run: grid.Run{Missing: 1_000_000 + grid.Day}})
	for !v.kernel.withdraws(v.k) {
		if v.probes(1, grid.Unknown, ""); v.now > 1_000_000+grid.Hour {
			t.Fatal("the clock of an earlier life is waited for")
		}
	}
}

// Had it started, nothing is submitted: the same patience again, and then it failed,
// or is started again if it may be.
func TestAVanishedJobThatHadStarted(t *testing.T) {
	t.Parallel()
	for _, rerunnable := range []bool{false, true} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = rerunnable
		v := newVanishing(t, grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Missing: 1}})
		v.probes(goodListings, grid.Unknown, "")
		v.out = v.Step(v.now, Withdrawn{ID: v.attempt(v.k), Done: false})
		if v.k.rec.State != grid.Running || v.k.rec.Started == 0 {
			t.Fatalf("%+v", v.k.rec)
		}
		began := v.now
		for v.k.rec.State == grid.Running {
			if v.probes(1, grid.Unknown, ""); v.now > began+grid.Hour {
				t.Fatal("waited for ever")
			}
		}
		if v.now-began < v.cfg.Grace {
			t.Errorf("given up after %v s", (v.now - began).Seconds())
		}
		killed, launched, fresh := false, false, false
		for _, e := range v.out {
			switch e := e.(type) {
			case Kill:
				killed = true
			case Launch:
				launched, fresh = true, e.Fresh && e.Submission.ID.Attempt == 2
			}
		}
		if !killed || launched != rerunnable || fresh != rerunnable || !rerunnable && v.k.rec.State != grid.Failed {
			t.Errorf("rerunnable %t: killed %t, launched %t (afresh %t), %s: %s", rerunnable, killed, launched, fresh, v.k.rec.State, v.k.rec.Reason)
		}
	}
}

// A supervisor that vanished: a rerunnable job is started again, within a bound.
func TestARerunnableJobIsStartedAgain(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Rerunnable = true
	v := newVanishing(t, grid.Record{Job: j, State: grid.Running, Run: grid.Run{Started: 5}})
	n := 1
	for ; v.k.rec.State != grid.Finished && n < 100; n++ {
		v.Step(v.now, Progressed{Progress: grid.Progress{ID: v.attempt(v.k), Phase: grid.Ended, Started: 5, Finished: 6, Cause: grid.Disappeared}})
	}
	if v.k.rec.Attempt != maxAttempts || v.k.rec.End != grid.Failed {
		t.Errorf("%d attempts, end %s", v.k.rec.Attempt, v.k.rec.End)
	}
}
