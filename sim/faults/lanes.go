package faults

import "gbroker/grid"

// lane is one of the queues of slow effects of a job: what is on it is done one after
// another. The bounds on how many lanes work at once are not modelled.
type lane struct {
	kind laneKind
	job  grid.JobID
}

type laneKind uint8

const (
	batchLane laneKind = iota
	fileLane
	fetchLane
	lookLane
)

// work is one effect on a lane.
type work struct {
	begin   func() (span grid.Tick) // what happens at once, and how long it takes
	end     func(stopped bool)
	stopped bool
	done    bool
}

// do queues work.
func (h *host) do(k lane, w *work) {
	h.lanes[k] = append(h.lanes[k], w)
	if len(h.lanes[k]) == 1 {
		h.beginWork(k)
	}
}

func (h *host) beginWork(k lane) {
	w := h.lanes[k][0]
	h.later(w.begin(), func() { h.endWork(k, w) })
}

func (h *host) endWork(k lane, w *work) {
	if w.done {
		return
	}
	w.done = true
	rest := h.lanes[k][1:]
	if len(rest) > 0 {
		h.lanes[k] = rest
	} else {
		delete(h.lanes, k)
	}
	life := h.life
	w.end(w.stopped)
	if h.life == life && len(rest) > 0 {
		h.beginWork(k)
	}
}

// stop ends what is at work on a lane; what is queued behind it goes on.
func (h *host) stop(k lane) {
	if q := h.lanes[k]; len(q) > 0 && !q[0].done {
		q[0].stopped = true
		w := q[0]
		h.later(1, func() { h.endWork(k, w) })
	}
}
