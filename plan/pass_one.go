package plan

import (
	"sort"

	"gbroker/grid"
)

// The pass of several reservations (pass_many.go) with one is not the same: it keeps the first nodes with room, and for
// good. This one is there for what it answers and not for its speed, which is less: the other takes 0.6 to 0.9 of its
// time. But by the other half of the jobs and more start at other instants, they wait 1 to 2 % longer in all, and on
// nodes of one core they no longer start as where cores are only counted; see "Which nodes" in the package comment.
//
//	go test ./plan -run - -bench OneReservationBySeveral -benchtime 5x

// headReservation is what EASY with one reservation and EASYSJBF keep for the head of
// the queue. When the head starts is found once; which nodes it will have is chosen
// anew in each pass, for backfill changes which of them come free the latest.
type headReservation struct {
	job     int32 // -1: nobody
	shadow  grid.Tick
	limit   grid.Tick
	parts   []portion
	amounts []int64
	taken   bool // the lines show it
}

// inOrder starts from the head of the queue until one does not fit: its position, or -1.
func (e *schedule) inOrder() int {
	for {
		p := e.queue.head()
		if p < 0 {
			return -1
		}
		job := e.queue.jobs[p]
		if !e.placeNow(&e.works[job]) && !e.placeAsReserved(job) {
			return p
		}
		e.leave(p)
		e.start(job)
	}
}

// placeAsReserved gives the head what was kept for it: of several chunks the placer
// may miss it.
func (e *schedule) placeAsReserved(job int32) bool {
	r := &e.one
	if r.job != job || e.now < r.shadow || len(e.works[job].pieces) == 1 {
		return false
	}
	for i, p := range r.parts {
		l := &e.lines[p.node]
		if l.Least(e.now, e.now+r.limit, r.amounts[i*e.width:(i+1)*e.width], e.placer.room) != 0 {
			return false
		}
	}
	e.placer.parts = append(e.placer.parts[:0], r.parts...)
	e.placer.amounts = append(e.placer.amounts[:0], r.amounts...)
	return true
}

// backfill is the pass of EASY with one reservation and of EASYSJBF. Who starts behind
// the head changes which nodes come free the latest, and with them what the head may
// have: it is gone through again until nobody starts, as a scheduler does that looks at
// its queue after each start. Where all nodes are alike that finds nobody; see "Which nodes".
func (e *schedule) backfill() {
	if e.early {
		e.one.job = -1
	}
	for {
		before := len(e.started)
		e.backfillOnce()
		if e.alike() || len(e.started) == before || e.one.job < 0 || e.total == 0 {
			return
		}
		e.dropHeadReservation()
		e.failures = e.failures[:0]
	}
}

func (e *schedule) backfillOnce() {
	head := e.inOrder()
	for head >= 0 && e.total > 0 && !e.reserveHead(e.queue.jobs[head]) {
		e.leave(head) // it can never start, and blocks nobody
		head = e.inOrder()
	}
	if head < 0 || e.total == 0 {
		return
	}
	behind := e.queue
	if e.short != nil {
		behind = e.short
	}
	look := behind.look(e.wish())
	for p := behind.next(); p >= 0; p = behind.next() {
		job := behind.jobs[p]
		switch {
		case job == e.one.job:
		case e.placeNow(&e.works[job]):
			e.leave(int(e.position[job]))
			e.start(job)
			look.wish = e.wish()
		default:
			behind.refused(&e.works[job], e.even())
		}
	}
}

// reserveHead finds when the head will start, and takes its nodes then; false where
// it never can.
func (e *schedule) reserveHead(job int32) bool {
	w, r := &e.works[job], &e.one
	if r.job != job || r.shadow <= e.now {
		r.job, r.shadow, r.limit = job, e.shadow(w), w.limit
		if r.shadow == never {
			r.job = -1
			return false
		}
	}
	if !e.latestFreed(w, r.shadow) {
		if e.prepare(w); !e.placeAt(w, r.shadow) {
			r.job = -1 // several chunks again: seek anew in this pass
			return e.reserveHead(job)
		}
	}
	r.parts = append(r.parts[:0], e.placer.parts...)
	r.amounts = append(r.amounts[:0], e.placer.amounts...)
	e.showHeadReservation(-1)
	return true
}

