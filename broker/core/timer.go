package core

import (
	"container/heap"

	"gbroker/grid"
)

// concern is one of the things a job's timers are for: each has its own timer.
type concern uint8

const (
	onHandoff  concern = iota // owner: Offer, lease, Withdraw, Commit
	onPrepared                // candidate: Ready, Inquire
	onReport                  // owner: report to the home
	onCancelling
	onBatch  // owner: Launch, Probe
	onUpload // home: files that never come
	onPull   // home: outputs
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

func (t *timers) push(at grid.Tick, kind concern, job grid.JobID) {
	t.seq++
	heap.Push(&t.heap, timer{at, t.seq, kind, job})
}

func (t *timers) next() (grid.Tick, bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].at, true
}

// arm sets the timer of a job's concern; an earlier setting is void.
func (c *Core) arm(j *job, k concern, in grid.Tick) {
	j.due[k] = c.now + max(in, 1)
	c.timers.push(j.due[k], k, j.rec.Job.ID)
}

// armed again after the n-th try: twice as long each time, up to RetryMax.
func (c *Core) backoff(j *job, k concern) {
	in := min(c.cfg.Retry<<min(j.tries[k], 20), c.cfg.RetryMax)
	j.tries[k]++
	c.arm(j, k, in)
}

func (c *Core) disarm(j *job, k concern) {
	j.due[k] = 0
	j.tries[k] = 0
}

func (c *Core) armGeneral(k concern, in grid.Tick) {
	at := c.now + max(in, 1)
	c.timers.general[k-concerns] = at
	c.timers.push(at, k, "")
}

func (c *Core) disarmGeneral(k concern) { c.timers.general[k-concerns] = 0 }

// fire runs the timers that are due now.
func (c *Core) fire() {
	for len(c.timers.heap) > 0 && c.timers.heap[0].at <= c.now {
		t := heap.Pop(&c.timers.heap).(timer)
		switch {
		case !c.counts(t):
		case t.kind == acceptedDue:
			c.keepalive(c.accepted[t.job])
		case t.kind >= concerns:
			c.disarmGeneral(t.kind)
			c.generalDue(t.kind)
		default:
			j := c.jobs[t.job]
			j.due[t.kind] = 0
			c.jobDue(j, t.kind)
		}
	}
}

// counts tells that a timer was not disarmed or armed anew since.
func (c *Core) counts(t timer) bool {
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

func (c *Core) generalDue(k concern) {
	switch k {
	case roundDeadline:
		c.endRound()
	case refreshDue:
		c.refresh()
	case retentionDue:
		c.retain()
	case startedDue:
		if c.starting() { // else Step goes on to search by itself
			c.armGeneral(startedDue, c.cfg.EstimateDeadline)
		}
	case passDue:
		c.passes.wanted = true
	case passDeadline:
		c.endPass()
	case seenDue:
		c.askSeen()
	case growthDue:
		c.tellGrowth()
	case recountDue:
		c.recount()
	case requestsDue:
		c.requestsAgain()
	case reconcileDue:
		c.reconcile()
	case whereDeadline:
		c.whereDue()
	}
}

func (c *Core) jobDue(j *job, k concern) {
	switch k {
	case onHandoff:
		c.handoffDue(j)
	case onPrepared:
		c.preparedDue(j)
	case onReport:
		c.report(j)
	case onCancelling:
		if j.isSuperseded() && j.rec.Role == grid.Owning {
			c.relinquish(j)
		}
		c.pursueCancel(j)
	case onBatch:
		c.batchDue(j)
	case onUpload:
		c.uploadDue(j)
	case onPull:
		c.pull(j)
	}
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
