package plan

import "gbroker/grid"

// buckets tell quickly which nodes cannot be free for an interval. Time is cut into
// buckets of one width; for each it is known which nodes have no free core at some
// instant in it, and which have none throughout. A node that is left out here may
// still be busy: the lines decide.
type buckets struct {
	origin, width grid.Tick
	words         int
	some, all     []set
}

// mostBuckets bounds them; what lies later is not known.
const mostBuckets = 4096

func (b *buckets) index(t grid.Tick) int { return int((t - b.origin) / b.width) }

// busy tells that a node has no free core from one instant to another.
func (b *buckets) busy(n int, from, to grid.Tick) {
	first := b.index(max(from, b.origin))
	last := min(b.index(min(to, b.origin+b.width*mostBuckets)-1), mostBuckets-1)
	for len(b.some) <= last {
		b.some = append(b.some, make(set, b.words))
		b.all = append(b.all, make(set, b.words))
	}
	for i := first; i <= last; i++ {
		b.some[i].add(n)
		start := b.origin + grid.Tick(i)*b.width
		if from <= start && start+b.width <= to {
			b.all[i].add(n)
		}
	}
}

// unknown tells that something on a node changed.
func (b *buckets) unknown(n int, from, to grid.Tick) {
	last := b.index(min(to, b.origin+b.width*mostBuckets))
	for i := b.index(max(from, b.origin)); i <= last && i < len(b.some); i++ {
		b.some[i].drop(n)
		b.all[i].drop(n)
	}
}

// without drops from nodes those that cannot be free from one instant to another.
func (b *buckets) without(nodes set, from, to grid.Tick) {
	last := b.index(min(to, b.origin+b.width*mostBuckets) - 1)
	for i := b.index(from); i <= last && i < len(b.some); i++ {
		out := b.all[i]
		start := b.origin + grid.Tick(i)*b.width
		if from <= start && start+b.width <= to {
			out = b.some[i]
		}
		for w := range nodes {
			nodes[w] &^= out[w]
		}
	}
}
