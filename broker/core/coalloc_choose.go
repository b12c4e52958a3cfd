package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// Choosing. All sites that live and that the whole may use are asked for their slots at once; when they have
// answered, or a deadline has passed, package plan chooses.

// asking is one question to the sites, under way.
type asking struct {
	offers  int                       // which of the cycle's questions for slots is for it
	of      string                    // what was asked
	sent    map[grid.PeerID]grid.Tick // who has not answered
	sites   []reachable
	told    map[grid.PeerID]offered
	rejects map[grid.PeerID]*grid.Refusal
}

// offered is what one site told, with its clock.
type offered struct {
	reply  wire.SlotsReply
	offset grid.Tick // its clock is so far ahead
	bound  grid.Tick // at most so wrong
}

// answerWithin bounds the wait for slots: a look at a batch system is taken for them.
const answerWithin = 5 * grid.Second

// plan has the whole planned when it is time to.
func (s *coallocation) plan(a *allocation) {
	r, kept := s.wholes.whole(a.rec.Of)
	now := s.wholes.instant()
	switch {
	case r.State != grid.Ready:
	case a.awaits(r): // they are being ended: see clear
	case !r.Job.Rerunnable && a.begun() && s.wholes.beforeRound(a.rec.Of) == open: // else other parts may run, of which nobody has told yet
		s.endWhole(a, ending{state: grid.Failed, why: "a part of an earlier round has begun, and the program may not run twice"})
	case kept != notKept: // it is saved when that is over
		s.wholes.renew(a.rec.Of)
	case s.wholes.beforeRound(a.rec.Of) != open:
		s.wake(a, now+grid.Second)
	case s.cycle.has(a.rec.Of):
	case now < a.rec.Next:
		s.wake(a, a.rec.Next)
	default:
		s.wanted = true
	}
}

// mayPlan is the record of a whole that waits for a place at several sites.
func (s *coallocation) mayPlan(a *allocation) *grid.Record {
	r, kept := s.wholes.whole(a.rec.Of)
	if a.rec.State != grid.Planned || r == nil || r.State != grid.Ready || r.CancelRequested || kept != notKept || s.wholes.beforeRound(a.rec.Of) != open {
		return nil
	}
	if a.awaits(r) || !r.Job.Rerunnable && a.begun() {
		return nil
	}
	return r
}

// ask asks all sites. Those of which another whole of the cycle hears the slots tell this one no more than when they
// would run it.
func (s *coallocation) ask(q *asking, r *grid.Record, round uint64, brief bool) {
	now := s.wholes.instant()
	q.sent, q.sites = map[grid.PeerID]grid.Tick{}, s.wholes.sites(r.Job.ID)
	q.told, q.rejects = map[grid.PeerID]offered{}, map[grid.PeerID]*grid.Refusal{}
	for _, site := range q.sites {
		if site.refusal != nil {
			q.rejects[site.peer] = site.refusal
			continue
		}
		q.sent[site.peer] = now
		from := s.wholes.bytes(r.Job.ID, site.peer)
		s.wholes.say(site.peer, wire.Slots{
			Of: r.Job.ID, Round: round, Demand: r.Job.Demand, Walltime: r.Job.Walltime, Queue: r.Job.Queue, User: r.Job.User,
			From: from, To: from + s.cfg.Horizon, Fee: feeOf(&r.Job), Brief: brief, Sent: now,
		})
	}
}

func feeOf(j *grid.Job) float64 { return float64(j.Terms.Fee) }

func (s *coallocation) onSlotsReply(from grid.PeerID, m wire.SlotsReply) {
	var q *asking
	d := s.drafts[m.Of]
	switch {
	case d != nil && d.round == m.Round:
		q = &d.asking
	case s.cycle != nil && s.cycle.round == m.Round && s.cycle.asked[m.Of] != nil:
		q = s.cycle.asked[m.Of]
	default:
		return
	}
	sent, waits := q.sent[from]
	if !waits {
		return
	}
	delete(q.sent, from)
	if d != nil {
		s.stale[m.Of] = true
	} else {
		s.cycle.missing--
	}
	offset, bound := clockOf(m.Clock, s.wholes.instant())
	switch {
	case m.Clock.Asked != sent:
		q.rejects[from] = forNow("its answer is to another question")
	case bound > s.cfg.Bound:
		q.rejects[from] = forNow(fmt.Sprintf("its clock is known to %.1f s only", bound.Seconds()))
	default:
		q.told[from] = offered{m, s.wholes.offset(offset), bound}
	}
}

