package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/reserve"
)

// bookOf makes r1, in that state, the one reservation here.
func (c *Core) bookOf(holder grid.User, s grid.ReservationState) {
	c.reservations.book = reserve.New(c.cfg.Reserving, []grid.Reservation{{
		ID: "r1", Kind: grid.NodesReserved, Site: me, Holder: holder, Nodes: []grid.NodeName{"n"},
		Start: c.now + grid.Hour, End: c.now + 9*grid.Hour, Until: c.now + 30*grid.Minute, State: s, Cores: 4,
	}})
}

// A job names a reservation that is not confirmed yet, as its user was that quick, or the book was put back. It waits, at its home and at another
// owner, alone or as a part: it starts when that is confirmed, and fails when it is over.
func TestAReservationThatIsNotConfirmedYet(t *testing.T) {
	t.Parallel()
	for _, home := range []grid.PeerID{me, her} {
		for _, part := range []bool{false, true} {
			for _, confirmed := range []bool{true, false} {
				r := partHere(grid.Owning, me)
				if r.Job.Home = home; home == me {
					r.Job.ID, r.Job.User.Home = jobOf(me, "a", "1").ID, me
					r.Epoch.Hop = 0
				}
				r.Job.Reservation = "r1"
				of := r.Job.Part
				r.Job.Part = nil
				c := signed(r)
				j := c.jobs[r.Job.ID]
				if part {
					j.rec.Job.Part = of
				}
				for _, p := range []grid.PeerID{her, him, it} {
					c.refuses(j, p, "it has no such reservation")
				}
				launched := false
				run := func(span grid.Tick) {
					for range span / grid.Second {
						j.homeHeard = c.now
						effects := append(c.Step(c.now+grid.Second, Tick{}), c.Step(c.now+grid.Second, shot(c.now+grid.Second))...)
						if c.failed != nil {
							t.Fatal(c.failed)
						}
						_, is := only[Launch](effects)
						launched = launched || is
					}
				}
				c.bookOf(r.Job.User, grid.Tentative)
				j.homeHeard = c.now
				c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{r.Job.ID}, All: true})
				c.execution.launch(j, "for the test")
				run(2 * grid.Minute)
				if j.rec.State != grid.Ready || j.rec.End != 0 || launched || !strings.Contains(j.rec.Reason, "not confirmed") {
					t.Fatalf("home %s, part %t: launched %t, it is %v, and ends %v: %s", home, part, launched, j.rec.State, j.rec.End, j.rec.Reason)
				}
				if confirmed {
					c.bookOf(r.Job.User, grid.Confirmed)
				} else {
					c.bookOf(r.Job.User, grid.Expired)
				}
				run(grid.Minute)
				if launched != confirmed {
					t.Errorf("home %s, part %t, confirmed %t: launched %t, it is %v: %s", home, part, confirmed, launched, j.rec.State, j.rec.Reason)
				}
				if fails := !confirmed && part != (home == me); (j.rec.End == grid.Failed) != fails { // else its whole, or its home, decides
					t.Errorf("home %s, part %t, confirmed %t: it is %v, and ends %v: %s", home, part, confirmed, j.rec.State, j.rec.End, j.rec.Reason)
				}
			}
		}
	}
}

// The broker of a part's site starts anew while the part waits for its reservation: the part waits on.
func TestAPartThatAwaitsItsReservationOverAStart(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.ReservationState{grid.Confirmed, grid.Expired} {
		r := partHere(grid.Owning, me)
		r.Job.Reservation, r.Reason = "r1", "its reservation is not confirmed yet"
		c := signed(r)
		j := c.jobs[r.Job.ID]
		launched := false
		run := func() {
			for range grid.Minute / grid.Second {
				j.homeHeard = c.now
				effects := append(c.Step(c.now+grid.Second, Tick{}), c.Step(c.now+grid.Second, shot(c.now+grid.Second))...)
				_, is := only[Launch](effects)
				launched = launched || is
			}
		}
		c.bookOf(r.Job.User, grid.Tentative)
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{r.Job.ID}, All: true})
		if run(); j.rec.State != grid.Ready || j.rec.End != 0 || launched {
			t.Fatalf("launched %t, it is %v, and ends %v: %s", launched, j.rec.State, j.rec.End, j.rec.Reason)
		}
		c.bookOf(r.Job.User, state)
		if run(); launched != (state == grid.Confirmed) || (j.rec.End == grid.Failed) == launched {
			t.Errorf("its reservation is %v: launched %t, it is %v, and ends %v: %s", state, launched, j.rec.State, j.rec.End, j.rec.Reason)
		}
	}
}
