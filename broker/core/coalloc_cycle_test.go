package core

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// paying says the fee and the priority of a wide job.
func paying(fee int64, priority int) func(*grid.Job) {
	return func(j *grid.Job) { j.Terms.Fee, j.Terms.Priority = fee, priority }
}

// reserves tells that something is reserved for a whole, or was.
func (s *site) reserves(id grid.JobID) bool {
	a, is := s.parts.beside[grid.KindAllocation][string(id)].(*grid.Allocation)
	return is && a.Round > 0
}

// Several wholes wait at one home while another has all nodes: they are planned one behind the other, by fee and priority,
// and run in that order. What is planned is shown; reserved is only what starts within the window.
func TestWholesArePlannedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, faults{}, 1, 4, 4)
	w.forParts(0, 20*grid.Second, -10*grid.Second)
	home := w.sites[0]
	home.parts.window = grid.Minute
	w.boot()
	first := w.wide(home, "0", 6, false)
	w.until("it runs", func() bool { return w.home(first).State == grid.Running })
	ids := map[string]grid.JobID{}
	for n, of := range []struct {
		name string
		with func(*grid.Job)
	}{{"unsaid", paying(0, 9)}, {"poor", paying(1, 0)}, {"keen", paying(1, 5)}, {"rich", paying(3, 0)}} {
		ids[of.name] = w.wide(home, fmt.Sprint(n+1), 6, false, of.with)
		w.run(w.now+3*grid.Second, nil)
	}
	order := []string{"rich", "keen", "poor", "unsaid"}
	planned := func() (starts []grid.Tick) {
		for _, name := range order {
			r, _ := home.host.Core().wholes.wholes.whole(ids[name])
			starts = append(starts, r.EstimateNow)
		}
		return starts
	}
	w.until("all are planned, one behind the other", func() bool {
		starts := planned()
		for i := 1; i < len(starts); i++ {
			if starts[0] == 0 || starts[i] < starts[i-1]+5*grid.Minute {
				return false
			}
		}
		return true
	})
	if w.home(first).State != grid.Running {
		t.Fatalf("they were planned no sooner than the first had ended\n%s", w.story(""))
	}
	for _, name := range order[1:] {
		if home.reserves(ids[name]) {
			t.Errorf("%s, which starts later than the window, has a round\n%s", name, w.story(""))
		}
	}
	all := []grid.JobID{first}
	for _, name := range order {
		all = append(all, ids[name])
	}
	w.until("all end", func() bool { return w.allEnded(all) })
	slices.SortFunc(all, func(a, b grid.JobID) int { return cmp.Compare(w.home(a).Started, w.home(b).Started) })
	for i, name := range order {
		if all[i+1] != ids[name] {
			t.Errorf("%s has not run as number %d\n%s", name, i+1, w.story(""))
		}
	}
}

const another = theWhole + "X"

// also adds a whole to the machine, that of another user where its pieces are to be asked for alone.
func (c *coallocated) also(id grid.JobID, change func(*grid.Job)) {
	r := *c.f.records[theWhole]
	r.Job.ID = id
	change(&r.Job)
	c.f.records[id] = &r
	c.m.accepted(id)
}

// One cycle asks each site once for the slots of all that ask alike; what comes during it waits for the next.
func TestOneCycleForAll(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.also(another, func(j *grid.Job) { j.Walltime = grid.Minute })
	c.also(another+"Y", func(j *grid.Job) { j.User.Name = "v" })
	c.settled()
	full := map[grid.JobID]int{}
	for _, m := range c.f.said {
		if q, is := m.(wire.Slots); is && !q.Brief {
			full[q.Of]++
		}
	}
	if len(c.f.said) != 6 || len(full) != 2 || full[another] != 2 || full[another+"Y"] != 2 {
		t.Fatalf("%d questions, %v for slots", len(c.f.said), full)
	}
	c.f.said = nil
	c.also(another+"Z", func(*grid.Job) {})
	c.settled()
	if len(c.f.said) != 0 {
		t.Errorf("what came during the cycle is asked for: %v", c.f.said)
	}
	for _, id := range []grid.JobID{theWhole, another, another + "Y"} {
		for _, p := range []grid.PeerID{"b", "c"} {
			c.slotsOf(id, p, 0, 4)
		}
	}
	c.settled()
	rounds := 0
	for _, id := range []grid.JobID{theWhole, another, another + "Y"} {
		rounds += int(c.m.all[id].rec.Round)
	}
	if c.rec().State != grid.Reserving || rounds < 2 {
		t.Errorf("%v, %d rounds", c.rec().State, rounds)
	}
	asked := func() (n int) {
		for _, m := range c.f.said {
			if m.Kind() == wire.KindSlots {
				n++
			}
		}
		return n
	}
	if asked() > 0 {
		t.Error("the next cycle follows at once")
	}
	c.pass(c.m.cfg.Cycle)
	c.settled()
	if n := asked(); n < 2 {
		t.Errorf("%d questions in the next cycle", n)
	}
}

