package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A job whose reservation the batch system loses never starts in it. Was that made for it, it is queued again without one;
// else it has failed. Its reservation may be at its home, or elsewhere.
func TestALostReservation(t *testing.T) {
	t.Parallel()
	for _, guaranteed := range []bool{true, false} {
		for at := range 2 {
			for _, waits := range []bool{true, false} {
				w := newWorld(t, 1, faults{}, 4, 4, 4)
				w.forParts(0, 0, 0)
				w.boot()
				a, b := w.sites[0], w.sites[at]
				id := grid.ReservationID("r1")
				w.run(w.now+grid.Minute, func() bool { return false })
				start := up(w.now + 10*grid.Minute)
				a.step(ReserveRequest{Token: 1, To: b.peer, Reserve: wire.Reserve{
					ID: id, Holder: grid.User{Home: a.peer, Name: "alice"}, What: grid.NodesReserved, Nodes: []grid.NodeName{"n0"}, From: start, Until: start + grid.Hour,
					Length: grid.Hour, Limit: grid.Minute, Grace: grid.Minute,
				}})
				w.until("it is reserved", func() bool {
					r, is := b.parts.beside[grid.KindReservation][string(id)].(*grid.Reservation)
					return is && r.State == grid.Confirmed
				})
				w.run(w.now+grid.Second, func() bool { return false })
				if !waits { // it is lost before the job comes
					delete(b.parts.holds, id)
				}
				j := jobOf(a.peer, a.name, "1")
				j.User, j.Walltime, j.Reservation, j.Sites = grid.User{Home: a.peer, Name: "alice"}, grid.Minute, id, grid.Choice{Only: []grid.SiteName{b.name}}
				if guaranteed {
					j.Guaranteed = &grid.Choice{Not: []grid.SiteName{"nowhere"}}
				}
				a.step(Submit{Token: 2, Job: j, Key: "1"})
				w.run(w.now+20*grid.Second, func() bool { return false })
				delete(b.parts.holds, id)
				w.until("it ends", func() bool { return w.allEnded([]grid.JobID{j.ID}) })
				r := w.home(j.ID)
				switch {
				case guaranteed && (r.State != grid.Completed || r.Job.Reservation != "" || r.Job.Guaranteed != nil || len(r.Job.Sites.Only) > 0 || len(r.Job.Sites.Not) != 1 || len(w.starts[j.ID]) != 1):
					t.Errorf("at site %d, waits %t: it is %v: %s, %+v, started %v\n%s", at, waits, r.State, r.Reason, r.Job, w.starts[j.ID], w.story(j.ID))
				case !guaranteed && (r.State != grid.Failed || len(w.starts[j.ID]) > 0):
					t.Errorf("at site %d, waits %t, not made for it: it is %v: %s", at, waits, r.State, r.Reason)
				}
			}
		}
	}
}

// A job that does not fit its reservation, being too long or too wide for it, fails with the two numbers and leaves the
// reservation to its holder: the next job, which fits, runs in it. At its home, and elsewhere.
func TestAReservationOutlivesAJobThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for at := range 2 {
		w := newWorld(t, 1, faults{}, 4, 4, 4)
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
		state := func() grid.ReservationState {
			r, is := b.parts.beside[grid.KindReservation][string(id)].(*grid.Reservation)
			if !is {
				return 0
			}
			return r.State
		}
		w.until("it is reserved", func() bool { return state() == grid.Confirmed })
		hand := func(ulid string, cores int, walltime grid.Tick) *grid.Record {
			j := jobOf(a.peer, a.name, ulid)
			j.User, j.Walltime, j.Reservation, j.Sites = grid.User{Home: a.peer, Name: "alice"}, walltime, id, grid.Choice{Only: []grid.SiteName{b.name}}
			j.Demand.Chunks = []grid.Chunk{{Count: cores, Processes: 1, Cores: 1}}
			a.step(Submit{Token: 2, Job: j, Key: ulid, Anyway: true})
			w.until("it ends", func() bool { return w.allEnded([]grid.JobID{j.ID}) })
			return w.home(j.ID)
		}
		for ulid, asks := range map[string]struct {
			cores    int
			walltime grid.Tick
			said     string
		}{
			"1": {1, 2 * grid.Hour, "is too short"},
			"2": {5, grid.Minute, "too few processors (asked 5, available 4)"},
		} {
			if r := hand(ulid, asks.cores, asks.walltime); r.State != grid.Failed || !strings.Contains(r.Reason, asks.said) || state() != grid.Confirmed {
				t.Errorf("at site %d: it is %v: %s; the reservation is %v", at, r.State, r.Reason, state())
			}
		}
		if r := hand("3", 4, grid.Minute); r.State != grid.Completed {
			t.Errorf("at site %d: the job that fits is %v: %s", at, r.State, r.Reason)
		}
	}
}

