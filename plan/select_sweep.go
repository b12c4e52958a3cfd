package plan

import (
	"slices"

	"gbroker/grid"
)

// sweep is one pass over both lists of a chunk, for the sites of one speed class. It
// allocates nothing for a slot.
//
// What decides about a single slot is reckoned as 0 or 1 instead of branched upon:
// the processor would foresee about half of such branches wrongly, each at the cost
// of all the rest.
type sweep struct {
	length grid.Tick   // of the job
	from   []grid.Tick // by site: from when its slots are usable; endless for one that is too slow
	before grid.Tick   // nothing from here on is asked for
	wanted int         // pieces

	ranking *ranking // where the number of sites matters; else nil

	// Slots that began before their site is usable are kept until it is: the sites in
	// the order in which that happens, the next of them, and the pieces of each.
	order   []int32
	next    int
	pending []int

	starts, ends feed
	worth        []int32
	count        int // pieces that have room

	most   int // how many pieces had room at once, at best, and from when on
	mostAt grid.Tick
}

// feed is the next few instants of one list at which room comes or goes, of the
// stretches that count. The last is endless.
type feed struct {
	list   [][]stretch     // blocks
	events [feedSize]event // the first is of no time
	used   int             // how many there are
	next   int
}

// event is room that comes or goes.
type event struct {
	at   grid.Tick
	sum  int32 // of the pieces up to and with it
	site int32
}

const feedSize = 256 // a power of two

// pieces is those of the i-th.
func (f *feed) pieces(i int) int {
	return int(f.events[i&(feedSize-1)].sum - f.events[(i-1)&(feedSize-1)].sum)
}

func newSweep(c *chunkOffers, m *Market, w *Wanted, speed float64) *sweep {
	n := len(m.sites)
	s := &sweep{
		length: w.length(speed), before: endless, wanted: c.Count,
		from: make([]grid.Tick, n), order: make([]int32, n), pending: make([]int, n),
	}
	for j, g := range m.sites {
		s.order[j] = int32(j)
		s.from[j] = endless
		if g.site.Speed >= speed {
			s.from[j] = w.usable(j)
		}
	}
	slices.SortFunc(s.order, func(a, b int32) int { return less(s.from[b], s.from[a]) - less(s.from[a], s.from[b]) })
	if k := w.sites(c.Count, n); k < n || w.MinPerSite > 1 {
		s.ranking = newRanking(n, c.widest, k, max(w.MinPerSite, 1))
	}
	s.starts.list, s.ends.list, s.worth = c.byStart.blocks, c.byEnd.blocks, c.worth
	return s
}

// less is 1 where a < b, else 0, for instants whose difference does not overflow.
func less(a, b grid.Tick) int { return int(uint64(a-b) >> 63) }

// run goes on to the next instant, after what was read, at which enough pieces have room
// for long enough and more than before.
//
//	starts  next: room comes at  a
//	ends    next: room goes after b      the least of the three is taken; of equals first
//	opens   a site becomes usable        the site, then the start, then the end
func (s *sweep) run() (at grid.Tick, ok bool) {
	count, most, opens := s.count, s.most, s.opens()
	starts, ends, simple := &s.starts, &s.ends, s.ranking == nil
	for {
		s.fillStarts()
		s.fillEnds()
		i, e := starts.next, ends.next
		if simple {
			i, e, count = s.leap(count, most, opens)
		}
		for i < starts.used && e < ends.used {
			a, b := starts.events[i&(feedSize-1)].at, ends.events[e&(feedSize-1)].at
			now := a
			if min(a, b) >= opens {
				if opens >= s.before {
					return 0, false
				}
				count += s.open()
				now, opens = opens, s.opens()
			} else {
				goes := less(b, a)
				if simple {
					comes := starts.pieces(i)
					count += comes - goes*(comes+ends.pieces(e))
				} else {
					count += s.rank(i, e, goes)
				}
				e += goes
				i += 1 - goes
			}
			if count > most {
				most, s.most, s.mostAt = count, count, now
				if count >= s.wanted {
					starts.next, ends.next, s.count = i, e, count
					return now, true
				}
			}
		}
		starts.next, ends.next = i, e
	}
}

