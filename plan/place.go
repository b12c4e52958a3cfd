package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

const (
	// unlimited is the memory of a node that declares none.
	unlimited = int64(1) << 60
	// muchAsked bounds sums of what is asked, so that no product overflows.
	muchAsked = 1 << 40
)

// room is what is free on each node. Values may be negative where a snapshot
// shows more in use than is declared.
type room struct {
	cores  []int
	memory []int64
}

func emptySite(nodes []Node) room {
	r := room{make([]int, len(nodes)), make([]int64, len(nodes))}
	for i, n := range nodes {
		if n.Down {
			continue
		}
		r.cores[i], r.memory[i] = max(n.Cores, 0), n.Memory
		if n.Memory <= 0 {
			r.memory[i] = unlimited
		}
	}
	return r
}

func (r room) copyFrom(o room) {
	copy(r.cores, o.cores)
	copy(r.memory, o.memory)
}

func (r room) clone() room {
	return room{slices.Clone(r.cores), slices.Clone(r.memory)}
}

// take removes shares; they may name nodes that the site no longer has.
func (r room) take(shares []Share) {
	for _, s := range shares {
		if s.Node >= 0 && s.Node < len(r.cores) {
			r.cores[s.Node] -= s.Cores
			r.memory[s.Node] -= s.Memory
		}
	}
}

func (r room) give(shares []Share) {
	for _, s := range shares {
		if s.Node >= 0 && s.Node < len(r.cores) {
			r.cores[s.Node] += s.Cores
			r.memory[s.Node] += s.Memory
		}
	}
}

// holds reports that all shares fit.
func (r room) holds(shares []Share) bool {
	for _, s := range shares {
		if r.cores[s.Node] < s.Cores || r.memory[s.Node] < s.Memory {
			return false
		}
	}
	return true
}

// total is the number of free cores.
func (r room) total() int {
	n := 0
	for _, c := range r.cores {
		n += max(c, 0)
	}
	return n
}

// pieces is a demand in the order of its placement, without empty chunks.
type pieces []grid.Chunk

func piecesOf(d grid.Demand) pieces {
	p := make(pieces, 0, len(d.Chunks))
	for _, c := range d.Chunks {
		if c.Count <= 0 {
			continue
		}
		c.Cores = max(c.Cores, 1)
		c.Memory = max(c.Memory, 0)
		p = append(p, c)
	}
	if len(p) > 1 {
		slices.SortStableFunc(p, func(a, b grid.Chunk) int {
			return cmp.Or(cmp.Compare(b.Cores, a.Cores), cmp.Compare(b.Memory, a.Memory))
		})
	}
	return p
}

// cores is the sum over all pieces, or muchAsked where it would be more.
func (p pieces) cores() int {
	n := 0
	for _, c := range p {
		if c.Count > muchAsked/c.Cores {
			return muchAsked
		}
		n = min(n+c.Count*c.Cores, muchAsked)
	}
	return n
}

// placer finds places; it keeps its buffers from one search to the next.
type placer struct {
	left   room
	shares []Share
	onNode []int // index+1 into shares by node
}

func newPlacer(nodes int) *placer {
	return &placer{left: room{make([]int, nodes), make([]int64, nodes)}, onNode: make([]int, nodes)}
}

// place finds shares of free for all pieces. The result is valid until the next call.
func (l *placer) place(p pieces, free room) ([]Share, bool) {
	l.shares = l.shares[:0]
	if len(p) == 1 {
		return l.shares, l.spread(p[0], free, nil)
	}
	l.left.copyFrom(free)
	clear(l.onNode)
	for _, c := range p {
		if !l.spread(c, l.left, l.onNode) {
			return nil, false
		}
	}
	return l.shares, true
}

// spread places the pieces of one chunk on the first nodes with room. With
// onNode it takes them from free and keeps one share for each node.
func (l *placer) spread(c grid.Chunk, free room, onNode []int) bool {
	missing := c.Count
	for n, cores := range free.cores {
		if cores < c.Cores {
			continue
		}
		fit := cores / c.Cores
		if c.Memory > 0 {
			fit = int(min(int64(fit), max(free.memory[n], 0)/c.Memory))
		}
		if fit = min(fit, missing); fit == 0 {
			continue
		}
		l.add(Share{Node: n, Processes: fit * c.Processes, Cores: fit * c.Cores, Memory: int64(fit) * c.Memory}, onNode)
		if onNode != nil {
			free.cores[n] -= fit * c.Cores
			free.memory[n] -= int64(fit) * c.Memory
		}
		if missing -= fit; missing == 0 {
			return true
		}
	}
	return false
}

func (l *placer) add(s Share, onNode []int) {
	if onNode != nil && onNode[s.Node] > 0 {
		had := &l.shares[onNode[s.Node]-1]
		had.Processes += s.Processes
		had.Cores += s.Cores
		had.Memory += s.Memory
		return
	}
	l.shares = append(l.shares, s)
	if onNode != nil {
		onNode[s.Node] = len(l.shares)
	}
}