// A job fits a reservation by its pieces on the nodes of that, and not by their sum alone: also while one of them is down, and where the batch
// system has not been looked at again since the reservation was made.
func TestPiecesFitTheNodesOfAReservation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	c := d.core.reservations
	look := shot(d.now)
	look.Snapshot.Nodes = []plan.Node{{Name: "n1", Cores: 4, Memory: 8}, {Name: "n2", Cores: 4, Memory: 8, Down: true}, {Name: "n3", Cores: 64, Memory: 64}}
	c.looked(look)
	of := func(nodes ...grid.NodeName) *grid.Reservation {
		return &grid.Reservation{ID: "r1", State: grid.Confirmed, Nodes: nodes, End: grid.Hour, Cores: 8}
	}
	pieces := func(count, cores int, memory int64, apart bool) *grid.Demand {
		return &grid.Demand{Chunks: []grid.Chunk{{Count: count, Processes: 1, Cores: cores, Memory: memory}}, DistinctNodes: apart}
	}
	for name, x := range map[string]struct {
		r    *grid.Reservation
		d    *grid.Demand
		fits bool
	}{
		"eight of one core":           {of("n1", "n2"), pieces(8, 1, 1, false), true},
		"two on nodes of their own":   {of("n1", "n2"), pieces(2, 4, 8, true), true},
		"two of three, of eight":      {of("n1", "n2"), pieces(2, 3, 1, false), true},
		"one of five cores":           {of("n1", "n2"), pieces(1, 5, 1, false), false},
		"three on nodes of their own": {of("n1", "n2"), pieces(3, 1, 1, true), false},
		"three of two nodes' memory":  {of("n1", "n2"), pieces(3, 1, 6, false), false},
		"nine cores":                  {of("n1", "n2"), pieces(9, 1, 1, false), false},
		"nine, of nodes not seen":     {of("n1", "n8"), pieces(9, 1, 1, false), false},
		"eight, of nodes not seen":    {of("n1", "n8"), pieces(8, 1, 1, false), true},
	} {
		if why := c.tooSmall(x.r, grid.Minute, x.d); (why == nil) != x.fits || why != nil && why.Kind != grid.Permanent {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// A part is told that its site reaches the others by who they are; where their home does not tell that, by their names.
func TestAPartIsReached(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	c := d.core.execution
	c.cfg.Site.Reach, c.cfg.Site.ReachPeers = []grid.SiteName{"beta"}, []grid.PeerID{"self", "peer-b"}
	of := func(name grid.SiteName, p grid.PeerID) *grid.Part {
		return &grid.Part{Rank: 1, Sites: []grid.PartSite{{Name: name, Peer: p}, {Name: "here", Peer: "x"}}}
	}
	for at, x := range []struct {
		part *grid.Part
		is   bool
	}{{nil, false}, {of("gamma", "peer-b"), true}, {of("beta", "peer-c"), false}, {of("beta", ""), true}, {of("gamma", ""), false}} {
		if c.reached(x.part) != x.is {
			t.Errorf("%d: it is reached: %v", at, !x.is)
		}
	}
}
