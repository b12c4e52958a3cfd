package core

import (
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// asked is how many sites were asked since, and answered tells that all of them have answered.
func (c *coallocated) asked() (n int) {
	n, c.f.said = len(c.f.said), nil
	return n
}

// A cycle ends when all have answered, or with its deadline; the next one begins after its time, and only if somebody waits for it.
func TestTurnsOfCycles(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	m := c.m
	if m.turn() || m.cycle != nil {
		t.Fatal("a cycle begins for nobody")
	}
	if c.settled(); c.asked() != 2 || m.cycle == nil || m.cycle.missing != 2 || m.cycle.until != c.f.now+answerWithin || m.next != c.f.now+m.cfg.Cycle || m.wanted {
		t.Fatalf("the first is %+v", m.cycle)
	}
	c.slots("b", 0, 4)
	if m.turn() || m.cycle == nil {
		t.Fatal("it ends, and one has not answered")
	}
	c.f.now = m.cycle.until - 1
	if m.turn() || m.cycle == nil {
		t.Fatal("it ends before its deadline")
	}
	c.f.now++
	if !m.turn() || m.cycle != nil {
		t.Fatal("it does not end with its deadline")
	}
	m.next = c.f.now + m.cfg.Cycle
	m.wanted = true
	c.f.now = m.next - 1
	if m.turn() || m.cycle != nil {
		t.Fatal("the next begins too soon")
	}
	c.f.now++
	if m.turn() || m.cycle == nil {
		t.Fatal("the next does not begin")
	}
}

// What does not wait has no part in a cycle: what is held back, is to end, has begun and may not again, or has a round.
func TestWhoWaitsForACycle(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		but   func(*coallocated)
		plans bool
	}{
		"waits":                    {func(*coallocated) {}, true},
		"is to end":                {func(c *coallocated) { c.f.records[theWhole].CancelRequested = true }, false},
		"has begun":                {func(c *coallocated) { c.f.records[theWhole].State = grid.Running }, false},
		"is held":                  {func(c *coallocated) { c.f.kept = untilReleased }, false},
		"a rule keeps it":          {func(c *coallocated) { c.f.shut = untilAll }, false},
		"has a round":              {func(c *coallocated) { c.rec().State = grid.Reserving }, false},
		"is of nobody":             {func(c *coallocated) { delete(c.f.records, theWhole) }, false},
		"a part of it has begun":   {func(c *coallocated) { c.begunPart(false) }, false},
		"which may run once again": {func(c *coallocated) { c.begunPart(true) }, true},
	} {
		c := newCoallocated(t, 0, nil)
		c.settled()
		k.but(c)
		if got := c.m.mayPlan(c.m.all[theWhole]) != nil; got != k.plans {
			t.Errorf("%s: it is planned: %t", name, got)
		}
		if got := len(c.m.waiting()) == 1; got != k.plans {
			t.Errorf("%s: it waits: %t", name, got)
		}
	}
}

// begunPart has a part of an earlier round that has begun and ended.
func (c *coallocated) begunPart(again bool) {
	c.f.records[theWhole].Job.Rerunnable = again
	a := c.m.all[theWhole]
	a.rec.Round = 2
	a.rec.Parts = []grid.AllocatedPart{{Round: 1, Peer: "b", Job: theWhole + ".1", Made: true, Begun: true, Fate: grid.Failed}}
}

// More wait than a cycle takes: those whose time has not come are left out first, then the last by fee and priority; the others' turn comes.
func TestACycleIsBounded(t *testing.T) {
	t.Parallel()
	fill := func(more int, next grid.Tick) *coallocated {
		c := newCoallocated(t, 0, nil)
		for i := range mostPlanned - 1 + more {
			id := grid.NewJobID("a", fmt.Sprintf("01%024d", i))
			c.also(id, func(j *grid.Job) { j.Terms.Fee = 1 })
			if i < more {
				c.m.all[id].rec.Next = next
			}
		}
		c.m.wanted = false
		return c
	}
	if c := fill(0, 0); len(c.m.waiting()) != mostPlanned || c.m.wanted {
		t.Errorf("as many as a cycle takes are not all planned, or another cycle is wanted: %t", c.m.wanted)
	}
	c := fill(3, 0)
	list := c.m.waiting()
	for _, r := range list {
		if r.Job.ID == theWhole {
			t.Error("the one without a fee is planned before others with one")
		}
	}
	if len(list) != mostPlanned || !c.m.wanted {
		t.Errorf("%d are planned, and another cycle is wanted: %t", len(list), c.m.wanted)
	}
	c = fill(3, c.f.now+1)
	if list := c.m.waiting(); len(list) != mostPlanned || !c.m.wanted {
		t.Errorf("%d are planned whose time has come", len(list))
	} else {
		for _, r := range list {
			if c.m.all[r.Job.ID].rec.Next > c.f.now {
				t.Errorf("%s is planned before its time", r.Job.ID)
			}
		}
	}
	if list := fill(3, c.f.now).m.waiting(); len(list) != mostPlanned {
		t.Errorf("%d are planned of those whose time comes now", len(list))
	}
}

