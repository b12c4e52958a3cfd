package core

import (
	"testing"

	"gbroker/grid"
)

// early is a home without nodes of its own and two sites that are full for as long as a job may run that ends early; the wide
// one is planned behind it.
func early(t *testing.T, allowed bool) (w *world, home *site, id grid.JobID) {
	w = newWorld(t, 1, faults{}, 1, 4, 4)
	w.forParts(0, 20*grid.Second, -10*grid.Second)
	home = w.sites[0]
	w.boot()
	first := w.wide(home, "0", 6, false, func(j *grid.Job) { j.Walltime = 15 * grid.Minute })
	w.until("the first runs", func() bool { return w.home(first).State == grid.Running })
	id = w.wide(home, "1", 6, false, func(j *grid.Job) { j.Coallocation.Early = allowed })
	w.until("it waits for its reservations", func() bool { return home.allocation(id).State == grid.Gathering })
	return w, home, id
}

func (s *site) allocation(id grid.JobID) *grid.Allocation { return &s.host.core.wholes.all[id].rec }

// What runs ends long before its limit: a job that may begin early does, at all sites together, and leaves no reservation; any
// other begins when it was to.
func TestAWholeBeginsSooner(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{true, false} {
		w, home, id := early(t, allowed)
		planned := home.allocation(id).Start
		w.until("it runs", func() bool { return w.home(id).State == grid.Running })
		if sooner := w.now < planned-grid.Minute; sooner != allowed {
			t.Errorf("early %t: it was planned for %v s and runs at %v s\n%s", allowed, planned.Seconds(), w.now.Seconds(), w.story(""))
		}
		w.until("it ends, and nothing is left", func() bool { return w.allEnded([]grid.JobID{id}) && w.holdsNothing() })
		if r := w.home(id); r.State != grid.Completed {
			t.Errorf("early %t: %v: %s", allowed, r.State, r.Reason)
		}
	}
}

// One site does not let it begin sooner: the reservations of the others are as they were.
func TestASiteThatIsNotFreeSooner(t *testing.T) {
	t.Parallel()
	w, home, id := early(t, true)
	busy := w.sites[1]
	planned := home.allocation(id).Start
	w.until("it is asked", func() bool { return home.allocation(id).Sooner > 0 })
	busy.parts.holds["of the operator"] = grid.Place{Nodes: []grid.NodeName{"n0"}, Start: w.now + busy.ahead, End: planned + busy.ahead}
	w.until("all are as they were", func() bool {
		a := home.allocation(id)
		if a.Sooner > 0 || a.Start != planned {
			return false
		}
		for _, p := range a.Parts {
			if p.Wish < 2 || p.Begins != p.Start {
				return false
			}
		}
		return true
	})
}
