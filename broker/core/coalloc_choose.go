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
	round   uint64
	until   grid.Tick
	sent    map[grid.PeerID]grid.Tick // who has not answered
	sites   []reachable
	offers  map[grid.PeerID]offered
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

// plan asks for slots when it is time to, and chooses when they are there.
func (s *coallocation) plan(a *allocation) {
	r, kept := s.wholes.whole(a.rec.Of)
	now := s.wholes.instant()
	switch {
	case r == nil || r.State != grid.Ready || r.CancelRequested:
		a.asking = nil
		return
	case !r.Job.Rerunnable && slices.ContainsFunc(a.rec.Parts, func(p grid.AllocatedPart) bool { return p.Begun }):
		s.endWhole(a, ending{state: grid.Failed, why: "a part of an earlier round has begun, and the program may not run twice"})
		return
	case kept != notKept:
		a.asking = nil
		return // it is saved when that is over
	case s.wholes.beforeRound(a.rec.Of) != open:
		s.wake(a, now+grid.Second)
		return
	case a.asking == nil && now < a.rec.Next:
		s.wake(a, a.rec.Next)
		return
	case a.asking == nil:
		s.ask(a, r)
	}
	if q := a.asking; len(q.sent) > 0 && now < q.until {
		s.wake(a, q.until)
		return
	}
	q := a.asking
	a.asking = nil
	s.choose(a, r, q)
}

// ask asks all sites.
func (s *coallocation) ask(a *allocation, r *grid.Record) {
	now := s.wholes.instant()
	q := &asking{
		round: s.wholes.round(), until: now + answerWithin, sent: map[grid.PeerID]grid.Tick{}, sites: s.wholes.sites(a.rec.Of),
		offers: map[grid.PeerID]offered{}, rejects: map[grid.PeerID]*grid.Refusal{},
	}
	a.asking = q
	for _, site := range q.sites {
		if site.refusal != nil {
			q.rejects[site.peer] = site.refusal
			continue
		}
		q.sent[site.peer] = now
		from := s.wholes.bytes(a.rec.Of, site.peer)
		s.wholes.say(site.peer, wire.Slots{
			Of: a.rec.Of, Round: q.round, Demand: r.Job.Demand, Walltime: r.Job.Walltime, Queue: r.Job.Queue, User: r.Job.User,
			From: from, To: from + s.cfg.Horizon, Fee: feeOf(&r.Job), Sent: now,
		})
	}
}

func feeOf(j *grid.Job) float64 { return float64(j.Terms.Fee) }

func (s *coallocation) onSlotsReply(from grid.PeerID, m wire.SlotsReply) {
	a := s.all[m.Of]
	if a == nil || a.asking == nil || a.asking.round != m.Round {
		return
	}
	q := a.asking
	sent, waits := q.sent[from]
	if !waits {
		return
	}
	delete(q.sent, from)
	s.stale[m.Of] = true
	offset, bound := clockOf(m.Clock, s.wholes.instant())
	switch {
	case m.Clock.Asked != sent:
		q.rejects[from] = forNow("its answer is to another question")
	case bound > s.cfg.Bound:
		q.rejects[from] = forNow(fmt.Sprintf("its clock is known to %.1f s only", bound.Seconds()))
	default:
		q.offers[from] = offered{m, s.wholes.offset(offset), bound}
	}
}

// clockOf is how far the clock of who answered is ahead, and by how much that may be wrong.
func clockOf(c wire.Clocks, now grid.Tick) (offset, bound grid.Tick) {
	low, high := c.Answered-now, c.Received-c.Asked
	if low > high { // its clock was set between
		return 0, grid.Day
	}
	return low + (high-low)/2, (high - low + 1) / 2
}

// choose takes the best of what was told.
func (s *coallocation) choose(a *allocation, r *grid.Record, q *asking) {
	now := s.wholes.instant()
	w := s.wideOf(r, q)
	choice := grid.SlotChoice{At: now}
	var offers []plan.Offered
	var alone []plan.Alone
	for _, site := range q.sites {
		o, told := q.offers[site.peer]
		row := grid.SiteSlots{Site: site.name, Slots: len(o.reply.Slots), Refusal: o.reply.Refusal}
		switch {
		case !told && q.rejects[site.peer] == nil:
			row.Refusal = forNow(noAnswer)
		case !told:
			row.Refusal = q.rejects[site.peer]
		default:
			offers = append(offers, s.offerOf(a, site, o))
			w.Extra = max(w.Extra, s.cfg.Grace+o.reply.Slack+2*grid.Second+2*o.bound)
		}
		if e := o.reply.Estimate; told && e.Refusal == nil {
			start := now + s.wholes.bytes(a.rec.Of, site.peer) + e.Wait
			alone = append(alone, plan.Alone{Site: site.name, Start: start, End: start + runTime(r.Job.Walltime, o.reply.Site.Speed)})
		}
		choice.Sites = append(choice.Sites, row)
	}
	got := plan.Allocated{}
	if err := w.Check(); err != nil {
		got.Why = err.Error()
	} else {
		got = plan.Coallocate(&w, offers, alone)
	}
	s.chosen(a, r, q, got, choice)
}

