// # Co-allocation
//
// [Lookahead] chooses the sites of jobs that run at several sites at once. Each site
// offers whole nodes that the job may use, and when; on these the job's pieces are packed.
//
//	offers of sites ──► Market ──► the earliest end E (Select) ──► all speed classes that reach E
//	                                                                     │ what each site has then
//	         sites, nodes, processes, cost  ◄── the best set of sites ◄──┘
//	                 │
//	single sites ────┴──► several sites only where they end sooner by Gain
//
// A speed class s is the sites that are at least as fast: there the job takes T/s, so that
// the class reaches E from E-T/s on, and holds its nodes for its kill limit, max(T, T/s), which
// T/s may be below: speeds are only believed. Of all sets of sites of all classes
// that reach E (at most K of them, at least m processes at each) the best is the one
//
//  1. of the fewest sites,
//  2. whose worst link is the best,
//  3. that costs the least, by rate, cores and hours of what is held,
//  4. that holds its nodes for the shortest time,
//  5. that is the first by name.
//
// Sets are tried one by one up to [mostSets]; beyond, the sites with the most room
// are kept. Which nodes of a site are taken is decided by their price for each piece,
// larger ones first among equals: as with every packing, a cheaper one may be missed.
package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gbroker/grid"
)

// Wide is what a job asks that may run at several sites at once. Instants are by one clock.
type Wide struct {
	Demand   grid.Demand
	Now      grid.Tick
	Walltime grid.Tick // at speed 1
	MaxSites int       // at most so many; 0 is any number
	PerSite  int       // at least so many processes at each; 0 is 1
	Fee      float64   // what costs more per core and hour is left out; AnyFee is nothing
	Margin   grid.Tick // it starts no sooner than so long after the delivery
	Gain     grid.Tick // several sites are taken only if they end so much sooner than one
	Extra    grid.Tick // reservations are so much longer than the kill limit (grace, slack, rounding)
	// Link is how far two sites are from one another; nil is equally far. It is the same both ways.
	Link func(a, b grid.SiteName) grid.Tick
	// Meet tells of which sites the nodes reach each other, where all have to; nil is that they need not.
	Meet *Meets
}

// Offered is what one site has for such a job.
type Offered struct {
	Site     grid.Site
	Slots    []grid.Slot // of whole nodes, all of which the job may use; Site may be left out; Price is per core and hour
	Delivery grid.Tick   // how long its files take to the site
}

// Alone is one site that could run the whole job, as it says.
type Alone struct {
	Site       grid.SiteName
	Start, End grid.Tick
}

// Allocated is the answer: parts, or none and Why. It may be a part at one site alone, where reserved
// nodes end the job sooner than the site's queue would.
type Allocated struct {
	Start, End grid.Tick // as it is believed to run; End is told too where that gains too little
	Limit      grid.Tick // the kill limit of every part: the slowest site may need so long
	Until      grid.Tick // the end of the reservations, which begin at Start
	Parts      []AllocatedPart
	Cost       float64

	Best     *Alone   // the single site that would end the job first; nil is none
	Why      string   // there are no parts
	Unseen   bool     // there are none, and not all sets of sites were looked at: another cycle may find some
	Lack     *Lack    // where slots were lacking
	Rejected []string // offers that make no sense, one line for each site: they were left out
}

// AllocatedPart is what one site gives. Parts are in the order of the sites' names.
type AllocatedPart struct {
	Site      grid.SiteName
	Processes int
	Nodes     []Taken // all of each
	Cost      float64 // of the reservation
	taken     []int   // of the market
}

// Check says what makes no sense about w.
func (w *Wide) Check() error {
	if len(kinds(w.Demand.Chunks)) > 1 {
		return fmt.Errorf("pieces of %d kinds: only a demand of equal pieces can be spread over sites", len(kinds(w.Demand.Chunks)))
	}
	if w.PerSite < 0 || w.Gain < 0 || w.Gain > maxInstant || w.Extra < 0 || w.Extra > maxWalltime {
		return fmt.Errorf("at least %d processes per site, for a gain of %v s, with reservations %v s longer: 0 or more", w.PerSite, w.Gain.Seconds(), w.Extra.Seconds())
	}
	wanted := w.wanted(nil)
	return wanted.Check(0)
}

// kinds are the chunks of a demand, those of equal pieces made one.
func kinds(chunks []grid.Chunk) (out []grid.Chunk) {
	for _, c := range chunks {
		same := func(o grid.Chunk) bool {
			return o.Cores == c.Cores && o.Memory == c.Memory && o.Processes == c.Processes && slices.Equal(o.Resources, c.Resources)
		}
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Count += c.Count
		} else if c.Count > 0 {
			out = append(out, c)
		}
	}
	return out
}