// rounding is by how much low and high of clockOf may be past one another: both ends of both ways are whole ticks.
const rounding = 2

// clockOf is how far the clock of who answered is ahead, and by how much that may be wrong.
func clockOf(c wire.Clocks, now grid.Tick) (offset, bound grid.Tick) {
	low, high := c.Answered-now, c.Received-c.Asked
	switch {
	case low > high+rounding: // its clock was set between
		return 0, grid.Day
	case low > high:
		low, high = high, low
	}
	return low + (high-low)/2, (high - low + 1) / 2
}

// nowhere is the delivery to a site that has nothing for a whole.
const nowhere = horizon

// waits is what the cycle plans for a whole, and what there is to tell of it.
func (s *coallocation) waits(r *grid.Record, q, slots *asking) (w plan.Waits, choice grid.SlotChoice) {
	now := s.wholes.instant()
	co := r.Job.Coallocation
	w = plan.Waits{Job: r.Job.ID, Priority: r.Job.Terms.Priority, Offers: q.offers, Wide: plan.Wide{
		Demand: r.Job.Demand, Now: now, Walltime: r.Job.Walltime, MaxSites: co.Sites, PerSite: co.PerSite,
		Fee: plan.AnyFee, Margin: s.cfg.Lead, Gain: s.cfg.Gain, Link: linkOf(q.sites),
	}}
	if fee := feeOf(&r.Job); fee > 0 {
		w.Fee = fee
	}
	choice.At = now
	delivery := map[grid.SiteName]grid.Tick{}
	for _, site := range q.sites {
		o, told := q.told[site.peer]
		row := grid.SiteSlots{Site: site.name, Slots: len(slots.told[site.peer].reply.Slots), Refusal: o.reply.Refusal}
		delivery[site.name] = s.wholes.bytes(r.Job.ID, site.peer)
		switch {
		case !told && q.rejects[site.peer] == nil:
			row.Refusal = forNow(noAnswer)
		case !told:
			row.Refusal = q.rejects[site.peer]
		default:
			w.Extra = max(w.Extra, s.cfg.Grace+o.reply.Slack+2*grid.Second+2*o.bound)
		}
		if e := o.reply.Estimate; told && e.Refusal == nil {
			start := now + delivery[site.name] + e.Wait
			w.Alone = append(w.Alone, plan.Alone{Site: site.name, Start: start, End: start + runTime(r.Job.Walltime, o.reply.Site.Speed)})
		}
		if row.Refusal != nil {
			row.Slots, delivery[site.name] = 0, nowhere
		}
		choice.Sites = append(choice.Sites, row)
	}
	w.Delivery = func(site grid.SiteName) grid.Tick { return delivery[site] }
	return w, choice
}

// linkOf is how far two sites are from one another, as far as it is known here: by their ways to this one.
func linkOf(sites []reachable) func(a, b grid.SiteName) grid.Tick {
	way := map[grid.SiteName]float64{}
	for _, s := range sites {
		way[s.name] = s.link
	}
	return func(a, b grid.SiteName) grid.Tick { return grid.FromSeconds(way[a] + way[b]) }
}

// meets tells of which sites the nodes reach each other, as they declare.
func (s *coallocation) meets(sites []reachable) *plan.Meets {
	names := make([]grid.SiteName, len(sites))
	for i, site := range sites {
		names[i] = site.name
	}
	reaches := func(a, b int) bool { return sites[a].facts.Reaches(sites[b].peer, sites[b].name) }
	return plan.NewMeets(names, reaches, uint64(s.wholes.instant()))
}

// offersOf are what the sites told for a question, by the clock of this one and without what they refused since to
// any of the wholes that it is for, or hold already for this home.
func (s *coallocation) offersOf(q *asking, wholes []*allocation, held map[grid.PeerID][]grid.AllocatedPart) (list []plan.Offered) {
	for _, site := range q.sites {
		o, told := q.told[site.peer]
		if !told {
			continue
		}
		facts := o.reply.Site
		facts.Name = site.name
		out := plan.Offered{Site: facts}
		for _, slot := range o.reply.Slots {
			for _, left := range notHeld(held[site.peer], slot) {
				if !s.refusedTo(wholes, site.peer, left) {
					left.Site, left.Start, left.End = site.name, left.Start-o.offset, left.End-o.offset
					out.Slots = append(out.Slots, left)
				}
			}
		}
		list = append(list, out)
	}
	return list
}

