package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// forecast is what this site will run when: by run times as they are believed, which
// is what is expected, and by limits, which is what is safe. As long as nothing was
// learned the two are one.
type forecast struct {
	likely plan.Ensemble
	safe   *plan.Plan
	unsure bool       // who waits may be overtaken by any number of later jobs
	ends   grid.Tick  // the first instant at which a running job is believed to end: if it does not, the belief is raised
	ahead  *ahead     // what the site itself foresees; nil: nothing
	whole  *plan.Plan // of the site without jobs and with all its nodes up; nil: none is down
}

func (c *estimator) newForecast(s plan.Snapshot) forecast {
	return c.forecastBy(s, c.withoutGrace(s))
}

// forecastBy is the forecast of a snapshot, and of the same as it is hoped for.
func (c *estimator) forecastBy(s, hoped plan.Snapshot) forecast {
	safe := plan.Build(s)
	o := forecast{likely: plan.Ensemble{safe}, safe: safe, unsure: s.Policy.Overtaken(), ends: s.At + grid.Day, ahead: newAhead(&s), whole: whole(s)}
	switch {
	case !c.runTimes.Empty() || c.cfg.Known != nil:
		draws := c.beliefs(&hoped).Draw(&hoped, c.draws(&hoped))
		o.likely, o.ends = plan.Foresee(hoped, draws), firstEnd(&hoped, draws)
	case !sameLists(&hoped, &s) || !same(hoped.Reservations, s.Reservations) || s.Lag.Usual != s.Lag.Most:
		o.likely = plan.Ensemble{plan.Likely(hoped, nil)}
	}
	return o
}

// withoutGrace is a snapshot as it will be if those come in time who have reserved: a reservation of this site's book
// ends with its job, and a part of a job does not use what it may wait for the others. Lists of which nothing ends sooner
// are those of the snapshot.
func (c *estimator) withoutGrace(s plan.Snapshot) plan.Snapshot {
	hoped := s
	sooner := func(start, end, grace grid.Tick) (grid.Tick, bool) {
		to := min(end, max(end-grace, start+1, s.At+1))
		return to, grace > 0 && to < end
	}
	for i := range s.Reservations {
		r := &s.Reservations[i]
		if end, ok := sooner(r.Start, r.End, c.graceOf(&s, r)); ok {
			hoped.Reservations = ownList(hoped.Reservations, s.Reservations)
			hoped.Reservations[i].End = end
		}
	}
	for i := range s.Running {
		r := &s.Running[i]
		if j := c.jobs[r.Job]; j != nil && j.rec.Job.Part != nil {
			if end, ok := sooner(r.Start, r.End, j.rec.Job.Part.Grace); ok {
				hoped.Running = ownList(hoped.Running, s.Running)
				hoped.Running[i].End = end
			}
		}
	}
	return hoped
}

// ownList is a list that may be written: itself, or a copy where it is still that of others.
func ownList[T any](list, others []T) []T {
	if same(list, others) {
		return slices.Clone(others)
	}
	return list
}

// graceOf is the grace of a reservation that is in the book of this site, whatever the batch system calls it: nothing
// else ends there and then.
func (c *estimator) graceOf(s *plan.Snapshot, r *plan.Reservation) grid.Tick {
	if len(r.Shares) == 0 || r.Shares[0].Node >= len(s.Nodes) {
		return 0
	}
	return c.reservations.grace(s.Nodes[r.Shares[0].Node].Name, r.End)
}

// whole is the plan of what the site has: what only lacks because nodes are down comes back.
func whole(s plan.Snapshot) *plan.Plan {
	down := func(n plan.Node) bool { return n.Down }
	if !slices.ContainsFunc(s.Nodes, down) {
		return nil
	}
	nodes := slices.Clone(s.Nodes)
	for i := range nodes {
		nodes[i].Down = false
	}
	return plan.Build(plan.Snapshot{At: s.At, Site: s.Site, Policy: s.Policy, Nodes: nodes, Queues: s.Queues, Default: s.Default, Caps: s.Caps, Ours: s.Ours})
}

