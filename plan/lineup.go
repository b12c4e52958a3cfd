package plan

import (
	"math"
	"slices"

	"gbroker/grid"
)

// lineup is the waiting jobs in an order. It never grows; who leaves leaves a gap. Jobs
// with equal pieces stand in one bin, with an index that finds the next one that is
// small or short enough.
type lineup struct {
	jobs  []int32 // by position
	cores []int64 // by position; hasLeft where nobody waits
	first int     // nobody waits before it
	waits int     // how many wait
	bins  []bin
	bin   []binAt // by position; nil where there is one bin
	scan  scan
}

type binAt struct{ bin, index int32 }

// bin is the jobs of one kind, or of several that are not told apart.
type bin struct {
	of        *work   // one of them; nil: they differ
	positions []int32 // in the lineup, ascending; nil where this is the only bin
	cores     []int64
	limits    []grid.Tick
	bounds    []bound // a tree: the children of i are 2i and 2i+1, the leaves are blocks of indices
	leaves    int     // where the blocks begin
}

// bound is the least that anybody in a part of the queue asks for.
type bound struct {
	cores int64
	limit grid.Tick
}

const (
	hasLeft  = int64(math.MaxInt64)
	binBlock = 16
)

// A short queue has one bin, and no queue more than mostBins.
const (
	shortQueue = 16
	mostBins   = 16
)

func newLineup(jobs []int32, works []work) *lineup {
	q := &lineup{jobs: jobs, waits: len(jobs), cores: make([]int64, len(jobs))}
	for i, j := range jobs {
		q.cores[i] = works[j].cores
	}
	if len(jobs) <= shortQueue {
		q.bins = []bin{newBin(jobs, works)}
		return q
	}
	q.bin = make([]binAt, len(jobs))
	var of [mostBins][]int32
	var in [mostBins][]int32
	var kinds [mostBins]*work
	bins := 1 // the first takes those that are in no other
	for i, j := range jobs {
		w := &works[j]
		k := 0
		if len(w.pieces) == 1 {
			for k = 1; k < bins && !kinds[k].alike(w); k++ {
			}
			if k == mostBins {
				k = 0
			} else if k == bins {
				kinds[k] = w
				bins++
			}
		}
		q.bin[i] = binAt{int32(k), int32(len(of[k]))}
		of[k], in[k] = append(of[k], j), append(in[k], int32(i))
	}
	for k := range bins {
		l := newBin(of[k], works)
		l.of, l.positions = kinds[k], in[k]
		q.bins = append(q.bins, l)
	}
	return q
}

// alike tells whether two works of one chunk differ in number and limit alone.
func (w *work) alike(o *work) bool {
	return w.class == o.class && w.whole == o.whole && w.apart == o.apart && slices.Equal(w.pieces[0].need, o.pieces[0].need)
}

func newBin(jobs []int32, works []work) bin {
	l := bin{cores: make([]int64, len(jobs)), limits: make([]grid.Tick, len(jobs)), leaves: 1}
	for i, j := range jobs {
		l.cores[i], l.limits[i] = works[j].cores, works[j].limit
	}
	blocks := (len(jobs) + binBlock - 1) / binBlock
	for l.leaves < blocks {
		l.leaves *= 2
	}
	l.bounds = make([]bound, 2*l.leaves)
	for b := range l.leaves {
		l.bounds[l.leaves+b] = l.measure(b)
	}
	for i := l.leaves - 1; i > 0; i-- {
		l.bounds[i] = l.bounds[2*i].least(l.bounds[2*i+1])
	}
	return l
}

func (b bound) least(o bound) bound { return bound{min(b.cores, o.cores), min(b.limit, o.limit)} }

// measure is the bound of a block.
func (l *bin) measure(block int) bound {
	b := bound{hasLeft, never}
	for i := block * binBlock; i < min((block+1)*binBlock, len(l.cores)); i++ {
		if l.cores[i] != hasLeft {
			b = b.least(bound{l.cores[i], l.limits[i]})
		}
	}
	return b
}

// head is the first position at which somebody waits, or -1.
func (q *lineup) head() int {
	if q.waits == 0 {
		return -1
	}
	for q.cores[q.first] == hasLeft {
		q.first++
	}
	return q.first
}

// leave takes a job out.
func (q *lineup) leave(position int) {
	q.cores[position] = hasLeft
	q.waits--
	q.update(position)
}

