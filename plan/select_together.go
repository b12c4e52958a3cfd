package plan

import (
	"slices"

	"gbroker/grid"
)

// A demand of several chunks. The sweep of each chunk tells when its own pieces have room,
// were the others not there. At an instant at which all have, they are placed; where they
// do not fit beside one another it goes on to the next start of a slot. The sweeps alone do not
// tell it: a node that goes from two free cores to four is worth one piece of two cores to a chunk of one
// such piece, before and after.

// together is the first instant at which a place for all chunks is found.
func (o *offers) together(w *Wanted, sweeps []*sweep) (at grid.Tick, ok bool) {
	at = -endless
	for {
		at, ok = eachHasRoom(sweeps, at)
		if !ok {
			return 0, false
		}
		if _, ok := o.placeChunks(sweeps[0], at, at+sweeps[0].length); ok {
			return at, true
		}
		at = min(sweeps[0].opens(), o.nextStart(at))
		if at >= sweeps[0].before {
			return 0, false
		}
	}
}

// nextStart is the next instant after t at which a slot begins that the demand might use.
func (o *offers) nextStart(t grid.Tick) grid.Tick {
	i, _ := slices.BinarySearch(o.starts, t+1)
	if i == len(o.starts) {
		return endless
	}
	return o.starts[i]
}

// allStarts are the instants at which the slots begin that the demand might use, in order.
func (o *offers) allStarts() (all []grid.Tick) {
	for i := range o.market.nodes {
		n := &o.market.nodes[i]
		if !slices.ContainsFunc(o.chunks, func(c chunkOffers) bool { return c.mayUse(n) }) {
			continue
		}
		for _, p := range o.market.parts[n.first:n.end] {
			if p.price <= o.fee {
				all = append(all, p.start)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// eachHasRoom is the first instant from one on at which each chunk for itself has room.
func eachHasRoom(sweeps []*sweep, at grid.Tick) (_ grid.Tick, ok bool) {
	for agreed := 0; agreed < len(sweeps); {
		agreed = 0
		for _, s := range sweeps {
			t, ok := s.reach(at)
			if !ok {
				return 0, false
			}
			if t == at {
				agreed++
			}
			at = t
		}
	}
	return at, true
}

// reach is the first instant from one on at which enough pieces have room. Instants ascend.
func (s *sweep) reach(t grid.Tick) (at grid.Tick, ok bool) {
	s.advance(t)
	if s.count >= s.wanted && t < s.before {
		return t, true
	}
	s.most = min(s.most, s.wanted-1)
	return s.run()
}

// advance reads all that comes up to an instant, and goes before it.
func (s *sweep) advance(t grid.Tick) {
	for {
		s.fillStarts()
		s.fillEnds()
		a, b, opens := s.starts.events[s.starts.next].at, s.ends.events[s.ends.next].at, s.opens()
		switch {
		case opens <= min(a, b, t) && opens < s.before:
			s.count += s.open()
		case a <= min(b, t):
			s.count += s.starts.pieces(s.starts.next)
			s.starts.next++
		case b < min(a, t):
			s.count -= s.ends.pieces(s.ends.next)
			s.ends.next++
		default:
			return
		}
	}
}