// Wholes that differ in the number of their pieces and in their length alone are offered the same.
func TestWhichWholesAskAlike(t *testing.T) {
	t.Parallel()
	of := func(change func(*grid.Job)) string {
		j := jobOf(me, "a", "1")
		change(&j)
		return question(&j)
	}
	same := of(func(*grid.Job) {})
	for name, k := range map[string]struct {
		change func(*grid.Job)
		alike  bool
	}{
		"the number of pieces": {func(j *grid.Job) { j.Demand.Chunks[0].Count = 9 }, true},
		"the length":           {func(j *grid.Job) { j.Walltime = 5 }, true},
		"a piece":              {func(j *grid.Job) { j.Demand.Chunks[0].Cores = 9 }, false},
		"the user":             {func(j *grid.Job) { j.User.Name = "x" }, false},
		"the queue":            {func(j *grid.Job) { j.Queue = "x" }, false},
		"the sites":            {func(j *grid.Job) { j.Sites.Not = []grid.SiteName{"x"} }, false},
		"no pieces":            {func(j *grid.Job) { j.Demand.Chunks = nil }, false},
	} {
		if got := of(k.change) == same; got != k.alike {
			t.Errorf("another in %s asks alike: %t", name, got)
		}
	}
}

// A round that is given up after it was told to go has its parts looked at: none may begin again unless the program may.
func TestARoundGivenUpAfterItWasToldToGo(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		told, again, begun bool
		want               grid.AllocationState
		whole              grid.State
	}{
		"before it was told":          {false, false, true, grid.Planned, grid.Ready},
		"told, and nothing began":     {true, false, false, grid.Planned, grid.Ready},
		"told, and a part began":      {true, false, true, grid.GivingUp, grid.Failed},
		"it may run again, and began": {true, true, true, grid.Planned, grid.Ready},
	} {
		c := newCoallocated(t, 0, nil)
		c.begunPart(k.again)
		a := c.m.all[theWhole]
		a.rec.Parts[0].Begun, a.rec.State = k.begun, grid.GivingUp
		if k.told {
			a.rec.Go = c.f.now
		}
		c.m.giveUp(a)
		if w := c.f.records[theWhole]; w.State != k.whole || w.State == grid.Ready && a.rec.State != k.want {
			t.Errorf("%s: it is %v, the job %v", name, a.rec.State, w.State)
		}
	}
}

// What may be planned no more when the cycle begins that was wanted for it, as after a stall, is planned once it may.
func TestAWholeIsPlannedWhenItMayAgain(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	m := c.m
	m.next = c.f.now + m.cfg.Cycle
	if c.settled(); m.cycle != nil || !m.wanted {
		t.Fatal("a cycle is not wanted, or begins too soon")
	}
	c.f.shut, c.f.now = untilNeighbours, m.next
	if c.settled(); m.cycle == nil || m.cycle.has(theWhole) {
		t.Fatalf("what may not be planned is: %+v", m.cycle)
	}
	c.f.shut = open
	for range 10 {
		c.f.now += grid.Second
		m.dueNow()
		if c.settled(); m.cycle.has(theWhole) {
			return
		}
	}
	t.Error("it is not planned once it may be")
}

// A site reserves for more than is paid for the job, as it has not said when it was asked: its nodes are not taken, and are given up.
func TestASiteThatReservesForMore(t *testing.T) {
	t.Parallel()
	for rate, taken := range map[float64]bool{2: true, 3: false} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Terms.Fee = 2 })
		c.upTo(grid.Reserving)
		r := grid.Reservation{ID: c.of("b").Reservation, State: grid.Tentative, Price: rate}
		c.m.onReserved("b", wire.Reserved{Of: wire.KindReserve, Reservation: r})
		got := c.settled()
		if still := c.rec().State == grid.Reserving; still != taken || strings.Contains(got, "Release>b") == taken {
			t.Errorf("for %v it is %v: %s", rate, c.rec().State, got)
		}
	}
}

// Rounds that come to nothing leave nothing behind in memory, however many there are.
func TestRoundsLeaveNothing(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	for range 5 {
		c.upTo(grid.Reserving)
		c.reserved("b", wire.KindReserve, grid.Tentative)
		c.settled()
		c.m.onReserved("c", wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: c.of("c").Reservation}, Refusal: forNow("its nodes are taken")})
		c.settled()
		c.reserved("b", wire.KindRelease, grid.Released)
		c.pass(c.m.cfg.Rest)
	}
	if most := 2; len(c.m.reserved) > most || len(c.m.all[theWhole].said) > 2*most {
		t.Errorf("after five rounds there are %d reservations, and %d words", len(c.m.reserved), len(c.m.all[theWhole].said))
	}
}

// The last part of a whole that is dropped takes with it what is kept of their numbers.
func TestDroppedPartsLeaveNoNumbers(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.ID, j.Part = partID(theWhole, 1), &grid.Part{Of: theWhole, Round: 1}
	k := kernelOf(&others{}, grid.Record{Job: j, State: grid.Killed, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	if k.drop(k.jobs[j.ID]); len(k.parts) != 0 {
		t.Errorf("there are %v", k.parts)
	}
}

// A part that its site has refused for a moment is offered to it again as soon as that is over, and not when the leases are renewed.
func TestAPartIsPlacedAgain(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.f.busy = true
	c.upTo(grid.Staging)
	c.settled()
	for range 2 {
		c.pass(10 * grid.Second)
		if got := c.settled(); !strings.Contains(got, "place 1>b") || c.rec().State != grid.Staging {
			t.Errorf("in %v it did %s", c.rec().State, got)
		}
	}
	c.f.busy = false
	c.pass(10 * grid.Second)
	if c.settled(); c.rec().State != grid.Gathering {
		t.Errorf("it stays in %v", c.rec().State)
	}
}
