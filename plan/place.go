package plan

import (
	"cmp"
	"slices"
	"sort"

	"gbroker/grid"
)

// longest bounds a limit, so that no instant overflows: 139 years.
const longest = grid.Tick(1) << 42

// work is a job that waits, or will.
type work struct {
	pieces []piece // in the order of their placement, none empty
	least  []int64 // what each piece needs at least
	cores  int64   // of all pieces, or muchAsked where it would be more
	limit  grid.Tick
	class  *class
	whole  bool // it takes whole nodes
	apart  bool // no two pieces share a node
	absent bool // it asks for a resource that no node has
}

// piece is a chunk.
type piece struct {
	count, processes int
	need             []int64
}

// workshop makes works, few allocations for many of them.
type workshop struct {
	pieces []piece
	needs  []int64
}

func newWorkshop(g *ground, jobs int) *workshop {
	return &workshop{make([]piece, 0, jobs), make([]int64, 0, jobs*g.width)}
}

// work is what a demand asks of a site. Pieces are placed from the largest to the
// smallest.
func (m *workshop) work(g *ground, d *grid.Demand, limit grid.Tick, class *class) work {
	w := work{limit: min(max(limit, 1), longest), class: class, whole: d.Exclusive, apart: d.DistinctNodes}
	first := len(m.pieces)
	for i := range d.Chunks {
		c := &d.Chunks[i]
		if c.Count <= 0 {
			continue
		}
		at := len(m.needs)
		for range g.width {
			m.needs = append(m.needs, 0)
		}
		need := m.needs[at:len(m.needs):len(m.needs)]
		if !g.vector(need, max(c.Cores, 1), c.Memory, c.Resources) {
			w.absent = true
		}
		m.pieces = append(m.pieces, piece{c.Count, max(c.Processes, 0), need})
		if int64(c.Count) > muchAsked/need[0] {
			w.cores = muchAsked
		}
		w.cores = min(w.cores+min(int64(c.Count), muchAsked)*need[0], muchAsked)
	}
	w.pieces = m.pieces[first:len(m.pieces):len(m.pieces)]
	switch len(w.pieces) {
	case 0:
		w.least = make([]int64, g.width)
	case 1:
		w.least = w.pieces[0].need
	default:
		slices.SortStableFunc(w.pieces, func(a, b piece) int { return slices.Compare(b.need, a.need) })
		w.least = slices.Clone(w.pieces[0].need)
		for _, p := range w.pieces[1:] {
			narrow(w.least, p.need)
		}
	}
	return w
}

// fit is how many of at most n pieces have room.
func fit(need, room []int64, n int) int {
	for r, asked := range need {
		if asked == 0 {
			continue
		}
		if room[r] < asked {
			return 0
		}
		if has := room[r] / asked; has < int64(n) {
			n = int(has)
		}
	}
	return n
}

// portion is what of a job lies on one node; its vector is kept beside it.
type portion struct {
	node      int32
	processes int
}

// placer looks for a place: begin, offer nodes in the order in which they are
// wanted, each with what is free there, until one makes it complete, then
// placed. It keeps its memory from one search to the next.
type placer struct {
	g       *ground
	w       *work
	room    []int64 // of the node that is offered next
	need    []int64 // without which no piece has room on it
	missing int
	parts   []portion
	amounts []int64 // the vectors of parts

	// Of a demand of several chunks, which is placed when all nodes were offered.
	nodes []int32
	left  []int64
	got   []int64
	runs  []int
}

func newPlacer(g *ground) *placer {
	both := make([]int64, 2*g.width)
	return &placer{g: g, room: both[:g.width], need: both[g.width:]}
}

func (l *placer) begin(w *work) {
	l.w = w
	copy(l.need, w.least)
	l.parts, l.amounts = l.parts[:0], l.amounts[:0]
	l.nodes, l.left = l.nodes[:0], l.left[:0]
	l.missing = -1
	if len(w.pieces) == 1 {
		l.missing = w.pieces[0].count
	}
}

// needs is what must be free on a node for any piece of the work.
func (l *placer) needs(n int) []int64 {
	if l.w.whole {
		l.need[0] = l.g.full[n*l.g.width]
	}
	return l.need
}

