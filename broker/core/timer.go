package core

import (
	"container/heap"
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
		heap.Init(&t.heap)
		if kept := len(t.heap); kept > cap(t.heap)/2 { // else the next time would come too soon
			t.heap = slices.Grow(t.heap, kept)
		}
	}
	t.seq++
	heap.Push(&t.heap, timer{at, t.seq, kind, job})
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

func (c *kernel) armGeneral(k concern, in grid.Tick) {
	at := c.now + max(in, 1)
	c.timers.general[k-concerns] = at
	c.pushTimer(at, k, "")
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

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(a, b int) bool {
	if h[a].at != h[b].at {
		return h[a].at < h[b].at
	}
	return h[a].seq < h[b].seq
}
func (h timerHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
