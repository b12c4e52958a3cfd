package counted

import (
	"gbroker/grid"
)

// entry is a waiting job.
type entry struct {
	limit grid.Tick
	rank  int64
	came  int64 // how many came before
	mark  int64 // FirstFit: how often it was overtaken; others: its reserved start
	cores int32
	ref   int32
}

// unplaced marks an entry that has no reservation.
const unplaced = int64(never)

// gone is what the entry of a job that left asks for: nobody has so much.
const gone = int32(1<<31 - 1)

// before tells whether an entry comes before another one.
func (e *entry) before(o *entry) bool {
	return e.rank < o.rank || e.rank == o.rank && e.came < o.came
}

// queue is who waits, by rank and arrival. Who leaves stays as a gap until there are
// many of them. An index over blocks of it tells where nobody is that fits; it may
// say of a block that somebody may be there where nobody is, never the other way.
type queue struct {
	entries []entry
	blocks  []block
	first   int // all before are gaps
	live    int
	placed  int // the entries before it have reservations, in passes of several reservations
}

// block is what the index says of so many entries.
type block struct {
	limit grid.Tick // nobody's is less
	mark  int64     // nobody's is less
	cores int32     // nobody asks for fewer
	stale bool      // somebody left
}

const blockSize = 64

// fewGaps are left where they are.
const fewGaps = 8

// add tells the index of an entry in the block.
func (b *block) add(e *entry) {
	b.limit, b.mark, b.cores = min(b.limit, e.limit), min(b.mark, e.mark), min(b.cores, e.cores)
}

func (q *queue) copyFrom(o *queue) {
	entries, blocks := q.entries, q.blocks
	*q = *o
	q.entries = append(entries[:0], o.entries...)
	q.blocks = append(blocks[:0], o.blocks...)
}

// clear empties the queue.
func (q *queue) clear() {
	q.entries, q.blocks, q.first, q.live, q.placed = q.entries[:0], q.blocks[:0], 0, 0, 0
}

// insert puts an entry behind all that have its rank or a lower one and came before,
// and returns its place.
func (q *queue) insert(e *entry) int {
	q.live++
	at := len(q.entries)
	if at == 0 || !e.before(&q.entries[at-1]) {
		q.append(e)
		return at
	}
	at = q.find(e)
	last := q.entries[len(q.entries)-1]
	q.append(&last)
	copy(q.entries[at+1:], q.entries[at:])
	q.entries[at] = *e
	q.tell(at)
	for n := at/blockSize + 1; n < len(q.blocks); n++ {
		q.tell(n * blockSize) // it came from the block before
	}
	return at
}

// tell tells the index of an entry that came to a place.
func (q *queue) tell(i int) { q.blocks[i/blockSize].add(&q.entries[i]) }

func (q *queue) append(e *entry) {
	if len(q.entries)%blockSize == 0 {
		q.blocks = append(q.blocks, block{limit: e.limit, mark: e.mark, cores: e.cores})
	} else {
		q.blocks[len(q.blocks)-1].add(e)
	}
	q.entries = append(q.entries, *e)
}

// find is the place of the first entry that does not come before e: of e itself, if
// it is there.
func (q *queue) find(e *entry) int {
	low, high := q.first, len(q.entries)
	for low < high {
		if mid := int(uint(low+high) / 2); q.entries[mid].before(e) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// leave makes a gap of an entry.
func (q *queue) leave(i int) {
	e := &q.entries[i]
	e.cores, e.mark, e.limit = gone, unplaced, never
	q.blocks[i/blockSize].stale = true
	q.live--
	if q.live == 0 {
		q.first = len(q.entries)
		return
	}
	for q.entries[q.first].cores == gone {
		q.first++
	}
}

// next is the first entry from the i-th on that asks for at most many cores and, if
// for more than few, for no longer than limit; or the length of entries.
func (q *queue) next(i int, many, few int32, limit grid.Tick) int {
	for i < len(q.entries) {
		n := i / blockSize
		end := min((n+1)*blockSize, len(q.entries))
		if b := &q.blocks[n]; b.cores > many || b.cores > few && b.limit > limit {
			i = end
			continue
		}
		if i = q.within(i, end, many, few, limit); i < end {
			return i
		}
		if q.blocks[n].stale {
			q.refresh(n)
		}
	}
	return i
}

// within is next up to an end.
func (q *queue) within(i, end int, many, few int32, limit grid.Tick) int {
	for ; i < end; i++ {
		if e := &q.entries[i]; e.cores <= many && (e.cores <= few || e.limit <= limit) {
			break
		}
	}
	return i
}

// refresh looks again at what the index says of a block.
func (q *queue) refresh(n int) {
	limit, mark, cores := never, unplaced, gone // as a gap has them
	for _, e := range q.entries[n*blockSize : min((n+1)*blockSize, len(q.entries))] {
		limit, mark, cores = min(limit, e.limit), min(mark, e.mark), min(cores, e.cores)
	}
	q.blocks[n] = block{limit: limit, mark: mark, cores: cores}
}

// setMark changes an entry's mark.
func (q *queue) setMark(i int, mark int64) {
	q.entries[i].mark = mark
	b := &q.blocks[i/blockSize]
	b.mark = min(b.mark, mark)
}

// sweep takes the gaps out where they are many.
func (q *queue) sweep() {
	if gaps := len(q.entries) - q.live; gaps < fewGaps || gaps < q.live/2 {
		return
	}
	kept, placed := 0, 0
	for i := q.first; i < len(q.entries); i++ {
		if q.entries[i].cores == gone {
			continue
		}
		if i < q.placed {
			placed++
		}
		q.entries[kept] = q.entries[i]
		kept++
	}
	q.entries, q.first, q.placed = q.entries[:kept], 0, placed
	q.blocks = q.blocks[:(kept+blockSize-1)/blockSize]
	for n := range q.blocks {
		q.refresh(n)
	}
}
