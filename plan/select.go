// # Slot selection
//
// [Lists.Select] finds the nodes of several sites that one parallel job can hold at the
// same time, as early as possible.
//
//	slots of all sites --NewMarket--> by node --Within(fee)--> merged, listed by start and by end
//	                                                              |
//	                              Selection or Lack <--Select-----+   one sweep for each speed class
//
// The sweep passes over both lists at once, after the published method: the next
// start adds one to the number of nodes that the job could have, every end that is
// too near takes one away, and the first instant at which P are left is the answer.
// Two things must be done before anything is counted. Slots of one node that touch
// are made one, or a job that runs across the seam would not be seen to fit. Slots
// shorter than the job are left out: such a one would be taken away before it was
// added.
//
// A process takes one node. What is said of a slot holds for the slot as merged: it
// has one price, that of the dearest part the job takes. Parts over the fee are left
// out before merging.
//
// With at most K sites and at least m processes at each: at one instant, with a(j)
// nodes free at site j, some set of sites will do if and only if the K' largest of
// those a(j) that are m or more add up to P, where K' = min(K, P/m). More sites could
// not be given m each, and any smaller number of processes from m up can be taken from
// a site that has more. So it is enough to keep the sites ordered by a(j) while it
// goes up and down by one, which one exchange of two places does (see ranking). This
// form too is exact and linear, for any K.
//
// All processes run as long as the slowest needs. For each speed s that some site has,
// fastest first, the sweep looks at the sites that are at least as fast, for T/s; the
// earliest end (or start) of all wins. The work is (speeds) x (slots), less what
// cannot beat the best so far.
//
// Only the instant is minimised. Of the nodes free at it the cheapest are taken; where
// K or m bind, the sites with the most free nodes are, and the cheapest nodes there.
package plan

import (
	"math"
	"slices"

	"gbroker/grid"
)

// SlotSite is what selection must know of a site.
type SlotSite struct {
	Name  grid.SiteName
	Speed float64 // 1.0 is the reference
}

// Wanted is what a job asks of the slots. All its processes run at once, for
// Walltime over the speed of the slowest site.
type Wanted struct {
	Now        grid.Tick
	Delivery   []grid.Tick // how long its files take to each site, in the order of the market's sites; nil is no time
	Margin     grid.Tick   // a slot is usable from Now + Delivery + Margin
	Processes  int
	Walltime   grid.Tick // at speed 1
	MaxSites   int       // at most so many sites; 0 is any number
	MinPerSite int       // at least so many processes at each site that takes part; 0 is 1
	FirstStart bool      // the earliest start is asked for rather than the earliest end
}

// Selection is the answer: all processes run from Start to End.
type Selection struct {
	Start, End grid.Tick
	Slots      []grid.Slot // one for each process, by site and node: whole, as merged, with the price asked for the part taken
	Cost       float64     // the sum of their prices
}

// Select finds the earliest end (or start) that the slots allow. Where there is
// none it says why. w must have passed its Check.
func (l *Lists) Select(w Wanted) (*Selection, *Lack) {
	b := l.search(w)
	if !b.found {
		return nil, l.lack(w, b)
	}
	return l.choose(w, b), nil
}

// best is the outcome of the sweeps over all speed classes.
type best struct {
	found      bool
	start, end grid.Tick
	sweep      *sweep // the one that found it
	most       int    // where none did: the most processes that could run at once,
	mostAt     grid.Tick
	mostLength grid.Tick // for so long
}

func (l *Lists) search(w Wanted) best {
	b := best{start: endless, end: endless}
	for _, speed := range l.market.speeds {
		s := newSweep(l, w, speed)
		if b.found {
			s.before = b.start
			if !w.FirstStart {
				s.before = b.end - s.length
			}
		}
		at, ok := s.run()
		switch {
		case ok:
			b.found, b.start, b.end, b.sweep = true, at, at+s.length, s
		case s.most > b.most:
			b.most, b.mostAt, b.mostLength = s.most, s.mostAt, s.length
		}
	}
	return b
}

// runTime is how long a job of that walltime runs at that speed; as the broker reckons.
func runTime(walltime grid.Tick, speed float64) grid.Tick {
	return max(1, grid.FromSeconds(walltime.Seconds()/speed))
}

// usable is from when on the slots of site j can be used.
func (w *Wanted) usable(j int) grid.Tick {
	at := w.Now + w.Margin
	if w.Delivery != nil {
		at += w.Delivery[j]
	}
	return at
}

// sites is K', the number of sites that may take part.
func (w *Wanted) sites(all int) int {
	k := all
	if w.MinPerSite > 1 {
		k = min(k, w.Processes/w.MinPerSite)
	}
	if w.MaxSites > 0 && w.MaxSites < w.Processes { // P nodes never lie at more than P sites
		k = min(k, w.MaxSites)
	}
	return k
}

// free is a node that the job could have at the chosen instant.
type free struct {
	stretch
	price float64
}

// choose takes the nodes at the instant that was found.
func (l *Lists) choose(w Wanted, b best) *Selection {
	bySite := make([][]free, len(l.market.sites))
	for _, a := range l.byStart {
		if a.start > b.start {
			break
		}
		if b.sweep.from[a.site] <= b.start && a.end >= b.end {
			bySite[a.site] = append(bySite[a.site], free{a, l.price(a, b.start, b.end)})
		}
	}
	taken := cheapest(w, bySite)
	slices.SortFunc(taken, func(x, y free) int { return int(x.part) - int(y.part) }) // by site and node
	out := &Selection{Start: b.start, End: b.end, Slots: make([]grid.Slot, 0, len(taken))}
	for _, f := range taken {
		n := l.market.nodes[l.market.parts[f.part].node]
		out.Slots = append(out.Slots, grid.Slot{Site: l.market.sites[n.site].Name, Node: n.name, Start: f.start, End: f.end, Price: f.price})
		out.Cost += f.price
	}
	return out
}

// cheapest chooses among the free nodes of each site.
func cheapest(w Wanted, bySite [][]free) []free {
	for _, at := range bySite {
		slices.SortFunc(at, cheaper)
	}
	least := max(w.MinPerSite, 1)
	k := w.sites(len(bySite))
	if k < len(bySite) || least > 1 {
		slices.SortStableFunc(bySite, func(x, y []free) int { return len(y) - len(x) })
		bySite = bySite[:k]
	}
	var taken, rest []free
	for _, at := range bySite {
		switch {
		case len(at) < least:
		case least > 1:
			taken, rest = append(taken, at[:least]...), append(rest, at[least:]...)
		default:
			rest = append(rest, at...)
		}
	}
	slices.SortFunc(rest, cheaper)
	return append(taken, rest[:w.Processes-len(taken)]...)
}

func cheaper(x, y free) int {
	switch {
	case x.price < y.price:
		return -1
	case x.price > y.price:
		return 1
	}
	return int(x.part) - int(y.part)
}

// AnyFee is the fee of a job for which no slot is too dear.
var AnyFee = math.Inf(1)