// planned keeps the forecast of the last look: to make one of a long queue costs more
// than all else of a step. It holds until the batch system shows something else, or
// a run time is learned, or an instant comes at which a plan expects a change.
type planned struct {
	shown    plan.Snapshot // by the batch system
	changes  uint64        // of the jobs here, when that was taken up
	snapshot plan.Snapshot // with what is coming, and what is known of all
	forecast
	learned int
	until   grid.Tick
}

// forecastOf is the forecast of a snapshot, the kept one if it holds.
func (c *estimator) forecastOf(s plan.Snapshot) forecast {
	k := &c.planned
	if k.safe == nil || k.learned != c.learned || s.At < k.snapshot.At || s.At >= k.until || !alikeButForTime(&k.snapshot, &s) {
		*k = planned{snapshot: s, learned: c.learned}
		hoped := c.withoutGrace(s)
		k.forecast = c.forecastBy(s, hoped)
		k.until = min(nextChange(s, k.safe), k.ends)
		for _, p := range k.likely {
			k.until = min(k.until, nextChange(hoped, p))
		}
	}
	return k.at(&s)
}

// at is the kept forecast with what the site foresees at a look of now.
func (k *planned) at(s *plan.Snapshot) forecast {
	o := k.forecast
	o.ahead = newAhead(s)
	return o
}

// foreseen is a snapshot of the batch system with what is coming, and its forecast. One that was taken up already, of the
// same lists, is not looked at again.
func (c *estimator) foreseen(shown plan.Snapshot) (plan.Snapshot, forecast) {
	k := &c.planned
	if k.safe != nil && k.learned == c.learned && k.changes == c.changes && shown.At >= k.snapshot.At && shown.At < k.until && sameLists(&k.shown, &shown) &&
		alikeButForTime(&k.shown, &shown) {
		s := k.snapshot
		s.At, s.Forecast = shown.At, shown.Forecast
		return s, k.at(&s)
	}
	s := c.withTraits(c.withComing(shown))
	o := c.forecastOf(s)
	k.shown, k.changes = shown, c.changes
	return s, o
}

// nextChange is the first instant after the snapshot at which something of its plan
// begins or ends.
func nextChange(s plan.Snapshot, p *plan.Plan) grid.Tick {
	first := s.At + grid.Day
	at := func(t grid.Tick) { first = min(first, max(t, s.At)) }
	for _, r := range s.Running {
		at(r.End)
	}
	for _, r := range s.Reservations {
		if r.Start > s.At {
			at(r.Start)
		}
		at(r.End)
	}
	for i := range s.Waiting {
		if w, ok := p.Waiting(i); ok {
			at(w.Start)
		}
	}
	return first
}

// firstEnd is the first instant at which a running job is believed to end.
func firstEnd(s *plan.Snapshot, draws []plan.Runs) grid.Tick {
	first := s.At + grid.Day
	for k := range draws {
		for i := range s.Running {
			first = min(first, max(s.At, s.Running[i].Start+draws[k].Running[i]))
		}
	}
	return first
}

// batch answers a row of questions, each as if the jobs of those before had come.
type batch struct {
	of        forecast
	likely    plan.EnsembleBatch // made for the first question, and so is safe: most looks have none
	safe      *plan.Batch
	foresight plan.Foresight
}

func (o forecast) batch() *batch { return &batch{of: o} }

// anew is a batch in which nobody has asked. Where the site itself foresees, the same goes on: that costs as much as to plan all who wait.
func (b *batch) anew() *batch {
	if b.of.ahead != nil {
		return b
	}
	return b.of.batch()
}

