package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gbroker/grid"
)

// Bounds of what a market takes, so that no sum of times or pieces overflows.
const (
	maxInstant  = 1e12 * grid.Second // 31,000 years either way; for spans too
	maxWalltime = 1e9 * grid.Second  // at the lowest speed this is maxInstant
	endless     = grid.Tick(1) << 61
	minSpeed    = 1e-3
	maxSpeed    = 1e3
	maxSlots    = math.MaxInt32
	maxCores    = 1 << 24 // of one site
)

// SlotSite is what selection must know of a site: its name, speed and kind, and the nodes
// that its slots name. (The speed of a node does not count.)
type SlotSite struct {
	grid.Site
	Nodes []Node
}

// Market is the slots of many sites, ordered by node. It is immutable.
type Market struct {
	sites   []*ground
	speeds  []float64  // of the sites, each once, fastest first
	nodes   []slotNode // by site and name
	parts   []part     // by node, start and price
	amounts []int64    // the vectors of the parts
}

// slotNode is a node of which there are slots.
type slotNode struct {
	site, node int32 // index into the sites, and into the nodes of that
	first, end int32 // its parts
	amounts    int   // where their vectors begin
}

// part is one slot as it was given.
type part struct {
	start, end grid.Tick
	price      float64
	node, slot int32 // index into nodes; its place in the input
}

// NewMarket checks the slots and puts them in order. An error names the site or slot
// by its place in the list. Two slots of one node must not overlap, but where they are
// for the same time: then the dearer has all that the cheaper has.
func NewMarket(sites []SlotSite, slots []grid.Slot) (*Market, error) {
	m := &Market{}
	index, err := m.addSites(sites)
	if err != nil {
		return nil, err
	}
	if len(slots) > maxSlots {
		return nil, fmt.Errorf("%d slots: at most %d", len(slots), maxSlots)
	}
	if err := m.addSlots(index, slots); err != nil {
		return nil, err
	}
	m.order()
	if err := m.addAmounts(slots); err != nil {
		return nil, err
	}
	if err := m.overlap(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Market) addSites(sites []SlotSite) (index map[grid.SiteName]int32, err error) {
	index = make(map[grid.SiteName]int32, len(sites))
	for j := range sites {
		s := &sites[j]
		if first, twice := index[s.Name]; twice {
			return nil, fmt.Errorf("sites[%d]: %.80q is sites[%d] already", j, s.Name, first)
		}
		if !(s.Speed >= minSpeed && s.Speed <= maxSpeed) {
			return nil, fmt.Errorf("sites[%d]: its speed is %v: from %v to %v", j, s.Speed, minSpeed, maxSpeed)
		}
		index[s.Name] = int32(j)
		cores := 0
		for i := range s.Nodes {
			if cores += min(max(s.Nodes[i].Cores, 0), maxCores+1); cores > maxCores {
				return nil, fmt.Errorf("sites[%d]: its nodes have more than %d cores", j, maxCores)
			}
		}
		m.sites = append(m.sites, newGround(&Snapshot{Site: s.Site, Nodes: s.Nodes}))
		m.speeds = append(m.speeds, s.Speed)
	}
	slices.SortFunc(m.speeds, func(a, b float64) int { return cmp.Compare(b, a) })
	m.speeds = slices.Compact(m.speeds)
	return index, nil
}

// addSlots finds the site and node of each slot.
func (m *Market) addSlots(index map[grid.SiteName]int32, slots []grid.Slot) error {
	type key struct {
		site int32
		name grid.NodeName
	}
	declared := make(map[key]int32)
	for j, g := range m.sites {
		for n := range g.nodes {
			k := key{int32(j), g.nodes[n].Name}
			if first, twice := declared[k]; twice {
				return fmt.Errorf("sites[%d]: its nodes[%d] is called as nodes[%d]", j, n, first)
			}
			declared[k] = int32(n)
		}
	}
	known := make(map[key]int32)
	m.parts = make([]part, len(slots))
	for i := range slots {
		s := &slots[i]
		site, ok := index[s.Site]
		if !ok {
			return fmt.Errorf("slots[%d]: its site %.80q is none of the sites", i, s.Site)
		}
		if err := checkSlot(s); err != nil {
			return fmt.Errorf("slots[%d]: %w", i, err)
		}
		k := key{site, s.Node}
		node, ok := known[k]
		if !ok {
			of, ok := declared[k]
			if !ok {
				return fmt.Errorf("slots[%d]: its node %.80q is none of the nodes of %.80q", i, s.Node, s.Site)
			}
			node = int32(len(m.nodes))
			known[k] = node
			m.nodes = append(m.nodes, slotNode{site: site, node: of})
		}
		m.parts[i] = part{s.Start, s.End, s.Price, node, int32(i)}
	}
	return nil
}

func checkSlot(s *grid.Slot) error {
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

// order sorts the nodes by site and name, and the parts by node, start and price.
func (m *Market) order() {
	name := func(n slotNode) grid.NodeName { return m.sites[n.site].nodes[n.node].Name }
	byName := make([]int32, len(m.nodes))
	for i := range byName {
		byName[i] = int32(i)
	}
	slices.SortFunc(byName, func(a, b int32) int {
		x, y := m.nodes[a], m.nodes[b]
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(name(x), name(y)))
	})
	nodes, place := make([]slotNode, len(m.nodes)), make([]int32, len(m.nodes))
	for i, n := range byName {
		nodes[i], place[n] = m.nodes[n], int32(i)
	}
	m.nodes = nodes
	for i := range m.parts {
		m.parts[i].node = place[m.parts[i].node]
	}
	slices.SortFunc(m.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.start, b.start), cmp.Compare(a.price, b.price))
	})
}