// join puts a job back into its place.
func (q *lineup) join(position int, w *work) {
	q.cores[position] = w.cores
	q.waits++
	q.first = min(q.first, position)
	q.update(position)
}

func (q *lineup) update(position int) {
	at := binAt{0, int32(position)}
	if q.bin != nil {
		at = q.bin[position]
	}
	l := &q.bins[at.bin]
	l.cores[at.index] = q.cores[position]
	block := int(at.index) / binBlock
	i := l.leaves + block
	l.bounds[i] = l.measure(block)
	for i /= 2; i > 0; i /= 2 {
		b := l.bounds[2*i].least(l.bounds[2*i+1])
		if b == l.bounds[i] {
			return
		}
		l.bounds[i] = b
	}
}

// following is the next position after one at which somebody waits, or -1.
func (q *lineup) following(p int) int {
	for p++; p < len(q.jobs); p++ {
		if q.cores[p] != hasLeft {
			return p
		}
	}
	return -1
}

// both is a wish for a whole queue and another for one bin of it.
type both struct{ all, bin wish }

func (w both) grants(b bound) bool { return w.all.grants(b) && w.bin.grants(b) }

// next is the first index from one on that is granted, or -1.
func (l *bin) next(from int, w both) int {
	if from >= len(l.cores) {
		return -1
	}
	block := from / binBlock
	for {
		if w.grants(l.bounds[l.leaves+block]) {
			for i := max(from, block*binBlock); i < min((block+1)*binBlock, len(l.cores)); i++ {
				if w.grants(bound{l.cores[i], l.limits[i]}) {
					return i
				}
			}
		}
		i := l.leaves + block + 1
		if i&(i-1) == 0 { // beyond the last leaf
			return -1
		}
		for i%2 == 0 { // up as far as this is the first child
			i /= 2
		}
		for !w.grants(l.bounds[i]) { // the next subtree to the right that may hold one
			if i++; i&(i-1) == 0 {
				return -1
			}
			for i%2 == 0 {
				i /= 2
			}
		}
		for i < l.leaves {
			if i *= 2; !w.grants(l.bounds[i]) {
				i++
			}
		}
		block = i - l.leaves
	}
}

// scan goes through a lineup once, from its begin. What is wished may become less on
// the way, for all and for the bin of whom was found last.
type scan struct {
	wish wish
	bins []binScan
	last int // the bin of whom was found last
}

type binScan struct {
	wish   wish
	cursor int // nobody before it is wanted
	found  int // the first from the cursor on, if known; -1 is not known
	over   bool
}

// look begins a scan.
func (q *lineup) look(w wish) *scan {
	s := &q.scan
	if s.wish = w; s.bins == nil {
		s.bins = make([]binScan, len(q.bins))
	}
	for i := range s.bins {
		s.bins[i] = binScan{wish: append(s.bins[i].wish[:0], anybody), found: -1}
	}
	return s
}

// next is the next position that is granted, or -1.
func (q *lineup) next() int {
	s := &q.scan
	best := -1
	for i := range s.bins {
		if p := q.peek(i); p >= 0 && (best < 0 || p < best) {
			best, s.last = p, i
		}
	}
	if best >= 0 {
		l := &s.bins[s.last]
		l.cursor, l.found = l.found+1, -1
	}
	return best
}

// peek is the next position of a bin that is granted, or -1.
func (q *lineup) peek(i int) int {
	s, l := &q.scan.bins[i], &q.bins[i]
	if s.over {
		return -1
	}
	w := both{q.scan.wish, s.wish}
	if s.found < 0 || !w.grants(bound{l.cores[s.found], l.limits[s.found]}) {
		s.found = l.next(max(s.cursor, s.found), w)
	}
	if s.over = s.found < 0; s.over {
		return -1
	}
	if l.positions == nil {
		return s.found
	}
	return int(l.positions[s.found])
}

// refused tells that whom was found last has no place. Its bin then looks for less:
// who is alike and asks for as much, for as long, has none either. Even is that only
// on which tread of the wish a job stands matters, not how long it is.
func (q *lineup) refused(w *work, even bool) {
	s := &q.scan
	if q.bins[s.last].of == nil {
		return
	}
	from := w.limit
	if even {
		from = s.wish.tread(from).from
	}
	l := &s.bins[s.last].wish
	*l = l.lower(from, w.cores-1)
}
