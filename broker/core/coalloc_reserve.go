package core

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// Reservations, at the home of the whole. They are asked for one after the other, in the order of the sites'
// identities, which is the same at all homes: of two homes that want the same nodes of two sites one is first at
// the first site, and the other has nothing yet. Only when all are tentative it is decided, on disk, to
// confirm them; from then on each is confirmed again and again, which renews its lease.

// begin makes a round of a choice.
func (s *coallocation) begin(a *allocation, r *grid.Record, q *asking, got plan.Allocated) {
	a.rec.Round++
	a.own.round++
	a.own.part += len(got.Parts)
	a.rec.Start, a.rec.End, a.rec.Go, a.rec.Begun, a.rec.Sooner = got.Start, got.Until, 0, 0, 0
	a.sooner, a.asks = 0, 0
	clear(a.heard)
	a.rec.Last = s.lastNumber(a)
	s.settled(a)
	var sites []string
	stamp := s.wholes.newStamp()
	for rank, part := range got.Parts {
		at := slices.IndexFunc(q.sites, func(x reachable) bool { return x.name == part.Site })
		o := q.told[q.sites[at].peer]
		a.rec.Last++
		id := a.rec.PartID(a.rec.Last)
		p := grid.AllocatedPart{
			Round: a.rec.Round, Rank: rank, Site: part.Site, Peer: q.sites[at].peer, Processes: part.Processes,
			Demand: demandOf(&r.Job, part.Processes), Start: up(got.Start + o.offset), End: up(got.Until + o.offset), Offset: o.offset,
			Job: id, Reservation: grid.ReservationFor(id, stamp), Limit: got.Limit,
		}
		for _, n := range part.Nodes {
			p.Nodes = append(p.Nodes, n.Node)
		}
		p.Price, p.Cores = rateOf(&part)
		s.reserved[p.Reservation] = a.rec.Of
		a.rec.Parts = append(a.rec.Parts, p)
		sites = append(sites, fmt.Sprintf("%s %d", part.Site, part.Processes))
	}
	why := "reserving: " + strings.Join(sites, ", ")
	for _, p := range a.current() {
		// To wait for the uplink would hold nodes up that are free, round after round: inputs that come late have the grace.
		if no := s.wholes.deliver(a.rec.Of, p.Job, p.Peer, got.Start); no != nil {
			why += "; its inputs have no rate of their own: " + words(no)
		}
	}
	s.become(a, grid.Reserving, why)
	s.wholes.tell(a.rec.Of, why, a.rec.Start)
}

// settled forgets the parts of which nothing is left, with what was said of them.
func (s *coallocation) settled(a *allocation) {
	a.rec.Parts = slices.DeleteFunc(slices.Clone(a.rec.Parts), func(p grid.AllocatedPart) bool {
		if p.Settled() {
			delete(s.reserved, p.Reservation)
			maps.DeleteFunc(a.said, func(of saying, _ repeated) bool { return of.of == p.Reservation })
		}
		return p.Settled()
	})
}

// rateOf is what a part pays for, and how much for each.
func rateOf(part *plan.AllocatedPart) (price float64, cores int) {
	for _, n := range part.Nodes {
		price, cores = max(price, n.Price), cores+n.Cores
	}
	return price, cores
}

// up is the next whole second: batch systems keep no more.
func up(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }

// demandOf is what a part with so many processes of the whole asks for: as many of its pieces, on whole nodes.
func demandOf(j *grid.Job, processes int) grid.Demand {
	d := j.Demand
	d.Exclusive, d.Chunks = true, slices.Clone(d.Chunks[:1])
	d.Chunks[0].Count = max(1, processes/max(1, d.Chunks[0].Processes))
	return d
}

// inOrder are the parts of the round in the one order of sites.
func (a *allocation) inOrder() []*grid.AllocatedPart {
	list := a.current()
	slices.SortFunc(list, func(x, y *grid.AllocatedPart) int { return cmp.Compare(x.Peer, y.Peer) })
	return list
}

func isTentative(p *grid.AllocatedPart) bool { return p.Heard == grid.Tentative }

func isConfirmed(p *grid.AllocatedPart) bool { return p.Heard >= grid.Confirmed && !p.Heard.Over() }

