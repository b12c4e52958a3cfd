package plan

import (
	"gbroker/grid"
	"gbroker/steps"
)

// line is what is free on one node over time.
type line = steps.Line[grid.Tick]

// vacancy is what is free over time: of each node, and of the whole site.
type vacancy struct {
	lines   []line
	profile profile
	busy    *buckets // nil at a site of few nodes, and before the first search
}

// seeker finds when and where a work has room beside all that is on the lines. It
// keeps its memory from one search to the next.
type seeker struct {
	vacancy
	placer  *placer
	maybe   set    // nodes of which it is not known that they have no room
	blocked agenda // the others, by the instant from which they may have some
	look    set
}

func newSeeker(g *ground, v vacancy) seeker {
	return seeker{vacancy: v, placer: newPlacer(g), maybe: newSet(len(g.nodes)), look: newSet(len(g.nodes))}
}

// first finds the first instant from one on from which a work has room for its whole
// limit, and the first nodes that have it; never where there is none.
func (s *seeker) first(w *work, from grid.Tick) grid.Tick {
	s.prepare(w)
	for t := s.profile.next(from, w.cores, w.limit); t != never; t = s.profile.next(t, w.cores, w.limit) {
		if s.placeAt(w, t) {
			return t
		}
		if t = s.profile.after(t); t == never {
			break
		}
	}
	return never
}

// prepare begins to place a work at instants that ascend.
func (s *seeker) prepare(w *work) {
	copy(s.maybe, w.class.nodes)
	s.blocked = s.blocked[:0]
}

// placeAt finds a place for a work from t to the end of its limit. A node on which
// something is in the way is looked at again when that has ended.
func (s *seeker) placeAt(w *work, t grid.Tick) bool {
	for s.blocked.first() <= t {
		s.maybe.add(int(s.blocked.pop().id))
	}
	copy(s.look, s.maybe)
	if s.busy != nil {
		s.busy.without(s.look, t, t+w.limit)
	}
	s.placer.begin(w)
	for n := s.look.next(0); n >= 0; n = s.look.next(n + 1) {
		until := s.lines[n].Least(t, t+w.limit, s.placer.needs(n), s.placer.room)
		if until != 0 {
			s.maybe.drop(n)
			s.blocked.push(due{until, int32(n)})
		} else if s.placer.offer(n, s.placer.room) {
			return true
		}
	}
	return s.placer.placed()
}

// offer shows a node to the placer with what is free there throughout an interval.
func (s *seeker) offer(n int, from, to grid.Tick) bool {
	return s.lines[n].Least(from, to, s.placer.needs(n), s.placer.room) == 0 && s.placer.offer(n, s.placer.room)
}
