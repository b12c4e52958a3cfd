package core

import (
	"testing"

	"gbroker/grid"
)

// holdsNothing tells that no batch system holds nodes any more.
func (w *world) holdsNothing() bool {
	for _, s := range w.sites {
		if len(s.parts.holds) > 0 {
			return false
		}
	}
	return true
}

// A user's hold, release and cancel, and a deadline, of a whole whose nodes are reserved, and of one that waits.
func TestWishesOfAWhole(t *testing.T) {
	t.Parallel()
	for _, reserved := range []bool{false, true} {
		w := newWorld(t, 1, faults{}, 1, 4, 4)
		w.forParts(0, 20*grid.Second, -10*grid.Second)
		home := w.sites[0]
		home.parts.window = grid.Minute
		w.boot()
		if !reserved {
			first := w.wide(home, "0", 6, false)
			w.until("it runs", func() bool { return w.home(first).State == grid.Running })
		}
		submit := func(key string) grid.JobID {
			if reserved {
				w.until("nothing is left of the one before", w.holdsNothing)
			}
			id := w.wide(home, key, 6, false)
			if reserved {
				w.until("its nodes are reserved", func() bool { return home.reserves(id) && !w.holdsNothing() })
			} else if w.run(w.now+3*grid.Second, nil); home.reserves(id) {
				t.Fatalf("nodes are reserved for it\n%s", w.story(""))
			}
			return id
		}
		alter := func(id grid.JobID, to grid.Alteration) { home.step(Alter{Token: 77, Job: id, To: to, By: "u"}) }
		yes, no := true, false

		overdue, at := submit("1"), w.now+grid.Second
		alter(overdue, grid.Alteration{Deadline: &at})
		w.until("it ends by its deadline", home.is(overdue, grid.CancelledDeadline))

		gone := submit("2")
		home.step(CancelRequest{Token: 78, Job: gone, By: "u"})
		w.until("it is cancelled", home.is(gone, grid.Killed))

		held := submit("3")
		alter(held, grid.Alteration{Held: &yes})
		w.run(w.now+30*grid.Minute, nil)
		if r := w.home(held); r.State != grid.Ready || r.Reason != untilReleased.because(r) || !w.holdsNothing() {
			t.Fatalf("reserved %t: held, it is %v: %s\n%s", reserved, r.State, r.Reason, w.story(""))
		}
		alter(held, grid.Alteration{Held: &no})
		w.until("released, it is completed", home.is(held, grid.Completed))
	}
}
