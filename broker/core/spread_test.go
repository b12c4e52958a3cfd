package core

import (
	"math"
	"math/rand/v2"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// account takes jobs that were told a wait and started so much later than told.
func account(c *estimator, wait grid.Tick, errors ...grid.Tick) {
	for _, e := range errors {
		queued := grid.Tick(1e12)
		c.tally(run{queued: queued, expected: queued + wait, started: queued + wait + e})
	}
}

// Eight of ten starts lie within the spread that is told from those before, whatever the wait.
func TestSpreadHoldsWhatItSays(t *testing.T) {
	t.Parallel()
	c := &estimator{}
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() (wait, e grid.Tick) {
		wait = grid.FromSeconds(math.Exp(10 * r.Float64()))
		return wait, grid.FromSeconds(wait.Seconds() * max(-1, 0.3*r.NormFloat64()+0.1))
	}
	for range 400 {
		wait, e := draw()
		account(c, wait, e)
	}
	within := 0
	for range 2000 {
		wait, e := draw()
		s := c.spread(grid.Estimate{Wait: wait})
		if s.Of < enoughOf || s.Early > wait {
			t.Fatalf("a wait of %v has the spread %+v", wait.Seconds(), s)
		}
		if -s.Early <= e && e <= s.Late {
			within++
		}
	}
	if within < 1520 || within > 1800 {
		t.Errorf("%d of 2000 starts lie within what was told", within)
	}
}

// Waits of another length do not speak where there are enough of like length; too few say nothing.
func TestSpreadIsOfLikeWaits(t *testing.T) {
	t.Parallel()
	c := &estimator{}
	account(c, grid.Hour, 0, 0, 0, 0, 0, 0, 0)
	if s := c.spread(grid.Estimate{Wait: grid.Hour}); s != (grid.Spread{}) {
		t.Errorf("seven jobs tell %+v", s)
	}
	for range enoughOf {
		account(c, grid.Hour, grid.Hour)
		account(c, 10*grid.Second, 0)
	}
	short, long := c.spread(grid.Estimate{Wait: 10 * grid.Second}), c.spread(grid.Estimate{Wait: grid.Hour})
	if short.Late > grid.Second || long.Late < grid.Hour || short.Of != enoughOf {
		t.Errorf("short %+v, long %+v", short, long)
	}
	if s := c.spread(grid.Estimate{Wait: grid.Hour, Refusal: forNow("busy")}); s != (grid.Spread{}) {
		t.Errorf("a refusal has the spread %+v", s)
	}
	account(c, 10*grid.Second, make([]grid.Tick, enoughOf)...)
	if again := c.spread(grid.Estimate{Wait: 10 * grid.Second}); again.Of != 2*enoughOf {
		t.Errorf("what started since does not count: %+v", again)
	}
}

// All sites are asked at once, the one with the least total is chosen, and how sure each is goes along.
func TestWhereAll(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	e.All = true
	sure := grid.Spread{Early: 1, Late: 2, Of: 30}
	asked := c.Step(1000, e)
	shot.Running = []plan.Running{{End: 1000 + grid.Hour, Shares: []plan.Share{{Node: 0, Cores: 1}}}}
	if d := decided(c.Step(1000, Looked{Snapshot: shot})); d != nil {
		t.Fatalf("decided before the others spoke: %+v", d)
	}
	effects := replied(c, asked, map[grid.PeerID]grid.Estimate{"a": never(), "b": {Wait: 5, Spread: sure}})
	a, ok := only[Answer](effects)
	if !ok || a.Where.Chosen != "b" || len(a.Where.Candidates) != 3 || len(a.Spread) != 3 {
		t.Fatalf("answered %+v", a)
	}
	for i, row := range a.Where.Candidates {
		if row.Chosen != (row.Peer == "b") || (a.Spread[i] == sure) != (row.Peer == "b") {
			t.Errorf("%+v with %+v", row, a.Spread[i])
		}
	}
	if len(c.jobs) != 0 || len(c.search.wheres) != 0 {
		t.Error("something is kept")
	}
}

// Jobs that were to start at once and still wait are as late as that, before they have started.
func TestSpreadKnowsWhoStillWaits(t *testing.T) {
	t.Parallel()
	c := &estimator{kernel: &kernel{now: 1e12, live: map[grid.JobID]*job{}}}
	account(c, 0, make([]grid.Tick, enoughOf)...)
	of := func() grid.Tick { c.missStarts(); return c.spread(grid.Estimate{}).Late }
	if late := of(); late > grid.Second {
		t.Fatalf("with nobody waiting it is %v", late)
	}
	for n := range 5 {
		id := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV").Job(n + 1)
		c.live[id] = &job{rec: grid.Record{
			State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning}, Run: grid.Run{Local: "1", Queued: 1e12 - grid.Minute, ExpectedStart: 1e12 - grid.Minute},
		}}
	}
	if late := of(); late < grid.Minute {
		t.Errorf("five that wait for a minute make it %v", late)
	}
	for _, j := range c.live {
		j.rec.State = grid.Running
	}
	if late := of(); late > grid.Second {
		t.Errorf("after their start, which is another's to tell, it is %v", late)
	}
}

// Where errors grow from start to start, the ranks that are told move until nine of ten starts are not later.
func TestSpreadFollowsWhatGrows(t *testing.T) {
	t.Parallel()
	c := &estimator{}
	late := 0
	for i := range 1500 {
		e := grid.Tick(i) * grid.Second
		if i >= 500 && e > c.spread(grid.Estimate{Wait: grid.Hour}).Late {
			late++
		}
		account(c, grid.Hour, e)
	}
	if late > 150 {
		t.Errorf("%d of 1000 starts are later than told", late)
	}
}

// A start of which nothing was told says nothing of how far off the estimates are.
func TestSpreadIsOfWhatWasTold(t *testing.T) {
	t.Parallel()
	c := &estimator{}
	account(c, 0, make([]grid.Tick, enoughOf)...)
	now := grid.Estimate{}
	before, late, early := c.spread(now), c.lateRank, c.earlyRank
	for range enoughOf {
		c.tally(run{queued: 1e12, started: 1e12 + grid.Hour})
	}
	if after := c.spread(now); after != before {
		t.Errorf("%+v, and %+v with starts of which nothing was told", before, after)
	}
	if c.lateRank != late || c.earlyRank != early {
		t.Errorf("the ranks were %+v and %+v, and are %+v and %+v", late, early, c.lateRank, c.earlyRank)
	}
}
