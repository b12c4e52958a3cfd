package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A waiting job moves for more than the absolute margin, and more than the relative
// one, and not for as much: its total here is 120 s (a wait of 60 s), so that 30 s are
// the margin; with a wait of 11 more jobs 10 % are more.
func TestAWaitingJobMovesForAGain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wait  grid.Tick
		moves []string
	}{
		{0, []string{"1>peer-b"}},
		{29*grid.Second + 900 - 5000, []string{"1>peer-b"}},
		{31 * grid.Second, nil},
		{grid.Hour, nil},
	} {
		q := newQueue(t, 1, nil, her)
		told(q, her, grid.Estimate{Wait: c.wait})
		if !q.pass(grid.Minute) {
			t.Fatal("nobody was asked")
		}
		q.wants(c.moves...)
		k := q.sorted()[0]
		if len(c.moves) > 0 {
			if d := q.decisions; len(d) != 1 || k.rec.Stay != nil || d[0].Chosen != "b" {
				t.Errorf("decisions %+v, stay %+v", d, k.rec.Stay)
			}
			continue
		}
		if k.rec.Stay == nil || len(k.rec.Stay.Candidates) != 2 || k.rec.Stay.Chosen != "a" || !k.rec.Stay.Unmoved || k.rec.Stay.Stays == "" {
			t.Errorf("why it stays is not kept: %+v", k.rec.Stay)
		}
		if q.saves > 0 {
			t.Errorf("a pass that moves nothing writes %d times", q.saves)
		}
	}
	q := newQueue(t, 9, nil, her)
	q.cfg.MarginShare = 0.5
	told(q, her, grid.Estimate{Wait: 3*grid.Minute + 50*grid.Second})
	q.pass(grid.Minute)
	q.wants("9>peer-b") // 10 minutes here, 4:50 there; the one before: 9 minutes here
}

// The jobs of a pass are weighed in queue order against the plan without those that
// have left before them.
func TestAPassIsDecidedTogether(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 4, nil, her)
	q.cfg.MarginShare = 0.01
	// At b one job starts at once, the others would wait as if it and each other had come.
	told(q, her, grid.Estimate{}, grid.Estimate{Wait: grid.Minute}, grid.Estimate{Wait: 2 * grid.Minute}, grid.Estimate{Wait: 3 * grid.Minute})
	q.pass(grid.Minute)
	q.wants("1>peer-b") // the second: 2 minutes' wait here as asked, but only one when the first has left
}

// As many jobs as a candidate takes are on their way to it at once.
func TestOpenOffersAreBounded(t *testing.T) {
	t.Parallel()
	for take, want := range []int{1, 1, 2} { // 0 is not said: one
		q := newQueue(t, 6, nil, her)
		tell := q.tells[her]
		tell.Take = uint32(take)
		q.tells[her] = tell
		q.cfg.Margin = 70 * grid.Second
		q.pass(grid.Minute)
		if got := q.moving(); len(got) != want {
			t.Errorf("take %d: %v are on their way", take, got)
		}
	}
}

// Jobs that must not move now are not even asked about.
func TestJobsThatStay(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*grid.Record){
		"came a moment ago":   func(r *grid.Record) { r.HopsAt = 1_000_000 - grid.Minute },
		"moved too often":     func(r *grid.Record) { r.Hops, r.HopsAt = 8, 1_000_000-3*grid.Minute },
		"not submitted yet":   func(r *grid.Record) { r.Local = "" },
		"to be cancelled":     func(r *grid.Record) { r.CancelRequested = true },
		"missing":             func(r *grid.Record) { r.Missing = 1 },
		"running":             func(r *grid.Record) { r.State, r.Started = grid.Running, 5 },
		"somebody else's now": func(r *grid.Record) { r.Role, r.Owner = grid.Watching, her },
	} {
		q := newQueue(t, 1, change, her)
		if q.pass(30*grid.Second) || len(q.moving()) > 0 {
			t.Errorf("%s: asked %v, moves %v", name, q.asked, q.moving())
		}
	}
	q := newQueue(t, 2, nil, her)
	q.shot.Running[0].End = q.now + 18*grid.Second // 13 s after the pass
	told(q, her, grid.Estimate{})
	q.pass(grid.Minute)
	if len(q.asked) != 1 || len(q.asked[0].Questions) != 1 {
		t.Errorf("asked %+v: the first job is about to start", q.asked)
	}
	q = newQueue(t, 1, func(r *grid.Record) { r.Hops, r.HopsAt = 8, 1_000_000-grid.Hour }, her)
	q.pass(grid.Minute)
	q.wants("1>peer-b") // a hop has come back
	if o := q.sent[len(q.sent)-1].Message.(wire.Offer); o.Hops != 8 {
		t.Errorf("offered with %d hops behind it, want the 7 that are left and this one", o.Hops)
	}
}

