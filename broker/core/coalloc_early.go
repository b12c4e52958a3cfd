package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/wire"
)

// Sooner. While the parts of a round wait for their reservations, in the batch systems, what runs there may end sooner than it
// was to. Where the user allows an early start all sites are asked now and then to let the reservations begin at
// one nearer instant:
//
//	gathering ─► each reservation is to begin sooner ─┬─► all do: that is the start of the round
//	    ▲                                             └─► one is refused, or time is over ─► each is put back ─┐
//	    └──────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// By that a reservation only grows: its end stays, so that nothing is lost where another site refuses. A part
// whose reservation was not put back in time arrives early; it waits for the others as long as any part
// does, and then the round is given up ([coallocation.lateAt]).

// sooner asks the sites of a round for an earlier start, if it is time to, and sees to what was asked.
func (s *coallocation) sooner(a *allocation) {
	now := s.wholes.instant()
	switch whole, _ := s.wholes.whole(a.rec.Of); {
	case a.rec.Sooner > 0 && now >= a.rec.Sooner-s.cfg.Lead/4:
		s.stay(a, "not all sites have said in time that it may begin sooner")
	case a.rec.Sooner > 0:
		s.wake(a, a.rec.Sooner-s.cfg.Lead/4)
	case !whole.Job.Coallocation.Early || !a.mayBeSooner() || a.rec.Start <= now+2*s.cfg.Lead:
	case a.sooner == 0:
		s.againSooner(a)
	case now >= a.sooner:
		a.rec.Sooner = now + s.cfg.Lead
		s.wish(a, "its sites are asked whether it may begin sooner")
	default:
		s.wake(a, a.sooner)
	}
	s.moveAll(a)
}

// mayBeSooner: none has arrived, and nobody asks a price, which may be another for another time.
func (a *allocation) mayBeSooner() bool {
	list := a.current()
	return count(list, func(p *grid.AllocatedPart) bool { return !p.Arrived && p.Price == 0 && p.Heard == grid.Bound }) == len(list)
}

// againSooner sets when sites are asked: each time later.
func (s *coallocation) againSooner(a *allocation) {
	a.sooner = s.wholes.instant() + min(s.cfg.Rest, s.cfg.Lead<<min(a.asks, 16))
	a.asks++
	s.wake(a, a.sooner)
}

// wish has all reservations of a round be where they are to be now.
func (s *coallocation) wish(a *allocation, why string) {
	for _, p := range a.current() {
		p.Wish++
		delete(a.said, saying{sayChange, p.Reservation})
	}
	s.save(a, why)
}

// stay puts back what was to begin sooner.
func (s *coallocation) stay(a *allocation, why string) {
	a.rec.Sooner = 0
	s.againSooner(a)
	s.wish(a, why)
}

// starts is when a reservation is to begin, by the clock of its site.
func (a *allocation) starts(p *grid.AllocatedPart) grid.Tick {
	if a.rec.Sooner > 0 {
		return up(a.rec.Sooner + p.Offset)
	}
	return p.Start
}

// moveAll says where reservations are to begin that begin elsewhere, and takes up what all have come to.
func (s *coallocation) moveAll(a *allocation) {
	list := a.inOrder()
	for _, p := range list {
		if start := a.starts(p); p.Wish > 0 && p.Begins != start && s.repeat(a, sayChange, p.Reservation) {
			s.wholes.say(p.Peer, wire.Change{ID: p.Reservation, Number: p.Wish, For: p.Job, Start: start, End: p.End, Move: true, Sent: s.wholes.instant()})
		}
	}
	if a.rec.Sooner == 0 || count(list, func(p *grid.AllocatedPart) bool { return p.Begins == a.starts(p) }) < len(list) {
		return
	}
	for _, p := range list {
		p.Start = p.Begins
	}
	a.rec.Start, a.rec.Sooner = a.rec.Sooner, 0
	s.save(a, "all sites let it begin sooner")
	s.wholes.tell(a.rec.Of, "it begins sooner than was planned", a.rec.Start)
}

// onMoved is a site's word on where a reservation begins. It counts when the site has taken the last wish, and its batch
// system is through with that: what is told until then is the place from which it may still be moved.
func (s *coallocation) onMoved(a *allocation, p *grid.AllocatedPart, r grid.Reservation, no *grid.Refusal) {
	if p.Round != a.rec.Round || p.Wish == 0 {
		return
	}
	s.stale[a.rec.Of] = true
	if r.Start != 0 && r.Number >= p.Wish && r.Holding != grid.Changing && r.Start != p.Begins {
		p.Begins = r.Start
		s.save(a, "")
	}
	if no != nil && a.rec.Sooner > 0 && p.Begins != a.starts(p) {
		s.stay(a, fmt.Sprintf("%s does not let it begin sooner: %s", p.Site, clip(no.Reason)))
	}
}