// leap passes over several starts at a time while these cannot bring the pieces above
// the most so far, and no site becomes usable before the last.
func (s *sweep) leap(count, most int, opens grid.Tick) (i, e, after int) {
	const several = 16
	starts, ends := &s.starts, &s.ends
	i, e = starts.next, ends.next
	for i+several <= starts.used {
		last := &starts.events[(i+several-1)&(feedSize-1)]
		comes := int(last.sum - starts.events[(i-1)&(feedSize-1)].sum)
		if count+comes > most || last.at >= opens {
			break
		}
		first := e
		for e < ends.used && ends.events[e&(feedSize-1)].at < last.at {
			e++
		}
		count -= int(ends.events[(e-1)&(feedSize-1)].sum - ends.events[(first-1)&(feedSize-1)].sum)
		if e == ends.used { // the rest of those that go is not read yet
			break
		}
		i += several
		count += comes
	}
	return i, e, count
}

// rank counts the room that comes or goes, and tells by how much the pieces change.
func (s *sweep) rank(i, e, goes int) (change int) {
	comes := s.starts.pieces(i)
	pieces := comes + (s.ends.pieces(e)-comes)*goes
	a, b := s.starts.events[i&(feedSize-1)].site, s.ends.events[e&(feedSize-1)].site
	site := a ^ (a^b)&-int32(goes)
	for range pieces {
		change += s.ranking.change(site, goes)
	}
	return change
}

// opens is when the next site becomes usable; if none does in time, when to stop.
func (s *sweep) opens() grid.Tick {
	if s.next == len(s.order) {
		return s.before
	}
	return min(s.before, s.from[s.order[s.next]])
}

// open counts what waited for the next site to become usable.
func (s *sweep) open() (change int) {
	site := s.order[s.next]
	s.next++
	if s.ranking == nil {
		return s.pending[site]
	}
	for range s.pending[site] {
		change += s.ranking.change(site, 0)
	}
	return change
}

// fillStarts reads on in the list by start.
func (s *sweep) fillStarts() {
	f := &s.starts
	if f.next < f.used {
		return
	}
	n, sum := 1, int32(0)
	block := f.block()
	for i := range block {
		a := &block[i]
		from := s.from[a.site]
		fits := 1 - less(a.end-max(a.start, from), s.length)
		early := fits & less(a.start, from)
		pieces := s.worth[a.size]
		s.pending[a.site] += early * int(pieces)
		counts := fits &^ early
		sum += pieces & -int32(counts)
		f.events[n&(feedSize-1)] = event{a.start, sum, a.site}
		n += counts
	}
	if len(f.list) == 0 || f.list[0][0].start >= s.before {
		f.list = nil
	}
	f.end(n, f.list == nil)
}

// block is the next one.
func (f *feed) block() []stretch {
	if len(f.list) == 0 {
		return nil
	}
	block := f.list[0]
	f.list = f.list[1:]
	return block
}

// end ends what was read: with an endless one, if that is all.
func (f *feed) end(n int, all bool) {
	if all {
		f.events[n] = event{at: endless, sum: f.events[n-1].sum}
		n++
	}
	f.used, f.next = n, 1
}

// fillEnds reads on in the list by end. It passes over the same slots as fillStarts.
func (s *sweep) fillEnds() {
	f := &s.ends
	if f.next < f.used {
		return
	}
	n, sum := 1, int32(0)
	block := f.block()
	for i := range block {
		b := &block[i]
		fits := 1 - less(b.end-max(b.start, s.from[b.site]), s.length)
		sum += s.worth[b.size] & -int32(fits)
		f.events[n&(feedSize-1)] = event{b.end - s.length, sum, b.site}
		n += fits
	}
	f.end(n, len(f.list) == 0)
}