func (b *batch) estimate(q plan.Question) grid.Estimate {
	if b.of.ahead != nil {
		return b.foresee(q)
	}
	if b.likely == nil {
		b.likely = b.of.likely.Batch()
		if b.of.safe != b.of.likely[0] {
			b.safe = b.of.safe.Batch()
		}
	}
	start, refusal := b.likely.Ask(q)
	if refusal != nil {
		return grid.Estimate{Refusal: b.passing(q, refusal)}
	}
	e := grid.Estimate{Wait: max(0, start-q.NotBefore)}
	e.Safe = e.Wait
	if b.safe != nil {
		if q.Before != 0 && start >= q.Before {
			q.Before = q.NotBefore // it does not come, whatever is safe
		} else {
			q.Before = 0
		}
		if start, refusal = b.safe.Ask(q); refusal != nil {
			return grid.Estimate{Refusal: b.passing(q, refusal)}
		}
		e.Safe = max(0, start-q.NotBefore)
	}
	if b.of.unsure && e.Safe > 0 {
		e.Safe = grid.Unsure
	}
	return e
}

// foresee is an estimate by what the site itself foresees, also of nodes that are down now.
func (b *batch) foresee(q plan.Question) grid.Estimate {
	every := b.of.whole
	if every == nil {
		every = b.of.safe
	}
	if _, refusal := every.Ask(q); refusal != nil {
		return grid.Estimate{Refusal: refusal}
	}
	if b.foresight == nil {
		b.foresight, b.of.ahead.planned = b.of.ahead.plan(), nil
	}
	stay, refusal := b.foresight.Ask(q)
	if refusal != nil {
		return grid.Estimate{Refusal: refusal}
	}
	e := grid.Estimate{Wait: bounded(stay.Start - q.NotBefore), Run: max(1, bounded(stay.End-stay.Start))}
	e.Safe = bounded(e.Wait + bounded(stay.Latest-stay.End))
	e.Doubt = clip(stay.Doubt)
	if stay.Alone != 0 {
		e.Alone = max(1, bounded(stay.Alone-q.NotBefore))
	}
	return e
}

// bounded is a span that others can be told: what is foreseen may be farther away than anybody looks.
func bounded(span grid.Tick) grid.Tick { return min(max(0, span), grid.Unsure) }

// ahead is what a site foresees of those that wait there.
type ahead struct {
	forecast plan.Forecast
	waiting  []plan.Waiting
	at       grid.Tick
	planned  plan.Foresight           // that nobody has asked yet; made when it is needed
	stays    map[grid.JobID]plan.Stay // so are these
}

func newAhead(s *plan.Snapshot) *ahead {
	if s.Forecast == nil {
		return nil
	}
	return &ahead{forecast: s.Forecast, waiting: s.Waiting, at: s.At}
}

// plan plans those that wait, which costs more than all that is asked then. Who asks keeps it.
func (a *ahead) plan() plan.Foresight {
	if a.planned == nil {
		a.planned = a.forecast.Foresee(a.waiting)
	}
	return a.planned
}

// runs is when a job that waits here starts, and ends where that is foreseen; false if it is not going to.
func (o *forecast) runs(job grid.JobID) (stay plan.Stay, planned bool) {
	a := o.ahead
	if a == nil {
		stay.Start, planned = o.likely.Start(job)
		return stay, planned
	}
	if a.stays == nil {
		a.stays = map[grid.JobID]plan.Stay{}
		foresight := a.plan()
		for i := range a.waiting {
			if stay, ok := foresight.Waiting(i); ok && stay.Start-a.at <= plan.Horizon {
				a.stays[a.waiting[i].Job] = stay
			}
		}
	}
	stay, planned = a.stays[job]
	return stay, planned
}

// passing is a refusal as it is told: one that is only for nodes that are down now will pass.
func (b *batch) passing(q plan.Question, r *grid.Refusal) *grid.Refusal {
	if b.of.whole == nil || r.Kind == grid.Temporary {
		return r
	}
	if _, lacks := b.of.whole.Ask(q); lacks != nil {
		return r
	}
	return &grid.Refusal{Kind: grid.Temporary, Reason: nodesDown, Asked: r.Asked, Available: r.Available}
}
