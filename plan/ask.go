package plan

import (
	"cmp"

	"gbroker/grid"
)

// Horizon is how far after its snapshot a plan tells starts; what would start later
// is refused.
const Horizon = 10 * 366 * grid.Day

// Ask is the earliest start of one more job at the end of the queue, which may
// backfill like any other and moves nobody who is planned. Under an order that would
// put it further ahead it may come to start sooner. It does not start where refusal
// is not nil.
func (p *Plan) Ask(q Question) (start grid.Tick, refusal *grid.Refusal) {
	start, _, refusal = p.finder().ask(&q)
	return start, refusal
}

// finder answers questions from a plan and, in a Batch, from what was answered before.
type finder struct {
	*Plan
	seeker
	starts map[int][]grid.Tick // by node: starts that were promised, of a Batch
	ends   []grid.Tick         // and when those end, ascending
	asked  []asked             // those that fall under caps
	shop   workshop
	kinds  []*class // that were asked for, beside those of the plan
	last   work     // what was asked for last
}

func (p *Plan) finder() *finder {
	return &finder{Plan: p, seeker: newSeeker(p.ground, p.free)}
}

// kind is the class of a demand, found once.
func (f *finder) kind(queue grid.QueueName, d *grid.Demand) *class {
	for _, c := range f.kinds {
		if c.is(queue, d) {
			return c
		}
	}
	c := f.class(queue, d, false)
	f.kinds = append(f.kinds, c)
	return c
}

// ask leaves the place in the placer; the work is the finder's until the next question.
func (f *finder) ask(q *Question) (grid.Tick, *work, *grid.Refusal) {
	asked := *q
	asked.Queue = cmp.Or(q.Queue, f.standard)
	formed, none := f.shapes.form(f.nodes, q.Demand)
	if none != nil {
		return 0, nil, none
	}
	asked.Demand = formed
	q = &asked
	f.shop.pieces, f.shop.needs = f.shop.pieces[:0], f.shop.needs[:0]
	f.last = f.shop.work(f.ground, &q.Demand, q.Limit, f.kind(q.Queue, &q.Demand))
	w := &f.last
	if r := f.refuse(w, q, f.placer); r != nil {
		return 0, nil, r
	}
	if r := f.refuseNow(q.Queue); r != nil {
		return 0, nil, r
	}
	room, r := f.roomUnderCaps(q, w.cores)
	if r != nil {
		return 0, nil, r
	}
	from := max(q.NotBefore, f.at, room)
	start := grid.Tick(never)
	if from-f.at <= Horizon {
		start = f.earliest(w, from)
	}
	if start-f.at > Horizon {
		return 0, nil, &grid.Refusal{Kind: grid.Permanent, Reason: "beyond the horizon of 10 years"}
	}
	return start, w, nil
}

func (f *finder) earliest(w *work, from grid.Tick) grid.Tick {
	if f.moments == nil {
		return f.first(w, from)
	}
	return f.atMoment(w, from)
}

// atMoment is the earliest start, in the pass of a moment or between two, on what is
// free then and not kept for somebody.
func (f *finder) atMoment(w *work, from grid.Tick) grid.Tick {
	k := f.moment(from)
	ends := f.ends
	for i := 0; k < len(f.moments); {
		m := &f.moments[k]
		t := max(from, m.at)
		for i < len(ends) && ends[i] <= t {
			i++
		}
		for {
			if !m.barred && m.total >= w.cores && (t+w.limit <= m.shadow || m.beside >= w.cores) && f.fitsAt(w, t, m) {
				return t
			}
			// Within the moment only the end of something promised gives room.
			if i == len(ends) || k+1 < len(f.moments) && ends[i] >= f.moments[k+1].at {
				break
			}
			t = ends[i]
			i++
		}
		k++
	}
	return never
}

// fitsAt looks for a place at an instant that a moment holds.
func (f *finder) fitsAt(w *work, t grid.Tick, m *moment) bool {
	copy(f.look, w.class.nodes)
	if f.busy != nil {
		f.busy.without(f.look, t, t+1)
	}
	f.placer.begin(w)
	g := m.lo
	for n := f.look.next(0); n >= 0; n = f.look.next(n + 1) {
		l := &f.lines[n]
		room := f.placer.room
		first := l.Holding(t, 0)
		copy(room, l.Free[first*f.width:])
		for g < m.hi && int(f.guards[g].node) < n {
			g++
		}
		for ; g < m.hi && int(f.guards[g].node) == n && f.guards[g].from < t+w.limit; g++ {
			narrow(room, f.guarded[int(g)*f.width:])
		}
		for _, start := range f.starts[n] {
			if t < start && start < t+w.limit {
				narrow(room, l.Free[l.Holding(start, first)*f.width:])
			}
		}
		if f.placer.offer(n, room) {
			return true
		}
	}
	return f.placer.placed()
}

func narrow(room, other []int64) {
	for r := range room {
		room[r] = min(room[r], other[r])
	}
}
