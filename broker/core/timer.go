package core

import (
	"slices"

	"gbroker/grid"
)

// concern is one of the things a job's timers are for: each has its own timer.
type concern uint8

const (
	onHandoff  concern = iota // owner: Offer, lease, Withdraw, Commit
	onPrepared                // candidate: Ready, Inquire
	onReport                  // owner: report to the home
	onCancelling
	onBatch    // owner: Launch, Probe
	onUpload   // home: files that never come
	onPull     // home: outputs
	onDue      // home: a job that is not to start before an instant
	onNotice   // home: what its user is to be told
	onDeadline // owner: by when it must have ended
	concerns
)

// general timers belong to no job.
const (
	roundDeadline = concerns + iota
	refreshDue
	retentionDue
	startedDue // the members have spoken, or are not waited for any more
	passDue
	passDeadline
	seenDue     // members that have not said what they saw of this broker
	growthDue   // how far this journal is
	recountDue  // after a rollback
	requestsDue // users' requests passed on
	reconcileDue
	whereDeadline
	groupsDue // more jobs may enter, or are to be removed
	allocationsDue
	bookDue // reservations: limits, leases, words, tries
	holdingsDue
	startsDue // members may have to be told when jobs would start here
	generals
	// acceptedDue belongs to an acceptance, which has no record yet.
	acceptedDue
)

// timer is one entry of the heap. It is void if its concern was armed anew since.
type timer struct {
	at   grid.Tick
	seq  uint64
	kind concern
	job  grid.JobID
}

// timers is a heap by (at, seq): equal instants fire in the order of arming.
type timers struct {
	heap    timerHeap
	seq     uint64
	general [generals - concerns]grid.Tick
}

// pushTimer puts a timer into the heap. One that is full lets its void timers go before it grows: some are armed for
// days, and disarmed at once.
func (c *kernel) pushTimer(at grid.Tick, kind concern, job grid.JobID) {
	t := &c.timers
	if len(t.heap) == cap(t.heap) && len(t.heap) >= fewTimers {
		t.heap = slices.DeleteFunc(t.heap, func(o timer) bool { return !c.counts(o) })
		t.heap.order()
		if kept := len(t.heap); kept > cap(t.heap)/2 { // else the next time would come too soon
			t.heap = slices.Grow(t.heap, kept)
		}
	}
	t.seq++
	t.heap.push(timer{at, t.seq, kind, job})
}

// fewTimers are not worth to be looked through.
const fewTimers = 64

func (t *timers) next() (grid.Tick, bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].at, true
}

// arm sets the timer of a job's concern; an earlier setting is void.
func (c *kernel) arm(j *job, k concern, in grid.Tick) {
	j.due[k] = c.now + max(in, 1)
	c.pushTimer(j.due[k], k, j.rec.Job.ID)
}

// backoff again after the n-th try: twice as long each time, up to RetryMax.
func (c *kernel) backoff(j *job, k concern) {
	in := min(c.cfg.Retry<<min(j.tries[k], 20), c.cfg.RetryMax)
	j.tries[k]++
	c.arm(j, k, in)
}

func (c *kernel) disarm(j *job, k concern) {
	j.due[k] = 0
	j.tries[k] = 0
}

// rest disarms all that is armed for a job.
func (c *kernel) rest(j *job) { j.due, j.tries = [concerns]grid.Tick{}, [concerns]int{} }

func (c *kernel) armGeneral(k concern, in grid.Tick) {
	at := c.now + max(in, 1)
	c.timers.general[k-concerns] = at
	c.pushTimer(at, k, "")
}

// armWithin has one that belongs to no job be due in so long at the latest: what comes often puts off nothing that waits.
func (c *kernel) armWithin(k concern, in grid.Tick) {
	if due := c.timers.general[k-concerns]; due == 0 || due > c.now+in {
		c.armGeneral(k, in)
	}
}

func (c *kernel) disarmGeneral(k concern) { c.timers.general[k-concerns] = 0 }

// counts tells that a timer was not disarmed or armed anew since.
func (c *kernel) counts(t timer) bool {
	switch {
	case t.kind == acceptedDue:
		a := c.accepted[t.job]
		return a != nil && a.due == t.at
	case t.kind >= concerns:
		return c.timers.general[t.kind-concerns] == t.at
	}
	j := c.jobs[t.job]
	return j != nil && j.due[t.kind] == t.at
}

// timerHeap is a binary heap. It is not one of container/heap, which allocates each timer that comes and goes.
type timerHeap []timer

func (t *timer) before(o *timer) bool { return t.at < o.at || t.at == o.at && t.seq < o.seq }

func (h *timerHeap) push(t timer) {
	*h = append(*h, t)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list[i].before(&list[up]) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

// pop takes the first timer out; there must be one.
func (h *timerHeap) pop() timer {
	list := *h
	first, last := list[0], len(list)-1
	list[0], list[last] = list[last], timer{}
	*h = list[:last]
	h.sink(0)
	return first
}

// order makes a heap of any list.
func (h *timerHeap) order() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// sink puts one where it belongs among those below it.
func (h *timerHeap) sink(i int) {
	list := *h
	for {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(list); k++ {
			if list[k].before(&list[least]) {
				least = k
			}
		}
		if least == i {
			return
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
}
