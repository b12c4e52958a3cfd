package brokers

import "gbroker/grid"

// task is something that happens at an instant.
type task struct {
	at  grid.Tick
	seq uint64 // equal instants in the order in which they were planned
	do  func()
}

func (a *task) before(b *task) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// agenda is a heap of tasks, the earliest first.
type agenda struct {
	tasks []task
	seq   uint64
}

func (q *agenda) push(at grid.Tick, do func()) {
	q.seq++
	q.tasks = append(q.tasks, task{at, q.seq, do})
	a, i := q.tasks, len(q.tasks)-1
	for i > 0 {
		up := (i - 1) / 2
		if !a[i].before(&a[up]) {
			break
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (q *agenda) first() (grid.Tick, bool) {
	if len(q.tasks) == 0 {
		return 0, false
	}
	return q.tasks[0].at, true
}

// pop takes out the earliest; there must be one.
func (q *agenda) pop() func() {
	a := q.tasks
	do, n := a[0].do, len(a)-1
	a[0], a[n] = a[n], task{}
	a = a[:n]
	q.tasks = a
	for i := 0; ; {
		k := 2*i + 1
		if k >= n {
			return do
		}
		if k+1 < n && a[k+1].before(&a[k]) {
			k++
		}
		if !a[k].before(&a[i]) {
			return do
		}
		a[i], a[k] = a[k], a[i]
		i = k
	}
}

// row is what happens at this very instant, one after the other.
type row struct {
	list []func()
	next int
}

func (r *row) push(do func()) { r.list = append(r.list, do) }

func (r *row) pop() (do func(), ok bool) {
	if r.next == len(r.list) {
		r.list, r.next = r.list[:0], 0
		return nil, false
	}
	do, r.list[r.next] = r.list[r.next], nil
	r.next++
	return do, true
}