// shadow is when a work that does not fit now will. Mostly that is as soon as the site
// as a whole has room, and for one chunk no order of nodes misses it.
func (e *schedule) shadow(w *work) grid.Tick {
	if len(w.pieces) == 1 {
		if t := e.profile.next(e.now+1, w.cores, w.limit); t != never && e.latestFreed(w, t) {
			return t
		}
	}
	return e.earliest(w, e.now+1)
}

// showHeadReservation takes (-1) the reservation from the lines, or gives it back.
func (e *schedule) showHeadReservation(sign int64) {
	r := &e.one
	for i, p := range r.parts {
		l := &e.lines[p.node]
		first, end := l.Change(r.shadow, r.shadow+r.limit, r.amounts[i*e.width:(i+1)*e.width], sign)
		l.Settle(first, end, e.width)
		n := int(p.node)
		if e.count[n] -= int32(sign); e.count[n] > 0 {
			e.ahead.add(n)
		} else {
			e.ahead.drop(n)
		}
	}
	r.taken = sign < 0
}

func (e *schedule) dropHeadReservation() {
	if e.one.taken {
		e.showHeadReservation(+1)
	}
}

// latestFreed finds a place for a work at t on the nodes that come free the latest:
// first where something ends last before t, in the end where there is room now.
func (e *schedule) latestFreed(w *work, t grid.Tick) bool {
	e.placer.begin(w)
	seen := e.scratch
	clear(seen)
	i := sort.Search(len(e.promised), func(i int) bool { return e.promised[i].at > t })
	for i--; i >= 0; i-- {
		b := &e.allocations[e.promised[i].id]
		for _, p := range e.parts[b.lo:b.hi] {
			n := int(p.node)
			if !w.class.nodes.has(n) || seen.has(n) {
				continue
			}
			seen.add(n)
			if e.offer(n, t, t+w.limit) {
				return true
			}
		}
	}
	for i := range seen {
		seen[i] = w.class.nodes[i] & e.open[i] &^ seen[i]
	}
	for n := seen.next(0); n >= 0; n = seen.next(n + 1) {
		if e.offer(n, t, t+w.limit) {
			return true
		}
	}
	return e.placer.placed()
}

// lostToHead is how many cores that are free now the head's reservation takes from a
// job that runs beyond its start.
func (e *schedule) lostToHead() int64 {
	var lost int64
	for _, p := range e.one.parts {
		l := &e.lines[p.node]
		then := l.Free[l.Holding(e.one.shadow, l.Head)*e.width]
		lost += max(max(l.Free[l.Head*e.width], 0)-max(then, 0), 0)
	}
	return lost
}

// firstFit is the pass of FirstFit.
func (e *schedule) firstFit() {
	if e.policy.Overtakes > 0 {
		e.firstFitWithBarriers(int32(e.policy.Overtakes))
		return
	}
	e.startAll()
}

// startAll starts who fits now, in the order of the queue.
func (e *schedule) startAll() {
	look := e.queue.look(e.wish())
	for p := e.queue.next(); p >= 0; p = e.queue.next() {
		job := e.queue.jobs[p]
		if !e.placeNow(&e.works[job]) {
			e.queue.refused(&e.works[job], e.even())
			continue
		}
		e.leave(p)
		e.start(job)
		look.wish = e.wish()
	}
}

// firstFitWithBarriers also counts who is overtaken. While the pass goes on, the mark
// of who stays is less what had started before it was looked at, so that in the end
// the number of starts is added to all.
func (e *schedule) firstFitWithBarriers(barrier int32) {
	var starts int32
	worst := int32(-most)
	var stay []int32
	for p := e.queue.head(); p >= 0 && e.total > 0; p = e.queue.following(p) {
		if worst+starts >= barrier {
			break
		}
		job := e.queue.jobs[p]
		if e.placeNow(&e.works[job]) {
			e.leave(p)
			e.start(job)
			starts++
			continue
		}
		worst = max(worst, e.passed[job]-starts)
		stay = append(stay, job)
		e.passed[job] -= starts
	}
	e.barred = worst+starts >= barrier
	for _, job := range stay {
		e.passed[job] = min(e.passed[job]+starts, most)
	}
}
