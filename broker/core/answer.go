package core

import (
	"cmp"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// pendingEstimate is a neighbour's question that waits for a snapshot.
type pendingEstimate struct {
	from    grid.PeerID
	request wire.EstimateRequest
}

// maxEstimates are the searches that one peer has at a time: one for jobs without a
// place, one for those that wait, and a dry run.
const maxEstimates = 3

// maxPending bounds the questions kept while a snapshot is taken.
const maxPending = 1024

func (c *estimator) estimateRequest(from grid.PeerID, a wire.EstimateRequest) {
	mine := func(p pendingEstimate) bool { return p.from == from }
	if n := len(slices.DeleteFunc(slices.Clone(c.estimates), func(p pendingEstimate) bool { return !mine(p) })); n >= maxEstimates {
		k := slices.IndexFunc(c.estimates, mine) // the oldest of its searches is over
		c.estimates = slices.Delete(c.estimates, k, k+1)
	}
	c.estimates = append(c.estimates, pendingEstimate{from, a})
	c.look()
}

// looked has a snapshot: everything that waited for one is answered from it.
func (c *estimator) looked(e Looked) {
	c.looking = false
	asks, offers := c.estimates, c.ownership.takeOffers()
	c.estimates = nil
	if e.Err != nil {
		c.note("", "", "no snapshot of the batch system: "+e.Err.Error())
		c.unseen(asks, offers, forNow(noLook))
		c.answerSlots(nil, forecast{}, e.Snapshot, forNow(noLook))
		c.search.noPass()
		return
	}
	if len(e.Snapshot.Reservations) > 0 {
		e.Snapshot.Reservations = c.reservations.held(e.Snapshot.Reservations)
	}
	c.search.stir(e.Snapshot)
	s, o := c.foreseen(e.Snapshot)
	c.seen = c.now
	c.showEstimates(s, &o)
	c.missStarts()
	c.search.beginPass(s, o)
	if e.Full {
		c.unseen(asks, offers, forNow(diskFull))
		c.answerSlots(nil, o, s, forNow(diskFull))
		return
	}
	b := o.batch()
	if len(offers) > 0 { // first: what comes counts in every answer
		held := c.ownership.usedByMember()
		for _, o := range offers {
			if held[o.from] != nil { // else it was removed meanwhile
				c.ownership.considerOffer(o, b, s, held[o.from])
			}
		}
	}
	for _, a := range asks {
		c.send(a.from, c.answer(b, s, a))
	}
	c.answerSlots(b, o, s, nil)
	c.search.ownAnswer(b, s)
	c.search.whereHere(loadOf(s), func(j *grid.Job) grid.Estimate {
		return c.withSpread(c.estimate(b.anew(), c.question(j, s.At), j.Reservation))
	}, nil)
	c.tellStarts(s, o)
}

// unseen: without a snapshot, or with a full disk, there is no estimate.
func (c *estimator) unseen(asks []pendingEstimate, offers []pendingOffer, why *grid.Refusal) {
	none := grid.Estimate{Refusal: why}
	for _, a := range asks {
		t := wire.EstimateReply{Round: a.request.Round, Site: c.brief()}
		for _, q := range a.request.Questions {
			t.Answers = append(t.Answers, wire.Answer{Job: q.Job, Estimate: none})
		}
		c.send(a.from, t)
	}
	for _, o := range offers {
		c.send(o.from, wire.Refuse{Handoff: o.offer.Handoff, Estimate: none})
	}
	c.search.whereHere(grid.Load{}, nil, why)
	c.search.noOwnAnswer(why)
}

// maxTake bounds the offers that a site takes at once from one owner.
const maxTake = 16

// answer estimates for a neighbour. What this site holds for a job that is asked
// about does not count against it.
func (c *estimator) answer(b *batch, s plan.Snapshot, a pendingEstimate) wire.EstimateReply {
	t := wire.EstimateReply{Round: a.request.Round, Site: c.factsOf(s), Take: uint32(max(0, min(maxTake, maxAccepted-len(c.accepted), maxFetchingOf-c.ownership.usedBy(a.from).fetching)))}
	if held := c.occupying(a.request.Questions); len(held) > 0 {
		b = c.newForecast(without(s, held)).batch()
	}
	for i, q := range a.request.Questions {
		if a.request.Apart && i < wire.MaxAsked {
			b = b.anew()
		}
		e := grid.Estimate{Refusal: cmp.Or(c.unwelcome(q.Home), c.execution.refusedHere(q.Job, alterable{q.Walltime, q.Queue, q.Demand.Processes()}))}
		if e.Refusal == nil {
			e = c.withSpread(c.estimate(b, c.asked(q, s.At), q.Reservation))
			e.Price = c.rateOf(grid.User{Home: cmp.Or(q.Home, a.from)}, c.now+q.Delivery+e.Wait)
		}
		t.Answers = append(t.Answers, wire.Answer{Job: q.Job, Estimate: e})
	}
	return t
}

// estimate is when a job would start: by the plan, or in its reservation.
func (c *estimator) estimate(b *batch, q plan.Question, reservation grid.ReservationID) grid.Estimate {
	if reservation != "" {
		return c.reservations.reserved(reservation, q)
	}
	return b.estimate(q)
}

// unwelcome says why no job of that home is taken here; "" is one of who asks.
func (c *estimator) unwelcome(home grid.PeerID) *grid.Refusal {
	switch {
	case c.draining:
		return forNow(drained)
	case home != "" && home != c.cfg.Self && c.members[home] == nil:
		return &grid.Refusal{Kind: grid.Permanent, Reason: stranger}
	}
	return nil
}

// occupying are the jobs of the questions that may hold something here.
func (c *estimator) occupying(questions []wire.Question) map[grid.JobID]bool {
	held := map[grid.JobID]bool{}
	for _, q := range questions {
		if c.accepted[q.Job] != nil || c.peek(q.Job) != nil {
			held[q.Job] = true
		}
	}
	return held
}

// without is the snapshot without what waits for some jobs.
func without(s plan.Snapshot, jobs map[grid.JobID]bool) plan.Snapshot {
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(w plan.Waiting) bool { return w.Job != "" && jobs[w.Job] })
	return s
}

