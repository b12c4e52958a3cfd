// # Slot selection
//
// [Market.Select] finds the nodes of several sites on which one parallel job can run at
// the same time, as early as possible.
//
//	slots of all sites --NewMarket--> by node --demand, fee--> stretches, listed by start and by end
//	                                                              |
//	                               Selection or Lack <------------+   one sweep for each speed class
//
// What a slot has is compared with the pieces of the job's demand, as [Plan] does it:
// cores, memory, named resources, and the kind of its node; where whole nodes are asked
// for, only a slot of all of its node counts.
//
// The sweep passes over both lists at once, after the published method: the next start
// adds the pieces that have room from then on, every end that is too near takes its own
// away, and the first instant at which enough are left is the answer. Two things must be
// done before anything is counted. The slots of one node that touch are made one wall
// ([stretch]), or a job that runs across a seam would not be seen to fit. Stretches shorter
// than the job are left out: such a one would be taken away before it was added.
//
// What a node has for a job is what it has throughout, within the fee. Its price is that of
// the dearest slot the job takes of it. Where a node has a cheaper and a dearer slot for the
// same time, as much is taken of the cheaper as it has. Slots over the fee are left out
// before anything else.
//
// With at most K sites and at least m pieces at each: at one instant, with room for a(j)
// pieces at site j, some set of sites will do if and only if the K' largest of those a(j)
// that are m or more add up to P, where K' = min(K, P/m). More sites could not be given m
// each, and any smaller number of pieces from m up can be taken from a site that has more.
// That sum needs no order of the sites: it is enough to know how many have more than v, for
// each v, while a(j) goes up and down by one (see ranking). This form too is exact and linear
// (in the slots and the pieces they hold), for any K. It is for demands of one chunk.
//
// Where there are several chunks, each has a sweep of its own, and at the instants at
// which all have room the chunks are placed, from the largest pieces to the smallest, each
// on the cheapest nodes with room: as with [Plan], a tight packing may be missed.
//
// The whole job runs as long as its slowest site needs. For each speed s that some site has,
// fastest first, the sweep looks at the sites that are at least as fast, for T/s; the
// earliest end (or start) of all wins. The work is (speeds) x (slots), less what
// cannot beat the best so far.
//
// Only the instant is minimised. Of what is free at it the cheapest is taken, slot by slot;
// where K or m bind, the sites with the most room are, and the cheapest slots there.
package plan

import (
	"math"

	"gbroker/grid"
)

// Wanted is what a job asks of the slots. All its pieces run at once, for Walltime over
// the speed of the slowest site.
type Wanted struct {
	Demand     grid.Demand
	Fee        float64 // what costs more is left out; AnyFee is nothing
	Now        grid.Tick
	Delivery   []grid.Tick // how long its files take to each site, in the order of the market's sites; nil is no time
	Margin     grid.Tick   // a slot is usable from Now + Delivery + Margin
	Walltime   grid.Tick   // at speed 1
	MaxSites   int         // at most so many sites; 0 is any number
	MinPerSite int         // at least so many pieces at each site that takes part; 0 is 1
	FirstStart bool        // the earliest start is asked for rather than the earliest end
	// ToLimit keeps the nodes for the kill limit, which is never below Walltime, and Extra more,
	// however soon the job is believed to end.
	ToLimit bool
	Extra   grid.Tick
}

// AnyFee is the fee of a job for which no slot is too dear.
var AnyFee = math.Inf(1)

// Selection is the answer: the whole job runs from Start to End.
type Selection struct {
	Start, End grid.Tick
	Taken      []Taken // by site and node
	Cost       float64 // of all cores that are held, for as long as they are
}

// Taken is what the job takes of one node: so many processes with so much. The times of the
// slot are those for which so much could be had there.
type Taken struct {
	grid.Slot
	Processes int
}

// Select finds the earliest end (or start) that the slots allow. Where there is none it
// says why. w must have passed its Check.
func (m *Market) Select(w Wanted) (*Selection, *Lack) {
	o := m.offersFor(&w.Demand, w.Fee)
	b := o.search(&w)
	if !b.found {
		return nil, o.lack(&w)
	}
	return o.choose(&w, b), nil
}

// best is the outcome of the sweeps over all speed classes.
type best struct {
	found      bool
	start, end grid.Tick
	until      grid.Tick // so long the nodes are held
	sweep      *sweep    // the one that found it, of the first chunk
}

func (o *offers) search(w *Wanted) best {
	b := best{start: endless, end: endless}
	for _, speed := range o.market.speeds {
		sweeps := make([]*sweep, len(o.chunks))
		for i := range sweeps {
			sweeps[i] = newSweep(&o.chunks[i], o.market, w, speed)
			if b.found {
				sweeps[i].before = b.start
				if !w.FirstStart {
					sweeps[i].before = b.end - runTime(w.Walltime, speed)
				}
			}
		}
		if at, ok := o.run(w, sweeps); ok {
			b = best{true, at, at + runTime(w.Walltime, speed), at + sweeps[0].length, sweeps[0]}
		}
	}
	return b
}

// run finds the first instant for one speed class.
func (o *offers) run(w *Wanted, sweeps []*sweep) (at grid.Tick, ok bool) {
	if len(sweeps) == 1 {
		return sweeps[0].run()
	}
	return o.together(w, sweeps)
}

// runTime is how long a job of that walltime runs at that speed; as the broker reckons.
func runTime(walltime grid.Tick, speed float64) grid.Tick {
	return max(1, grid.FromSeconds(walltime.Seconds()/speed))
}

// limit is the kill limit of a job of that walltime at that speed.
func limit(walltime grid.Tick, speed float64) grid.Tick {
	return max(walltime, runTime(walltime, speed))
}

// length is for how long nodes are taken where the slowest has that speed.
func (w *Wanted) length(speed float64) grid.Tick {
	if w.ToLimit {
		return limit(w.Walltime, speed) + w.Extra
	}
	return runTime(w.Walltime, speed)
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
func (w *Wanted) sites(pieces, all int) int {
	k := all
	if w.MinPerSite > 1 {
		k = min(k, pieces/w.MinPerSite)
	}
	if w.MaxSites > 0 && w.MaxSites < pieces { // P pieces never lie at more than P sites
		k = min(k, w.MaxSites)
	}
	return k
}