// reserve asks for the next one, and decides when all are there.
func (s *coallocation) reserve(a *allocation) {
	list := a.inOrder()
	if s.wholes.beforeConfirming(count(list, isTentative), len(list)) == open {
		for _, p := range list {
			if no := s.wholes.placeLien(a.rec.Of, p); no != nil {
				s.abandon(a, fmt.Sprintf("%s: %s", p.Site, words(no)))
				return
			}
		}
		s.become(a, grid.Confirming, "all are reserved: confirming")
		return
	}
	for _, p := range list {
		switch {
		case p.Heard.Over():
			s.abandon(a, fmt.Sprintf("%s does not hold its nodes", p.Site))
			return
		case p.Heard == 0:
			s.reserveAt(a, p)
			return
		}
	}
}

func (s *coallocation) reserveAt(a *allocation, p *grid.AllocatedPart) {
	now := s.wholes.instant()
	r, _ := s.wholes.whole(a.rec.Of)
	if said := a.said[saying{sayReserve, p.Reservation}]; said.since != 0 && now-said.since > s.cfg.Limit/2 {
		s.refusedBy(a, p, "no answer")
		return
	}
	if !p.Asked {
		p.Asked = true
		s.save(a, "")
	}
	if s.repeat(a, sayReserve, p.Reservation) {
		s.wholes.say(p.Peer, wire.Reserve{
			ID: p.Reservation, Holder: r.Job.User, For: p.Job, What: grid.NodesReserved, Nodes: p.Nodes, Queue: r.Job.Queue,
			From: p.Start, Until: p.End, Length: p.End - p.Start, Limit: s.cfg.Limit, Grace: s.cfg.Grace, Fee: feeOf(&r.Job), Sent: now,
		})
	}
}

// refusedBy gives the round up, and remembers what there is not.
func (s *coallocation) refusedBy(a *allocation, p *grid.AllocatedPart, why string) {
	a.rec.Refused = append(slices.Clone(a.rec.Refused), grid.RefusedSlot{
		Peer: p.Peer, Nodes: p.Nodes, Start: p.Start, End: p.End, At: s.wholes.instant(), Why: clip(why),
	})
	if n := len(a.rec.Refused); n > mostRefused {
		a.rec.Refused = a.rec.Refused[n-mostRefused:]
	}
	s.abandon(a, fmt.Sprintf("%s refused: %.200s", p.Site, why))
}

// mostRefused bounds the slots that are remembered as refused.
const mostRefused = 64

// confirm says so to each, until all have heard.
func (s *coallocation) confirm(a *allocation) {
	list := a.current()
	if count(list, isConfirmed) == len(list) {
		s.become(a, grid.Staging, "confirmed: the parts go to their sites")
		return
	}
	for _, p := range list {
		if p.Heard.Over() {
			s.abandon(a, fmt.Sprintf("%s does not hold its nodes any more", p.Site))
			return
		}
		if !isConfirmed(p) && s.repeat(a, sayConfirm, p.Reservation) {
			s.confirmAt(p)
		}
	}
	s.lateAt(a, "not all sites confirmed in time")
}

func (s *coallocation) confirmAt(p *grid.AllocatedPart) {
	s.wholes.say(p.Peer, wire.Confirm{ID: p.Reservation, Lease: s.cfg.Lease, Sent: s.wholes.instant()})
}

// renew renews the leases of a round that goes on.
func (s *coallocation) renew(a *allocation) {
	if a.rec.State < grid.Staging || a.rec.State > grid.Together {
		return
	}
	now := s.wholes.instant()
	for _, p := range a.current() {
		key := saying{sayConfirm, p.Reservation}
		if p.Begun || !isConfirmed(p) {
			continue
		}
		if r := a.said[key]; r.next <= now {
			a.said[key] = repeated{next: now + s.cfg.Lease/3}
			s.confirmAt(p)
		}
		s.wake(a, a.said[key].next)
	}
}

// lateAt gives the round up when its start and grace have passed, or the grace of a part that came before the start: its limit
// has no more. It does not wait so long for a site that is silent.
func (s *coallocation) lateAt(a *allocation, why string) {
	end := min(a.rec.Start+s.cfg.Grace, s.patience(a))
	if a.rec.State == grid.GivingUp {
		return
	}
	if p, until := s.silent(a); until < end {
		end, why = until, fmt.Sprintf("nothing was heard of %s for as long as it holds its nodes without a word", p.Site)
	}
	if s.wholes.instant() < end {
		s.wake(a, end)
	} else {
		s.abandon(a, why)
	}
}