// wanted is what is asked of the market of the offers. What the nodes must be besides, the
// sites have seen to.
func (w *Wide) wanted(offers []Offered) Wanted {
	out := Wanted{
		Demand: grid.Demand{Chunks: kinds(w.Demand.Chunks), Exclusive: true, DistinctNodes: w.Demand.DistinctNodes},
		Fee:    w.Fee, Now: w.Now, Margin: w.Margin, Walltime: w.Walltime,
		ToLimit: true, Extra: w.Extra, MaxSites: w.MaxSites, MinPerSite: w.PerSite,
	}
	if len(out.Demand.Chunks) > 0 {
		each := max(out.Demand.Chunks[0].Processes, 1)
		out.MinPerSite = (w.PerSite + each - 1) / each
	}
	for _, o := range offers {
		out.Delivery = append(out.Delivery, o.Delivery)
	}
	return out
}

// noneMeet is why a job gets no sites where those that have room for it do not all reach each other.
const noneMeet = "no sites whose nodes reach each other have room for it together, as their administrators declare it (batch.reach)"

// someMeet is why a job gets no sites where those that reach each other are too many to look at all of them.
const someMeet = "of the sites that have room for it, too many reach each other (batch.reach) to look at all sets of them at once: those that were looked at have no room for it together, and the next cycle looks at others"

// allocate chooses the sites of one job from what is left.
func (h *hall) allocate(w *Wide, wanted Wanted, alone []Alone, quiet bool) (out Allocated) {
	for i := range alone {
		if out.Best == nil || alone[i].End < out.Best.End {
			out.Best = &alone[i]
		}
	}
	o := h.offersFor(&wanted.Demand, wanted.Fee)
	asks, all := w.asks(wanted, o)
	b, first := o.earliest(asks)
	out.End = b.end
	switch {
	case !b.found && quiet:
		out.End = 0
	case !b.found && w.Meet != nil && o.search(&wanted).found:
		if out.End, out.Why = 0, noneMeet; !all {
			out.Why, out.Unseen = someMeet, true
		}
	case !b.found:
		out.End, out.Lack = 0, o.lack(&wanted)
		out.Why = out.Lack.String()
	case out.Best != nil && b.end > out.Best.End-max(w.Gain, 1):
		out.Why = fmt.Sprintf("several sites would end it at %v s, site %s alone at %v s: it takes a gain of %v s", b.end.Seconds(), out.Best.Site, out.Best.End.Seconds(), w.Gain.Seconds())
	default:
		h.spread(o, w, first, b.end, &out)
	}
	return out
}

// marketOf leaves out offers that make no sense, so that one site cannot keep the others from being used.
func marketOf(w *Wide, offers []Offered) (m *Market, sound []Offered, rejected []string) {
	sound = slices.Clone(offers)
	slices.SortStableFunc(sound, func(a, b Offered) int { return cmp.Compare(a.Site.Name, b.Site.Name) })
	m, err := market(w, sound)
	if err == nil {
		return m, sound, nil
	}
	reject := func(o Offered, why error) bool {
		if why != nil {
			rejected = append(rejected, fmt.Sprintf("%.80q: %v", o.Site.Name, why))
		}
		return why != nil
	}
	sound = slices.DeleteFunc(sound, func(o Offered) bool {
		_, err := market(w, []Offered{o})
		return reject(o, err)
	})
	sound = slices.CompactFunc(sound, func(a, b Offered) bool {
		return a.Site.Name == b.Site.Name && reject(b, errors.New("it offers twice"))
	})
	if m, err = market(w, sound); err != nil { // no site alone is at fault
		return &Market{}, nil, append(rejected, err.Error())
	}
	return m, sound, rejected
}

// market is that of the offers.
func market(w *Wide, offers []Offered) (*Market, error) {
	var sites []SlotSite
	var slots []grid.Slot
	for _, o := range offers {
		site := SlotSite{Site: o.Site}
		known := make(map[grid.NodeName]bool, len(o.Slots))
		for _, s := range o.Slots {
			if s.Site != "" && s.Site != o.Site.Name {
				return nil, fmt.Errorf("a slot of site %.80q is offered by %.80q", s.Site, o.Site.Name)
			}
			s.Site = o.Site.Name
			slots = append(slots, s)
			if !known[s.Node] {
				known[s.Node] = true
				site.Nodes = append(site.Nodes, Node{Name: s.Node, Cores: s.Cores, Memory: s.Memory, Resources: s.Resources})
			}
		}
		sites = append(sites, site)
	}
	wanted := w.wanted(offers)
	if err := wanted.checkTimes(len(offers)); err != nil {
		return nil, err
	}
	return NewMarket(sites, slots)
}
