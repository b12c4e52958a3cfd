package plan

import "gbroker/grid"

// buckets tell quickly which nodes cannot be free for an interval. Time is cut into
// buckets of one width; for each it is known which nodes have no free core at some
// instant in it, and which have none throughout. A node that is left out here may
// still be busy: the lines decide.
type buckets struct {
	origin, width grid.Tick
	words         int
	of            [][]busyNodes // by bucket; one for each 64 nodes
}

// busyNodes are those of 64 nodes that have no free core in a bucket.
type busyNodes struct {
	some uint64 // at some instant
	all  uint64 // throughout
}

// mostBuckets bounds them; what lies later is not known.
const mostBuckets = 4096

func (b *buckets) index(t grid.Tick) int { return int((t - b.origin) / b.width) }

// busy tells that a node has no free core from one instant to another.
func (b *buckets) busy(n int, from, to grid.Tick) {
	first := b.index(max(from, b.origin))
	last := min(b.index(min(to, b.origin+b.width*mostBuckets)-1), mostBuckets-1)
	for len(b.of) <= last {
		b.of = append(b.of, make([]busyNodes, b.words))
	}
	word, bit := n/64, uint64(1)<<(n%64)
	start := b.origin + grid.Tick(first)*b.width
	for i := first; i <= last; i++ {
		w := &b.of[i][word]
		w.some |= bit
		if from <= start && start+b.width <= to {
			w.all |= bit
		}
		start += b.width
	}
}

// unknown tells that something on a node changed.
func (b *buckets) unknown(n int, from, to grid.Tick) {
	last := b.index(min(to, b.origin+b.width*mostBuckets))
	word, bit := n/64, uint64(1)<<(n%64)
	for i := b.index(max(from, b.origin)); i <= last && i < len(b.of); i++ {
		w := &b.of[i][word]
		w.some &^= bit
		w.all &^= bit
	}
}

// without drops from nodes those that cannot be free from one instant to another.
func (b *buckets) without(nodes set, from, to grid.Tick) {
	last := b.index(min(to, b.origin+b.width*mostBuckets) - 1)
	for i := b.index(from); i <= last && i < len(b.of); i++ {
		start := b.origin + grid.Tick(i)*b.width
		inside := from <= start && start+b.width <= to
		for w, out := range b.of[i] {
			if inside {
				nodes[w] &^= out.some
			} else {
				nodes[w] &^= out.all
			}
		}
	}
}
