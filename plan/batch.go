package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// Batch answers a row of questions about one plan, each as if the jobs of those
// before had come and stood where their answer says: they are allocated, and no later
// answer moves them, nor do they move what is planned. Who would start too late does not come.
//
// A Batch belongs to one goroutine; the plan it came from stays as it is.
type Batch struct {
	f     *finder
	owned set // nodes whose lines are this batch's own; nil: all is the plan's, as nobody has come yet
}

// Batch begins a row of questions.
func (p *Plan) Batch() *Batch { return &Batch{f: p.finder()} }

// own copies of the plan what changes when somebody comes.
func (b *Batch) own() {
	f := b.f
	f.lines, f.profile = slices.Clone(f.lines), f.profile.clone()
	f.starts = make(map[int][]grid.Tick)
	b.owned = newSet(len(f.nodes))
}

// Ask is the earliest start of one more job; the job then counts as coming, if that is before its Before.
func (b *Batch) Ask(q Question) (start grid.Tick, refusal *grid.Refusal) {
	start, w, refusal := b.f.ask(&q)
	if refusal == nil && q.comes(start) {
		b.take(&q, start, w)
	}
	return start, refusal
}

// comes tells that a job comes that would start at an instant.
func (q *Question) comes(start grid.Tick) bool { return q.Before == 0 || start < q.Before }

// take has the job come whose place was found last.
func (b *Batch) take(q *Question, start grid.Tick, w *work) {
	b.allocate(start, start+w.limit)
	if len(b.f.caps) > 0 {
		b.f.asked = append(b.f.asked, asked{cmp.Or(q.Queue, b.f.standard), w.cores, start + w.limit})
	}
}

// allocate takes what the placer found, from start to end.
func (b *Batch) allocate(start, end grid.Tick) {
	if b.owned == nil {
		b.own()
	}
	f := b.f
	var cores int64
	for i, p := range f.placer.parts {
		n := int(p.node)
		l := &f.lines[n]
		if !b.owned.has(n) {
			b.owned.add(n)
			*l = line{At: slices.Clone(l.At), Free: slices.Clone(l.Free)}
		}
		amounts := f.placer.amounts[i*f.width : (i+1)*f.width]
		first, last := l.Change(start, end, amounts, -1)
		l.Settle(first, last, f.width)
		cores += amounts[0]
		if start > f.at {
			f.starts[n] = append(f.starts[n], start)
		}
	}
	f.profile.change(start, end, -cores)
	at, _ := slices.BinarySearch(f.ends, end)
	f.ends = slices.Insert(f.ends, at, end)
}