// asked is a neighbour's question. One of before it told of users says nothing of its job's; what others are let do counts with the offer.
func (c *estimator) asked(q wire.Question, now grid.Tick) plan.Question {
	asked := plan.Question{
		Demand: q.Demand, Queue: q.Queue, Limit: c.limit(q.Walltime), NotBefore: now + q.Delivery, Trait: c.shape(q.Demand, q.Walltime),
		Walltime: q.Walltime, Deadline: c.until(q.Deadline),
	}
	if q.Within > 0 {
		asked.Before = now + q.Within
	}
	if q.User != "" {
		of := grid.Job{ID: q.Job, User: grid.User{Name: q.User}}
		asked.User = of.UserAtHome()
	}
	return asked
}

// question asks for a job whose files are here.
func (c *estimator) question(j *grid.Job, now grid.Tick) plan.Question {
	return plan.Question{
		Demand: j.Demand, Queue: j.Queue, Limit: c.limit(j.Walltime), NotBefore: now, Trait: c.trait(j),
		User: j.UserAtHome(), Walltime: j.Walltime, Deadline: j.Terms.Deadline,
	}
}

// withComing adds to a snapshot what it does not show yet: jobs accepted, prepared
// or just submitted. A site's load is the union by JobID.
func (c *estimator) withComing(s plan.Snapshot) plan.Snapshot {
	shown := make(map[grid.JobID]bool, len(s.Running)+len(s.Waiting))
	for _, r := range s.Running {
		shown[r.Job] = true
	}
	for _, w := range s.Waiting {
		shown[w.Job] = true
	}
	var more []plan.Waiting
	add := func(j *grid.Job) {
		if !shown[j.ID] && j.Reservation == "" { // whose nodes are kept for it
			shown[j.ID] = true
			queue := cmp.Or(j.Queue, s.Default)
			more = append(more, plan.Waiting{
				Job: j.ID, Demand: j.Demand, Queue: queue, Limit: c.limit(j.Walltime), Caps: s.CapsOf(queue), User: j.UserAtHome(), Walltime: j.Walltime,
			})
		}
	}
	for _, id := range c.comingIDs() {
		if a := c.accepted[id]; a != nil {
			add(&a.offer.Job)
		} else {
			add(&c.jobs[id].rec.Job)
		}
	}
	s.Waiting = append(slices.Clone(s.Waiting), more...)
	return s
}

// comingIDs are the jobs that will want capacity here, in a fixed order.
func (c *estimator) comingIDs() []grid.JobID {
	var ids []grid.JobID
	for id := range c.accepted {
		ids = append(ids, id)
	}
	for id, j := range c.live {
		r := &j.rec
		if r.Role == grid.Prepared || r.Role == grid.Owning && r.State == grid.Assigned {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// silence is how many reports in a row may stay out before contact counts as lost.
const silence = 4

// lookAgain asks for a snapshot, unless the last one is new: a pass may just have looked.
func (c *estimator) lookAgain() {
	if c.now-c.seen >= c.cfg.Refresh*9/10 {
		c.look()
	}
}

// look asks for a snapshot unless one is on its way.
func (c *estimator) look() {
	if !c.looking {
		c.looking = true
		c.emit(Look{})
	}
}