// offer takes what of a node is useful, where room is free; true where the place is
// complete.
func (l *placer) offer(n int, room []int64) bool {
	if l.w.absent || l.w.whole && room[0] != l.g.full[n*l.g.width] {
		return false
	}
	if l.missing < 0 {
		l.nodes = append(l.nodes, int32(n))
		l.left = append(l.left, room...)
		return false
	}
	p := &l.w.pieces[0]
	k := fit(p.need, room, l.atOnce(l.missing))
	if k == 0 {
		return false
	}
	l.missing -= k
	l.parts = append(l.parts, portion{int32(n), k * p.processes})
	if l.w.whole {
		l.amounts = append(l.amounts, l.g.of(n)...)
		return l.missing == 0
	}
	for _, a := range p.need {
		l.amounts = append(l.amounts, int64(k)*a)
	}
	return l.missing == 0
}

// atOnce is how many of so many pieces may lie on one node.
func (l *placer) atOnce(missing int) int {
	if l.w.apart {
		return 1
	}
	return missing
}

// placed tells whether the nodes offered hold the whole demand: parts and amounts
// then say where.
func (l *placer) placed() bool {
	if l.missing >= 0 {
		return l.missing == 0
	}
	return l.placeChunks()
}

// placeChunks takes chunk by chunk the first nodes with room.
func (l *placer) placeChunks() bool {
	width := l.g.width
	l.got = append(l.got[:0], l.left...)
	clear(l.got)
	l.runs = append(l.runs[:0], make([]int, len(l.nodes))...)
	complete := len(l.w.pieces) > 0
	for i := range l.w.pieces {
		p := &l.w.pieces[i]
		missing := p.count
		for k := 0; k < len(l.nodes) && missing > 0; k++ {
			left := l.left[k*width : (k+1)*width]
			if l.w.apart && l.got[k*width] > 0 {
				continue
			}
			n := fit(p.need, left, l.atOnce(missing))
			missing -= n
			l.runs[k] += n * p.processes
			for r, a := range p.need {
				left[r] -= int64(n) * a
				l.got[k*width+r] += int64(n) * a
			}
		}
		complete = complete && missing == 0
	}
	for k, n := range l.nodes {
		got := l.got[k*width : (k+1)*width]
		if got[0] == 0 {
			continue
		}
		if l.w.whole {
			got = l.g.of(int(n))
		}
		l.parts = append(l.parts, portion{n, l.runs[k]})
		l.amounts = append(l.amounts, got...)
	}
	return complete
}

// onEmptySite tells whether a work fits where nothing runs.
func (l *placer) onEmptySite(w *work) bool {
	l.begin(w)
	for n := w.class.nodes.next(0); n >= 0; n = w.class.nodes.next(n + 1) {
		if l.offer(n, l.g.of(n)) {
			return true
		}
	}
	return l.placed()
}

// shares are parts as others see them, by node.
func (g *ground) shares(parts []portion, amounts []int64) []Share {
	out := make([]Share, len(parts))
	for i, p := range parts {
		v := amounts[i*g.width : (i+1)*g.width]
		s := Share{Node: int(p.node), Processes: p.processes, Cores: int(v[0])}
		if g.memory > 0 && v[g.memory] < unlimited {
			s.Memory = v[g.memory]
		}
		for k, name := range g.named {
			if a := v[g.width-len(g.named)+k]; a > 0 {
				s.Resources = append(s.Resources, grid.Resource{Name: name, Amount: a})
			}
		}
		out[i] = s
	}
	slices.SortFunc(out, func(a, b Share) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// sortParts puts the parts from lo on in the order of their nodes: what a pass makes of them is the same whether this plan gave them, or a
// snapshot lists them.
func (e *schedule) sortParts(lo int32) {
	if p := (partsByNode{e.parts[lo:], e.amounts[int(lo)*e.width:], e.width}); !sort.IsSorted(p) {
		sort.Stable(p)
	}
}

// partsByNode is parts with what each of them has.
type partsByNode struct {
	parts   []portion
	amounts []int64
	width   int
}

func (p partsByNode) Len() int           { return len(p.parts) }
func (p partsByNode) Less(i, j int) bool { return p.parts[i].node < p.parts[j].node }
func (p partsByNode) Swap(i, j int) {
	p.parts[i], p.parts[j] = p.parts[j], p.parts[i]
	for k := range p.width {
		a, b := i*p.width+k, j*p.width+k
		p.amounts[a], p.amounts[b] = p.amounts[b], p.amounts[a]
	}
}
