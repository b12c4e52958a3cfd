package core

import (
	"testing"

	"gbroker/grid"
)

// A whole that is altered runs in its new version: what a round has chosen for the one before is given up, unless its parts
// were told to go.
func TestAnAlteredWhole(t *testing.T) {
	t.Parallel()
	for state := grid.Planned; state <= grid.Going; state++ {
		w := newWorld(t, 1, faults{}, 1, 4, 4)
		w.forParts(0, 20*grid.Second, -10*grid.Second)
		home := w.sites[0]
		w.boot()
		id := w.wide(home, "1", 6, false)
		w.until("it is "+state.String(), func() bool {
			a, is := home.parts.beside[grid.KindAllocation][string(id)].(*grid.Allocation)
			return is && a.State == state
		})
		walltime, processes := 2*grid.Minute, 5
		home.step(Alter{Token: 77, Job: id, To: grid.Alteration{Walltime: &walltime, Processes: &processes}, By: "u"})
		w.until("it has ended", home.is(id, grid.Completed))
		all, limit := 0, grid.Tick(0)
		for _, s := range w.sites {
			for _, l := range s.local {
				if l.started > 0 {
					all += l.s.Job.Demand.Processes()
					limit = max(limit, l.s.Limit)
				}
			}
		}
		if r := w.home(id); r.Job.Demand.Processes() != all || r.Job.Walltime != limit || r.Altered != nil {
			t.Errorf("altered when it was %v, it is of %d processes and %v s, and has run with %d and %v s", state, r.Job.Demand.Processes(), r.Job.Walltime.Seconds(), all, limit.Seconds())
		}
	}
}

// A whole whose deadline is put off runs to its end, wherever its parts are by then.
func TestADeadlineOfAWholeIsPutOff(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.AllocationState{grid.Planned, grid.Staging, grid.Gathering, grid.Going, grid.Together} {
		w := newWorld(t, 1, faults{}, 4, 4, 4)
		w.forParts(0, 20*grid.Second, -10*grid.Second)
		home := w.sites[0]
		w.boot()
		first, later := w.now+2*grid.Minute, w.now+grid.Hour
		id := w.wide(home, "1", 12, false, func(j *grid.Job) { j.Terms.Deadline = first })
		w.until("it is "+state.String(), func() bool {
			a, is := home.parts.beside[grid.KindAllocation][string(id)].(*grid.Allocation)
			return is && a.State == state
		})
		home.step(Alter{Token: 77, Job: id, To: grid.Alteration{Deadline: &later}, By: "u"})
		w.until("it has ended", func() bool { return w.home(id).State.Terminal() })
		if r := w.home(id); r.State != grid.Completed {
			t.Errorf("put off when it was %v: it is %v: %s", state, r.State, r.Reason)
		}
	}
}
