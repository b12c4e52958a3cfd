package faults

import "gbroker/grid"

// event is something that will happen in the world.
type event struct {
	at  grid.Tick
	seq uint64 // events of one instant happen in the order in which they were planned
	run func()

	by   *host // whose process does it, as long as it lives; nil: the world
	life int   // of that process
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// later runs something in this life of the process, unless it is stopped: then when it
// goes on. The span is true time.
func (h *host) later(d grid.Tick, run func()) {
	h.s.w.push(d, event{run: run, by: h, life: h.life})
}

// inLife runs something now, or when the process goes on, if it still has that life then.
func (h *host) inLife(life int, run func()) {
	switch {
	case !h.up || h.life != life:
	case h.frozen:
		h.thaw = append(h.thaw, func() {
			if h.up && h.life == life {
				run()
			}
		})
	default:
		run()
	}
}

// soon runs something now, or when the process goes on.
func (h *host) soon(run func()) {
	if h.frozen {
		h.thaw = append(h.thaw, run)
		return
	}
	run()
}

// queue is a binary heap of events.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// pop takes the first event out; the queue must not be empty.
func (q *queue) pop() event {
	h := *q
	first, n := h[0], len(h)-1
	h[0] = h[n]
	h[n] = event{}
	h = h[:n]
	*q = h
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < n && h[k].before(&h[least]) {
				least = k
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
