package plan

import (
	"slices"

	"gbroker/grid"
)

// sweep is one pass over both lists, for the sites of one speed class. It allocates
// nothing for a slot.
type sweep struct {
	length grid.Tick   // of the job
	from   []grid.Tick // by site: from when its slots are usable; endless for one that is too slow
	before grid.Tick   // nothing from here on is asked for
	wanted int

	count   int      // nodes that the job could have, from the present instant on
	ranking *ranking // counts in its stead where the number of sites matters

	// Slots that began before their site is usable are kept until it is: the sites in
	// the order in which that happens, the next of them, and how many slots each has.
	order   []int32
	next    int
	pending []int32

	most   int
	mostAt grid.Tick
}

func newSweep(l *Lists, w Wanted, speed float64) *sweep {
	m := l.market
	n := len(m.sites)
	s := &sweep{
		length: runTime(w.Walltime, speed), before: endless, wanted: w.Processes,
		from: make([]grid.Tick, n), order: make([]int32, n), pending: make([]int32, n),
	}
	for j, site := range m.sites {
		s.order[j] = int32(j)
		s.from[j] = endless
		if site.Speed >= speed {
			s.from[j] = w.usable(j)
		}
	}
	slices.SortFunc(s.order, func(a, b int32) int { return int(sign(s.from[a] - s.from[b])) })
	if k := w.sites(n); k < n || w.MinPerSite > 1 {
		s.ranking = newRanking(n, m.widest, k, max(w.MinPerSite, 1))
	}
	return s
}

func sign(t grid.Tick) grid.Tick { return max(-1, min(1, t)) }

// run finds the first instant at which enough nodes are free for long enough.
func (s *sweep) run(byStart, byEnd []stretch) (at grid.Tick, ok bool) {
	ended := 0
	for i := range byStart {
		a := &byStart[i]
		if a.start >= s.before {
			break
		}
		from := s.from[a.site]
		if a.end-max(a.start, from) < s.length {
			continue
		}
		if a.start < from {
			s.pending[a.site]++
			continue
		}
		for s.opens() <= a.start {
			if ended, ok = s.open(byEnd, ended); ok {
				return s.mostAt, true
			}
		}
		ended = s.leave(byEnd, ended, a.start)
		s.enter(a.site)
		if s.count > s.most {
			if s.most, s.mostAt = s.count, a.start; s.most >= s.wanted {
				return a.start, true
			}
		}
	}
	for s.opens() < s.before {
		if ended, ok = s.open(byEnd, ended); ok {
			return s.mostAt, true
		}
	}
	return 0, false
}

// opens is when the next site becomes usable.
func (s *sweep) opens() grid.Tick {
	if s.next == len(s.order) {
		return endless
	}
	return s.from[s.order[s.next]]
}

// open counts what waited for the next site to become usable.
func (s *sweep) open(byEnd []stretch, ended int) (now int, enough bool) {
	at, site := s.opens(), s.order[s.next]
	s.next++
	if s.pending[site] == 0 {
		return ended, false
	}
	ended = s.leave(byEnd, ended, at)
	for range s.pending[site] {
		s.enter(site)
	}
	if s.count > s.most {
		s.most, s.mostAt = s.count, at
	}
	return ended, s.most >= s.wanted
}

func (s *sweep) enter(site int32) {
	if s.ranking == nil {
		s.count++
		return
	}
	s.count = s.ranking.add(site)
}

// leave takes away the slots that end too soon for a start at that instant. It
// passes over the same slots that run passed over.
func (s *sweep) leave(byEnd []stretch, ended int, at grid.Tick) (now int) {
	for ended < len(byEnd) {
		b := &byEnd[ended]
		if b.end-s.length >= at {
			break
		}
		ended++
		if b.end-max(b.start, s.from[b.site]) < s.length {
			continue
		}
		if s.ranking == nil {
			s.count--
		} else {
			s.count = s.ranking.remove(b.site)
		}
	}
	return ended
}