// A job that nobody is going to start here moves for anything.
func TestAHeldJobMoves(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1, nil, her)
	q.shot.Waiting[0].Ineligible = true
	told(q, her, grid.Estimate{Wait: 30 * grid.Day})
	q.pass(grid.Minute)
	q.wants("1>peer-b")
}

// Who refused a job is not offered it again for one Delta; the job keeps its place.
func TestARefusedPairIsBlocked(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1, nil, her)
	q.shot.Running[0].End += grid.Hour
	q.pass(grid.Minute)
	q.wants("1>peer-b")
	k := q.sorted()[0]
	refused := q.now
	q.do(Message{her, wire.Refuse{Handoff: q.ownership.handoffID(k), Estimate: grid.Estimate{Wait: grid.Day}}})
	if k.rec.State != grid.Assigned || k.rec.Local == "" || k.rec.Attempt != 1 || k.rec.Handoff.Phase != grid.NoHandoff {
		t.Fatalf("%+v", k.rec)
	}
	for q.now < refused+59*grid.Second {
		q.shot.Waiting = append(q.shot.Waiting, plan.Waiting{Job: "", Demand: k.rec.Job.Demand, Limit: 1}) // always something new
		q.pass(6 * grid.Second)
		if len(q.moving()) > 0 && q.now < refused+grid.Minute {
			t.Fatalf("offered again after %v s", (q.now - refused).Seconds())
		}
	}
	for len(q.moving()) == 0 && q.now < refused+3*grid.Minute {
		q.pass(6 * grid.Second)
	}
	q.wants("1>peer-b")
}

// Passes follow changes of the queue, with a pause between them, and come by
// themselves every Delta.
func TestWhenPassesAre(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1, nil, her)
	q.shot.Running[0].End += grid.Day
	told(q, her, grid.Estimate{Wait: 300 * grid.Day})
	var at []grid.Tick
	for len(at) < 4 && q.pass(3*grid.Minute) {
		at = append(at, q.now)
	}
	for i := 1; i < len(at); i++ {
		if d := at[i] - at[i-1]; d < grid.Minute || d > 67*grid.Second {
			t.Errorf("nothing changes, and a pass comes after %v s", d.Seconds())
		}
	}
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"arrival", func() {
			q.shot.Waiting = append(q.shot.Waiting, plan.Waiting{Demand: q.shot.Waiting[0].Demand, Limit: 1})
		}},
		{"start", func() { q.shot.Running = append(q.shot.Running, plan.Running{Start: q.now, End: q.now + grid.Day}) }},
		{"end", func() { q.shot.Running = q.shot.Running[:len(q.shot.Running)-1] }},
		{"removal", func() { q.shot.Waiting = q.shot.Waiting[:1] }},
		{"held", func() { q.shot.Waiting[0].Ineligible = !q.shot.Waiting[0].Ineligible }},
		{"nodes", func() { q.shot.Nodes = append(slices.Clone(q.shot.Nodes), plan.Node{Name: "m", Down: true}) }},
	} {
		if !q.pass(3 * grid.Minute) {
			t.Fatal("no pass")
		}
		c.change()
		before := q.now
		if !q.pass(20*grid.Second) || q.now-before < 5*grid.Second {
			t.Errorf("%s: a pass after %v s", c.name, (q.now - before).Seconds())
		}
		if q.pass(20 * grid.Second) {
			t.Errorf("%s: two passes", c.name)
		}
	}
}