// silent is the part of whose reservation nothing was heard for the longest, and when it is gone: each Confirm is
// answered, and without one a site lets it go when its lease is over.
func (s *coallocation) silent(a *allocation) (part *grid.AllocatedPart, until grid.Tick) {
	until = grid.Tick(math.MaxInt64)
	for _, p := range a.current() {
		if a.heard[p.Reservation] == 0 {
			a.heard[p.Reservation] = s.wholes.instant()
		}
		if end := a.heard[p.Reservation] + s.cfg.Lease; end < until {
			part, until = p, end
		}
	}
	return part, until
}

// patience is until when parts that wait at the barrier have time for the others.
func (s *coallocation) patience(a *allocation) grid.Tick {
	end := grid.Tick(math.MaxInt64)
	for _, p := range a.current() {
		if r := s.wholes.part(p.Job); r != nil && r.Arrived > 0 && !p.Begun {
			end = min(end, r.Arrived+s.cfg.Grace)
		}
	}
	return end
}

// onReserved is a site's word on what it was asked.
func (s *coallocation) onReserved(from grid.PeerID, m wire.Reserved) {
	a, p := s.holder(from, m.Reservation.ID)
	if p == nil {
		return
	}
	a.heard[p.Reservation] = s.wholes.instant()
	refused := m.Of == wire.KindReserve && m.Refusal != nil && (m.Reservation.State == 0 || m.Reservation.State.Over())
	if refused && p.Heard == 0 && p.Heard.Become(grid.Released, grid.Unnumbered) == nil {
		if a.rec.State == grid.Reserving && p.Round == a.rec.Round {
			s.refusedBy(a, p, m.Refusal.Reason)
		} else {
			s.save(a, "")
		}
		s.stale[a.rec.Of] = true
		return
	}
	if m.Of == wire.KindReserve && m.Reservation.State == grid.Tentative {
		s.priced(a, p, m.Reservation.Price)
	}
	if m.Of == wire.KindChange {
		s.onMoved(a, p, m.Reservation, m.Refusal)
	}
	state := m.Reservation.State
	if state == 0 && (m.Of == wire.KindRelease || m.Of == wire.KindConfirm) {
		state = grid.Released // it has none of that name
	}
	s.heardOf(a, p, state, m.Reservation.Reason)
}

// priced takes the rate at which a part is reserved, and which stays. It is no more than is paid: else the site has said so.
func (s *coallocation) priced(a *allocation, p *grid.AllocatedPart, rate float64) {
	p.Price = rate
	whole, _ := s.wholes.whole(a.rec.Of)
	if whole == nil || p.Round != a.rec.Round || a.rec.State != grid.Reserving {
		return
	}
	if fee := feeOf(&whole.Job); fee > 0 && rate > fee {
		s.refusedBy(a, p, words(dearer(fee, rate)))
	}
}

// onReservationWord is a site's word on what became of one; what was heard is saved in the same step, in which the
// machine of holdings acknowledges it.
func (s *coallocation) onReservationWord(from grid.PeerID, m wire.ReservationWord) {
	if a, p := s.holder(from, m.Reservation.ID); p != nil {
		a.heard[p.Reservation] = s.wholes.instant()
		s.onMoved(a, p, m.Reservation, nil)
		s.heardOf(a, p, m.Reservation.State, m.Reservation.Reason)
	}
}

// holds tells that a reservation of a site is one of a part.
func (s *coallocation) holds(site grid.PeerID, id grid.ReservationID) bool {
	_, p := s.holder(site, id)
	return p != nil
}

func (s *coallocation) holder(from grid.PeerID, id grid.ReservationID) (*allocation, *grid.AllocatedPart) {
	a := s.all[s.reserved[id]]
	if a == nil {
		return nil, nil
	}
	for i := range a.rec.Parts {
		if p := &a.rec.Parts[i]; p.Reservation == id && p.Peer == from {
			return a, p
		}
	}
	return nil, nil
}

// heardOf takes a state, if there is such a move by words that may be of before.
func (s *coallocation) heardOf(a *allocation, p *grid.AllocatedPart, state grid.ReservationState, why string) {
	s.stale[a.rec.Of] = true
	if state == p.Heard || p.Heard.Become(state, grid.Unnumbered) != nil {
		return
	}
	if isConfirmed(p) {
		a.said[saying{sayConfirm, p.Reservation}] = repeated{next: s.wholes.instant() + s.cfg.Lease/3}
	}
	text := ""
	if state.Over() && p.Round == a.rec.Round && a.rec.State < grid.Over {
		text = fmt.Sprintf("%s: its reservation is %v: %s", p.Site, state, clip(why))
	}
	s.save(a, text)
}