// addAmounts keeps what can be had in each slot.
func (m *Market) addAmounts(slots []grid.Slot) error {
	for i := 0; i < len(m.parts); {
		n := &m.nodes[m.parts[i].node]
		g := m.sites[n.site]
		n.first, n.amounts = int32(i), len(m.amounts)
		for ; i < len(m.parts) && &m.nodes[m.parts[i].node] == n; i++ {
			s := &slots[m.parts[i].slot]
			at := len(m.amounts)
			m.amounts = append(m.amounts, g.none...)
			v := m.amounts[at:]
			known := g.vector(v, s.Cores, s.Memory, s.Resources)
			if g.memory > 0 && g.nodes[n.node].Memory <= 0 {
				v[g.memory] = unlimited
			}
			if !known || s.Cores < 0 || !within(v, g.of(int(n.node))) {
				return fmt.Errorf("slots[%d]: it has more than the node %.80q of %.80q", m.parts[i].slot, s.Node, s.Site)
			}
		}
		n.end = int32(i)
	}
	return nil
}

// within tells whether a vector is nowhere more than another.
func within(v, most []int64) bool {
	for r, a := range v {
		if a > most[r] {
			return false
		}
	}
	return true
}

// overlap finds two slots of one node that share time, and are not the cheaper and the
// dearer of the same.
func (m *Market) overlap() error {
	for i := 1; i < len(m.parts); i++ {
		a, b := &m.parts[i-1], &m.parts[i]
		if a.node != b.node || b.start >= a.end {
			continue
		}
		n := &m.nodes[a.node]
		if b.start == a.start && b.end == a.end && b.price > a.price && within(m.amountsOf(n, i-1), m.amountsOf(n, i)) {
			continue
		}
		g := m.sites[n.site]
		return fmt.Errorf("slots[%d]: it overlaps slots[%d] on the node %.80q of %.80q", max(a.slot, b.slot), min(a.slot, b.slot), g.nodes[n.node].Name, g.site.Name)
	}
	return nil
}

// amountsOf is the vector of a part of a node.
func (m *Market) amountsOf(n *slotNode, i int) []int64 {
	width := m.sites[n.site].width
	at := n.amounts + (i-int(n.first))*width
	return m.amounts[at : at+width]
}
