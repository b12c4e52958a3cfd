package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job that waits in its reservation, and is held or altered, goes home and comes back into it. At its home, and elsewhere.
func TestAnAlteredJobKeepsItsReservation(t *testing.T) {
	t.Parallel()
	yes, no, walltime := true, false, 2*grid.Minute
	wide := 5
	for at := range 2 {
		for name, k := range map[string]struct {
			first, then grid.Alteration
			ends        grid.State
		}{
			"held, and released": {grid.Alteration{Held: &yes}, grid.Alteration{Held: &no}, grid.Completed},
			"longer":             {grid.Alteration{Walltime: &walltime}, grid.Alteration{}, grid.Completed},
			"too wide":           {grid.Alteration{Processes: &wide}, grid.Alteration{}, grid.Failed},
		} {
			w := newWorld(t, 1, faults{}, 6, 6, 6)
			w.forParts(0, 0, 0)
			w.boot()
			a, b := w.sites[0], w.sites[at]
			id := grid.ReservationID("r1")
			w.run(w.now+grid.Minute, func() bool { return false })
			start := up(w.now + 10*grid.Minute)
			a.step(ReserveRequest{Token: 1, To: b.peer, Reserve: wire.Reserve{
				ID: id, Holder: grid.User{Home: a.peer, Name: "alice"}, What: grid.NodesReserved, Nodes: []grid.NodeName{"n0", "n1", "n2", "n3"}, From: start, Until: start + grid.Hour,
				Length: grid.Hour, Limit: grid.Minute, Grace: grid.Minute,
			}})
			state := func(want grid.ReservationState) func() bool {
				return func() bool {
					r, is := b.parts.beside[grid.KindReservation][string(id)].(*grid.Reservation)
					return is && r.State == want
				}
			}
			w.until("it is reserved", state(grid.Confirmed))
			j := jobOf(a.peer, a.name, "1")
			j.User, j.Walltime, j.Reservation, j.Sites = grid.User{Home: a.peer, Name: "alice"}, grid.Minute, id, grid.Choice{Only: []grid.SiteName{b.name}}
			j.Demand.Chunks = []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}
			a.step(Submit{Token: 2, Job: j, Key: "1"})
			w.until("it waits in its reservation", state(grid.Bound))
			a.step(Alter{Token: 3, Job: j.ID, To: k.first, By: "alice"})
			w.run(w.now+2*grid.Minute, func() bool { return false })
			if k.then != (grid.Alteration{}) {
				a.step(Alter{Token: 4, Job: j.ID, To: k.then, By: "alice"})
			}
			w.until("it ends", func() bool { return w.allEnded([]grid.JobID{j.ID}) })
			if r := w.home(j.ID); r.State != k.ends || k.ends == grid.Completed && r.Job.Reservation != id || k.ends == grid.Failed && !state(grid.Confirmed)() && at > 0 {
				t.Errorf("%s, at site %d: it is %v: %s\n%s", name, at, r.State, r.Reason, w.story(j.ID))
			}
		}
	}
}
