package core

import (
	"fmt"
	"testing"
	"time"

	"gbroker/grid"
)

// What happens when every message, command and site may fail? No job is lost, none
// runs twice, and in the end everybody agrees.
func TestJobsSurviveFaults(t *testing.T) {
	t.Parallel()
	profiles := map[string]faults{
		"calm":      {delay: 20},
		"lossy":     {delay: 400, loss: 0.15, duplicate: 0.2},
		"failing":   {delay: 50, batchError: 0.2},
		"crashes":   {delay: 100, loss: 0.05, duplicate: 0.1, crash: 0.02, batchError: 0.05},
		"operators": {delay: 50, batchError: 0.05, operator: 0.4, disappear: 0.1, crash: 0.005},
	}
	for name, f := range profiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moved, fresh := 0, uint64(time.Now().UnixNano())
			for seed := fresh; seed < fresh+histories; seed++ {
				moved += oneHistory(t, seed, f)
			}
			if moved < 2*histories {
				t.Errorf("only %d jobs ran away from home: the histories do not test the handoff", moved)
			}
		})
	}
}

func oneHistory(t *testing.T, seed uint64, f faults) (moved int) {
	w := newWorld(t, seed, f, 2, 4, 8)
	w.boot()
	var ids []grid.JobID
	for n := range 12 {
		s := w.sites[w.rnd.IntN(3)]
		ids = append(ids, w.submit(grid.Tick(w.rnd.Int64N(20000)), s, n+1, 1+w.rnd.IntN(4), grid.Tick(1000+w.rnd.Int64N(20000)), w.rnd.IntN(3) == 0))
	}
	for _, id := range ids[:3] { // a user loses patience
		w.after(grid.Tick(w.rnd.Int64N(30000)), func() {
			for _, s := range w.sites {
				if s.name == id.Site() && s.up {
					s.step(CancelRequest{Token: 1000, Job: id, By: "alice"})
				}
			}
		})
	}
	w.run(w.now+60*grid.Second, nil)
	w.faults = faults{delay: 20} // the storm is over
	if !w.run(w.now+grid.Hour, func() bool { return w.allEnded(ids) }) {
		for _, id := range ids {
			if r := w.home(id); r == nil || !r.State.Terminal() {
				t.Errorf("seed %d: %s did not end: %+v", seed, id, r)
			}
		}
		t.Fatalf("seed %d\n%s", seed, w.story(""))
	}
	w.run(w.now+10*grid.Minute, nil) // reports, tombstones
	for _, id := range ids {
		moved += w.checkEnd(seed, id)
	}
	return moved
}

// checkEnd compares what the home says with the truth, and looks for leftovers.
func (w *world) checkEnd(seed uint64, id grid.JobID) (moved int) {
	r := w.home(id)
	starts := len(w.starts[id])
	where := fmt.Sprintf("seed %d: %s ended %s (%s)", seed, id, r.State, r.Reason)
	switch {
	case r.State == grid.Completed && starts != 1 && !r.Job.Rerunnable, r.State == grid.Completed && starts == 0:
		w.t.Fatalf("%s, but was started %d times\n%s", where, starts, w.story(id))
	case r.State == grid.Failed && w.disappeared(id) && (!r.Job.Rerunnable || r.CancelRequested):
	case r.State == grid.Killed && !r.CancelRequested, r.State == grid.Lost, r.State == grid.Failed:
		w.t.Fatalf("%s without a reason in truth\n%s", where, w.story(id))
	}
	for _, s := range w.sites {
		k, ok := s.journal[id]
		if ok && (k.Role == grid.Owning && !k.State.Terminal() || k.Role == grid.Prepared || k.Handoff.Phase != grid.NoHandoff) {
			w.t.Fatalf("%s, but %s still has it %s %s\n%s", where, s.name, k.Role, k.State, w.story(id))
		}
		if s.host.core.accepted[id] != nil {
			w.t.Fatalf("%s, but %s still counts it as coming\n%s", where, s.name, w.story(id))
		}
	}
	if starts == 1 && len(r.Trail) > 0 {
		return 1
	}
	return 0
}

// disappeared tells that, in truth, the program was lost.
func (w *world) disappeared(id grid.JobID) bool {
	for _, s := range w.sites {
		for _, l := range s.local {
			if l.s.ID.Job == id && l.ended && l.progress.Cause == grid.Disappeared {
				return true
			}
		}
	}
	return false
}

// What happens to jobs that wait at one owner after another? Sites of different
// speed come, are drained and opened again, and crash: the jobs move on, from owners
// that are not their home and back to it, and all of the above holds.
func TestWaitingJobsMoveOn(t *testing.T) {
	t.Parallel()
	profiles := map[string]faults{
		"calm":    {delay: 20},
		"lossy":   {delay: 400, loss: 0.15, duplicate: 0.2},
		"crashes": {delay: 100, loss: 0.05, duplicate: 0.1, crash: 0.01, batchError: 0.05},
	}
	for name, f := range profiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onward, fresh := 0, uint64(time.Now().UnixNano())
			for seed := fresh; seed < fresh+wanderings; seed++ {
				onward += oneWandering(t, seed, f)
			}
			t.Logf("%d moves by owners elsewhere than home", onward)
			if onward < 2*wanderings {
				t.Errorf("only %d moves by owners elsewhere than home: the histories do not test them", onward)
			}
		})
	}
}

// How many histories each profile has, each time others; gsim faults runs far longer ones.
const histories, wanderings = 50, 30

func oneWandering(t *testing.T, seed uint64, f faults) (onward int) {
	w := newWorld(t, seed, f, 2, 2, 3, 4)
	w.sites[3].speed, w.sites[2].speed = 2, 1.5
	w.boot()
	var ids []grid.JobID
	for n := range 24 {
		s := w.sites[w.rnd.IntN(2)]
		ids = append(ids, w.submit(grid.Tick(w.rnd.Int64N(5000)), s, n+1, 1+w.rnd.IntN(2), grid.Tick(10000+w.rnd.Int64N(30000)), w.rnd.IntN(3) == 0))
	}
	for n := range 6 { // sites are drained for a while, in turn
		s := w.sites[(n+int(seed))%4]
		at := grid.Tick(8000 + 15000*n)
		w.after(at, func() { s.tryDrain(true) })
		w.after(at+12*grid.Second, func() { s.tryDrain(false) })
	}
	w.run(w.now+100*grid.Second, nil)
	w.faults = faults{delay: 20}
	for _, s := range w.sites {
		s.tryDrain(false)
	}
	if !w.run(w.now+grid.Hour, func() bool { return w.allEnded(ids) }) {
		for _, id := range ids {
			if r := w.home(id); r == nil || !r.State.Terminal() {
				t.Errorf("seed %d: %s did not end: %+v", seed, id, r)
			}
		}
		t.Fatalf("seed %d\n%s", seed, w.story(""))
	}
	w.run(w.now+10*grid.Minute, nil)
	for _, id := range ids {
		w.checkEnd(seed, id)
	}
	return w.onward
}

// tryDrain asks for it until the site is up.
func (s *site) tryDrain(on bool) {
	if !s.up {
		s.w.after(1000, func() { s.tryDrain(on) })
		return
	}
	s.step(DrainRequest{Token: 2000, On: on})
}