func (s *coallocation) refusedTo(wholes []*allocation, at grid.PeerID, slot grid.Slot) bool {
	return slices.ContainsFunc(wholes, func(a *allocation) bool {
		return slices.ContainsFunc(a.rec.Refused, func(r grid.RefusedSlot) bool {
			return !s.outdated(r) && r.Peer == at && slices.Contains(r.Nodes, slot.Node) && r.Start < slot.End && slot.Start < r.End
		})
	})
}

// outdated: a refusal speaks for the next choice or two. What a site refuses now, as a job has only just ended there, say, it
// may have in a minute; whoever refuses again and again is asked ever more seldom, as all that comes to nothing.
func (s *coallocation) outdated(r grid.RefusedSlot) bool {
	return r.At+2*s.cfg.Again < s.wholes.instant()
}

// notHeld is a slot without what rounds of this home hold of it: the site may not have seen that yet when it answered.
func notHeld(held []grid.AllocatedPart, slot grid.Slot) []grid.Slot {
	left := []grid.Slot{slot}
	for _, p := range held {
		if slices.Contains(p.Nodes, slot.Node) {
			left = outside(left, grid.Place{Start: p.Start, End: p.End})
		}
	}
	return left
}

// became notes what a choice came to.
func became(choice *grid.SlotChoice, got *plan.Allocated) {
	if got.Best != nil {
		choice.Best, choice.BestEnd = got.Best.Site, got.Best.End
	}
	choice.Start, choice.End, choice.Why = got.Start, got.End, got.Why
	for _, p := range got.Parts {
		row := &choice.Sites[slices.IndexFunc(choice.Sites, func(row grid.SiteSlots) bool { return row.Site == p.Site })]
		row.Processes = p.Processes
		for _, n := range p.Nodes {
			row.Taken = append(row.Taken, n.Node)
		}
	}
}

// chosen begins a round, waits, or goes the ordinary way. Before its time a whole only has its place in the plan.
func (s *coallocation) chosen(a *allocation, r *grid.Record, q *asking, got plan.Ahead, choice grid.SlotChoice) {
	now := s.wholes.instant()
	paid := !got.Reserve || s.paid(&r.Job, &got.Allocated)
	became(&choice, &got.Allocated)
	before := now < a.rec.Next
	if before && (len(got.Parts) == 0 || got.Reserve) {
		return
	}
	a.rec.Choice = &choice
	switch {
	case !paid:
		s.vain(a, got.Why)
	case len(got.Parts) == 0 && got.Best != nil:
		s.become(a, grid.OneSite, fmt.Sprintf("site %s alone ends it as soon: %s", got.Best.Site, got.Why))
		s.wholes.alone(a.rec.Of, a.rec.Reason)
	case len(got.Parts) == 0 && !got.Unseen && a.fitsNowhere(r, &choice):
		s.endWhole(a, ending{state: grid.Failed, why: "no single site can run it any more, nor several together: " + got.Why})
	case len(got.Parts) == 0:
		s.vain(a, "no sites have it together: "+got.Why)
	case !got.Reserve:
		if !before {
			a.rec.Next = min(now+s.cfg.Rest, max(got.Near, now+grid.Second))
			s.save(a, "")
		}
		s.wholes.tell(a.rec.Of, "its start is planned, and not near enough to reserve", got.Start)
		s.wake(a, a.rec.Next)
	default:
		s.begin(a, r, q, got.Allocated)
	}
}

// vain: a choice or a round came to nothing; another follows later, each time later, and at random so that
// homes which want the same get out of each other's way.
func (s *coallocation) vain(a *allocation, why string) {
	now := s.wholes.instant()
	span := min(s.cfg.Rest, s.cfg.Again<<min(a.rec.Fails, 16))
	a.rec.Next = now + span/2 + s.wholes.jitter(span)
	a.rec.Fails++
	a.rec.Refused = slices.DeleteFunc(slices.Clone(a.rec.Refused), s.outdated)
	s.save(a, why)
	s.wholes.tell(a.rec.Of, why, 0)
	s.wake(a, a.rec.Next)
}