// A long queue is gone through by turns, from its head, each job once a walk.
func TestALongQueueGoesByTurns(t *testing.T) {
	t.Parallel()
	c, shot := busySite(2500, 1)
	var sizes []int
	seen := map[grid.JobID]int{}
	for now := grid.Tick(1_000_000); now < 1_000_000+40*grid.Second; {
		at, _ := c.Next()
		now = max(now+1, at)
		for effects := c.Step(now, Tick{}); len(effects) > 0; effects = effects[1:] {
			switch e := effects[0].(type) {
			case Look:
				s := *shot
				s.At = now
				effects = append(effects, c.Step(now, Looked{Snapshot: s})...)
			case Send:
				if ask, ok := e.Message.(wire.EstimateRequest); ok {
					sizes = append(sizes, len(ask.Questions))
					for _, q := range ask.Questions {
						seen[q.Job]++
					}
					c.Step(now, Message{e.To, c.tellWorse(t, ask)})
				}
			}
		}
	}
	if len(sizes) != 3 || sizes[0] != maxPass || sizes[1] != maxPass {
		t.Errorf("the passes have %v jobs", sizes)
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("%s was asked about %d times in one walk", id, n)
		}
	}
}

// A question about a job ignores what that job holds at the site that is asked.
func TestAQuestionIgnoresTheJobItself(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Demand.Chunks[0].Count = 4
	c := signed()
	c.Step(1_000_001, Message{her, offerOf(j, 1, 0)})
	c.Step(1_000_002, shot(1_000_002)) // PREPARED: counted as coming
	ask := func(id grid.JobID) grid.Tick {
		c.Step(1_000_003, Message{him, wire.EstimateRequest{Round: 1, Questions: []wire.Question{{Job: id, Demand: j.Demand, Walltime: j.Walltime, Home: her}}}})
		for _, m := range sentTo(c.Step(1_000_004, shot(1_000_004)), him) {
			return m.(wire.EstimateReply).Answers[0].Estimate.Wait
		}
		return -1
	}
	if w := ask(j.ID); w != 0 {
		t.Errorf("the job waits %v s for itself", w.Seconds())
	}
	if w := ask(jobOf(her, "b", "2").ID); w < 59*grid.Second {
		t.Errorf("another one waits %v s", w.Seconds())
	}
}

// The whole move of a waiting job: ready, withdrawn, committed; and of one that has
// started in between: it stays.
func TestAMoveIsDecidedByTheToken(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		q := newQueue(t, 1, nil, her)
		q.pass(grid.Minute)
		k := q.sorted()[0]
		b, at := q.ownership.handoffID(k), q.attempt(k)
		effects := q.Step(q.now+1, Message{her, wire.Ready{Handoff: b}})
		if !slices.Contains(effects, Effect(Withdraw{at})) || k.rec.Handoff.Phase != grid.Withdrawing {
			t.Fatalf("%+v", effects)
		}
		effects = q.Step(q.now+2, Withdrawn{ID: at, Done: !started})
		var commits, aborts int
		for _, m := range sentTo(effects, her) {
			switch m.(type) {
			case wire.Commit:
				commits++
			case wire.Abort:
				aborts++
			}
		}
		if started && (aborts != 1 || commits != 0 || k.rec.State != grid.Assigned || k.rec.Owner != me) ||
			!started && (commits != 1 || aborts != 0 || k.rec.Owner != her) {
			t.Errorf("started %t: %+v, %s owned by %s", started, effects, k.rec.State, k.rec.Owner)
		}
		if !started {
			continue
		}
		// It was our own removal that ended it.
		q.Step(q.now+3, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Ended, Started: q.now, Finished: q.now + 1, Cause: grid.ByRequest}})
		if k.rec.End != grid.Failed || k.rec.Reason == "" {
			t.Errorf("killed by our own withdrawal it ends %s (%s)", k.rec.End, k.rec.Reason)
		}
	}
}