func (s *coallocation) wideOf(r *grid.Record, q *asking) plan.Wide {
	co := r.Job.Coallocation
	w := plan.Wide{
		Demand: r.Job.Demand, Now: s.wholes.instant(), Walltime: r.Job.Walltime, MaxSites: co.Sites, PerSite: co.PerSite,
		Fee: plan.AnyFee, Margin: s.cfg.Lead, Gain: s.cfg.Gain, Link: linkOf(q.sites),
	}
	if fee := feeOf(&r.Job); fee > 0 {
		w.Fee = fee
	}
	return w
}

// linkOf is how far two sites are from one another, as far as it is known here: by their ways to this one.
func linkOf(sites []reachable) func(a, b grid.SiteName) grid.Tick {
	way := map[grid.SiteName]float64{}
	for _, s := range sites {
		way[s.name] = s.link
	}
	return func(a, b grid.SiteName) grid.Tick { return grid.FromSeconds(way[a] + way[b]) }
}

// offerOf is what a site told, by the clock of this one and without what it refused since.
func (s *coallocation) offerOf(a *allocation, site reachable, o offered) plan.Offered {
	facts := o.reply.Site
	facts.Name = site.name
	out := plan.Offered{Site: facts, Delivery: s.wholes.bytes(a.rec.Of, site.peer)}
	for _, slot := range o.reply.Slots {
		if slices.ContainsFunc(a.rec.Refused, func(r grid.RefusedSlot) bool {
			return r.Peer == site.peer && slices.Contains(r.Nodes, slot.Node) && r.Start < slot.End && slot.Start < r.End
		}) {
			continue
		}
		slot.Site, slot.Start, slot.End = site.name, slot.Start-o.offset, slot.End-o.offset
		out.Slots = append(out.Slots, slot)
	}
	return out
}

// chosen begins a round, waits, or goes the ordinary way.
func (s *coallocation) chosen(a *allocation, r *grid.Record, q *asking, got plan.Allocated, choice grid.SlotChoice) {
	now := s.wholes.instant()
	if got.Best != nil {
		choice.Best, choice.BestEnd = got.Best.Site, got.Best.End
	}
	choice.End, choice.Why = got.End, got.Why
	for _, p := range got.Parts {
		for i := range choice.Sites {
			for _, n := range p.Nodes {
				if choice.Sites[i].Site == p.Site {
					choice.Sites[i].Taken = append(choice.Sites[i].Taken, n.Node)
				}
			}
		}
	}
	a.rec.Choice = &choice
	switch {
	case len(got.Parts) == 0 && got.Best != nil:
		s.become(a, grid.OneSite, fmt.Sprintf("site %s alone ends it as soon: %s", got.Best.Site, got.Why))
		s.wholes.alone(a.rec.Of, a.rec.Reason)
	case len(got.Parts) == 0:
		s.vain(a, "no sites have it together: "+got.Why)
	case got.Start-now > s.cfg.Window:
		a.rec.Next = now + min(s.cfg.Rest, got.Start-now-s.cfg.Window)
		s.save(a, "")
		s.wholes.tell(a.rec.Of, "its start is planned, and not near enough to reserve", got.Start)
		s.wake(a, a.rec.Next)
	default:
		s.begin(a, r, q, got)
	}
}

// vain: a choice or a round came to nothing; another follows later, each time later, and at random so that
// homes which want the same get out of each other's way.
func (s *coallocation) vain(a *allocation, why string) {
	now := s.wholes.instant()
	span := min(s.cfg.Rest, s.cfg.Again<<min(a.rec.Fails, 16))
	a.rec.Next = now + span/2 + s.wholes.jitter(span)
	a.rec.Fails++
	a.rec.Refused = slices.DeleteFunc(slices.Clone(a.rec.Refused), func(r grid.RefusedSlot) bool { return r.At+s.cfg.Rest < now })
	s.save(a, why)
	s.wholes.tell(a.rec.Of, why, 0)
	s.wake(a, a.rec.Next)
}
