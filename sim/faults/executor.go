package faults

import (
	"gbroker/broker/core"
	"gbroker/grid"
)

// work is one slow effect.
type work struct {
	begin   func() (span grid.Tick) // what happens at once, and how long it takes
	end     func(stopped bool)
	stopped bool
	done    bool
}

// do queues work.
func (h *host) do(k core.WorkKey, w *work) {
	h.executor[k] = append(h.executor[k], w)
	if len(h.executor[k]) == 1 {
		h.beginWork(k)
	}
}

func (h *host) beginWork(k core.WorkKey) {
	w := h.executor[k][0]
	h.later(w.begin(), func() { h.endWork(k, w) })
}

func (h *host) endWork(k core.WorkKey, w *work) {
	if w.done {
		return
	}
	w.done = true
	rest := h.executor[k][1:]
	if len(rest) > 0 {
		h.executor[k] = rest
	} else {
		delete(h.executor, k)
	}
	life := h.life
	w.end(w.stopped)
	if h.life == life && len(rest) > 0 {
		h.beginWork(k)
	}
}

// stop ends what is at work under a key; what is queued behind it goes on.
func (h *host) stop(k core.WorkKey) {
	if q := h.executor[k]; len(q) > 0 && !q[0].done {
		q[0].stopped = true
		w := q[0]
		h.later(1, func() { h.endWork(k, w) })
	}
}
