package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gbroker/grid"
)

// Bounds of what a market takes, so that no sum of times overflows.
const (
	maxInstant  = 1e12 * grid.Second // 31,000 years either way; for spans too
	maxWalltime = 1e9 * grid.Second  // at the lowest speed this is maxInstant
	endless     = grid.Tick(1) << 61
	minSpeed    = 1e-3
	maxSpeed    = 1e3
	maxSlots    = math.MaxInt32
)

// Market is the slots of many sites, ordered by node. It is immutable.
type Market struct {
	sites  []SlotSite
	speeds []float64 // of the sites, each once, fastest first
	nodes  []slotNode
	parts  []part // by site, node and start
	widest int    // the most nodes of one site
}

type slotNode struct {
	site int32
	name grid.NodeName
}

// part is one slot as it was given.
type part struct {
	start, end grid.Tick
	price      float64
	node, slot int32 // index into nodes; its place in the input
}

// NewMarket checks the slots and puts them in order. An error names the site or slot
// by its place in the list; two slots of one node must not overlap.
func NewMarket(sites []SlotSite, slots []grid.Slot) (*Market, error) {
	m := &Market{sites: slices.Clone(sites)}
	index, err := m.addSites()
	if err != nil {
		return nil, err
	}
	if len(slots) > maxSlots {
		return nil, fmt.Errorf("%d slots: at most %d", len(slots), maxSlots)
	}
	m.parts = make([]part, len(slots))
	known := make(map[slotNode]int32)
	for i, s := range slots {
		site, ok := index[s.Site]
		if !ok {
			return nil, fmt.Errorf("slots[%d]: its site %.80q is none of the sites", i, s.Site)
		}
		if err := checkSlot(s); err != nil {
			return nil, fmt.Errorf("slots[%d]: %w", i, err)
		}
		key := slotNode{site, s.Node}
		node, ok := known[key]
		if !ok {
			node = int32(len(m.nodes))
			known[key] = node
			m.nodes = append(m.nodes, key)
		}
		m.parts[i] = part{s.Start, s.End, s.Price, node, int32(i)}
	}
	m.order()
	if err := m.overlap(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Market) addSites() (index map[grid.SiteName]int32, err error) {
	index = make(map[grid.SiteName]int32, len(m.sites))
	for j, s := range m.sites {
		if first, twice := index[s.Name]; twice {
			return nil, fmt.Errorf("sites[%d]: %.80q is sites[%d] already", j, s.Name, first)
		}
		if !(s.Speed >= minSpeed && s.Speed <= maxSpeed) {
			return nil, fmt.Errorf("sites[%d]: its speed is %v: from %v to %v", j, s.Speed, minSpeed, maxSpeed)
		}
		index[s.Name] = int32(j)
		m.speeds = append(m.speeds, s.Speed)
	}
	slices.SortFunc(m.speeds, func(a, b float64) int { return cmp.Compare(b, a) })
	m.speeds = slices.Compact(m.speeds)
	return index, nil
}

func checkSlot(s grid.Slot) error {
	switch {
	case s.Start < -maxInstant || s.End > maxInstant:
		return fmt.Errorf("from %v to %v s: instants lie within ±%.0e s", s.Start.Seconds(), s.End.Seconds(), float64(maxInstant)/1000)
	case s.End <= s.Start:
		return fmt.Errorf("it ends at %v s, which is not after its start at %v s", s.End.Seconds(), s.Start.Seconds())
	case !(s.Price >= 0) || math.IsInf(s.Price, 0):
		return fmt.Errorf("its price is %v: a number from 0 up", s.Price)
	}
	return nil
}

// order sorts the parts by site, node and start: nodes of a site in the order of their names.
func (m *Market) order() {
	byName := make([]int32, len(m.nodes))
	for i := range byName {
		byName[i] = int32(i)
	}
	slices.SortFunc(byName, func(a, b int32) int {
		x, y := m.nodes[a], m.nodes[b]
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(x.name, y.name))
	})
	nodes, place := make([]slotNode, len(m.nodes)), make([]int32, len(m.nodes))
	width := make([]int, len(m.sites))
	for i, n := range byName {
		nodes[i], place[n] = m.nodes[n], int32(i)
		width[nodes[i].site]++
		m.widest = max(m.widest, width[nodes[i].site])
	}
	m.nodes = nodes
	for i := range m.parts {
		m.parts[i].node = place[m.parts[i].node]
	}
	slices.SortFunc(m.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.start, b.start))
	})
}

// overlap finds two slots of one node that share time.
func (m *Market) overlap() error {
	for i := 1; i < len(m.parts); i++ {
		a, b := &m.parts[i-1], &m.parts[i]
		if a.node == b.node && b.start < a.end {
			n := m.nodes[a.node]
			return fmt.Errorf("slots[%d]: it overlaps slots[%d] on the node %.80q of %.80q", max(a.slot, b.slot), min(a.slot, b.slot), n.name, m.sites[n.site].Name)
		}
	}
	return nil
}

// stretch is a merged slot.
type stretch struct {
	start, end grid.Tick
	site, part int32 // part is the first of those it was merged from
}

// Lists is what one fee can buy of a market, ready for any number of questions.
// It is immutable.
type Lists struct {
	market         *Market
	fee            float64
	byStart, byEnd []stretch
	dear           int // slots left out
}

// Within leaves out what costs more than the fee, merges the slots of one node that
// touch, and sorts.
func (m *Market) Within(fee float64) *Lists {
	l := &Lists{market: m, fee: fee, byStart: make([]stretch, 0, len(m.parts))}
	last := int32(-1) // node of the last stretch
	for i := range m.parts {
		p := &m.parts[i]
		if p.price > fee {
			l.dear++
			continue
		}
		if n := len(l.byStart) - 1; last == p.node && l.byStart[n].end == p.start {
			l.byStart[n].end = p.end
			continue
		}
		l.byStart = append(l.byStart, stretch{p.start, p.end, m.nodes[p.node].site, int32(i)})
		last = p.node
	}
	l.sort()
	return l
}

// sort makes both lists of what byStart holds.
func (l *Lists) sort() {
	l.byEnd = slices.Clone(l.byStart)
	slices.SortFunc(l.byStart, func(a, b stretch) int { return cmp.Compare(a.start, b.start) })
	slices.SortFunc(l.byEnd, func(a, b stretch) int { return cmp.Compare(a.end, b.end) })
}

// price is that of the dearest part of a that a job takes from start to end.
func (l *Lists) price(a stretch, start, end grid.Tick) float64 {
	var dearest float64
	for i := int(a.part); i < len(l.market.parts) && l.market.parts[i].start < end; i++ {
		p := &l.market.parts[i]
		if p.end > start {
			dearest = max(dearest, p.price)
		}
		if p.end >= end {
			break
		}
	}
	return dearest
}