// What a cycle says for many wholes and sites: a question of each whole for each site, of which one in all asks it for slots.
func TestQuestionsOfACycle(t *testing.T) {
	t.Parallel()
	const wholes, sites = 100, 8
	c := newCoallocated(t, 0, nil)
	c.f.at = nil
	for i := range sites {
		c.f.at = append(c.f.at, reachable{peer: grid.PeerID(fmt.Sprint("p", i)), name: grid.SiteName(fmt.Sprint("s", i))})
	}
	for i := range wholes - 1 {
		c.also(grid.NewJobID("a", fmt.Sprintf("01%024d", i)), func(*grid.Job) {})
	}
	c.settled()
	full, bytes := 0, 0
	for _, m := range c.f.said {
		q := m.(wire.Slots)
		q.User.Home = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
		frame, err := wire.Encode(q)
		if err != nil {
			t.Fatal(err)
		}
		if bytes += len(frame); !q.Brief {
			full++
		}
	}
	if len(c.f.said) != wholes*sites || full != sites || bytes > 256*len(c.f.said) {
		t.Errorf("%d wholes and %d sites: %d questions, %d of them for slots, %d bytes", wholes, sites, len(c.f.said), full, bytes)
	}
	t.Logf("%d bytes a question", bytes/len(c.f.said))
}

// What rounds of this home hold is not planned again, though a site has not seen it yet.
func TestHeldIsNotPlannedAgain(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Confirming)
	c.also(another, func(*grid.Job) {})
	c.pass(c.m.cfg.Cycle)
	c.settled()
	c.slotsOf(another, "b", 0, 4)
	c.slotsOf(another, "c", 0, 4)
	c.settled()
	if a, is := c.m.all[another], c.rec(); a.rec.Round == 0 || a.rec.Start < is.End {
		t.Errorf("round %d starts at %d, and the other has the nodes until %d", a.rec.Round, a.rec.Start, is.End)
	}
}

// A round that ended as a lost branch had sent its whole to one site, or that is given up, holds no more than it has asked for.
func TestWhatWasNotAskedForIsNotHeld(t *testing.T) {
	t.Parallel()
	for state, want := range map[grid.AllocationState]int{grid.Reserving: 2, grid.GivingUp: 1, grid.OneSite: 1} {
		c := newCoallocated(t, 0, nil)
		c.upTo(grid.Reserving)
		list := c.m.all[theWhole].current()
		list[0].Asked, list[0].Heard = true, grid.Tentative
		list[1].Asked, list[1].Heard = false, 0
		c.rec().State = state
		if held := c.m.holding(); len(held) != want {
			t.Errorf("in %v, %d of 2 parts are held", state, len(held))
		}
	}
}

// Of all that ask alike the shortest asks for the slots, wherever it stands among them: a slot that is long enough for it alone is told.
func TestTheShortestAsksForSlots(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	spans := []grid.Tick{2 * grid.Hour, grid.Minute, grid.Minute, 30 * grid.Minute}
	for i, span := range spans {
		c.also(another+grid.JobID(rune('1'+i)), func(j *grid.Job) { j.Walltime = span })
	}
	c.settled()
	asks := map[grid.JobID]int{}
	for _, m := range c.f.said {
		if q, is := m.(wire.Slots); is && !q.Brief {
			asks[q.Of]++
		}
	}
	if len(asks) != 1 || asks[another+"2"] != len(c.f.at) {
		t.Errorf("for slots ask %v", asks)
	}
}
