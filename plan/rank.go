package plan

import (
	"cmp"
	"slices"
)

// Rank learns which rank among the errors of before the next error will exceed in one of ten times, or as often as Beyond says. Were the next like those
// before, it would be nine tenths; where it is more often beyond, as errors grow or come in crowds, the rank rises, and else it
// falls, until it is that (adaptive conformal inference). The zero value has learned nothing.
type Rank struct {
	// Beyond is the share that is to exceed it; 0 is a tenth.
	Beyond float64
	moved  float64 // the rank, from where Beyond would have it
}

const (
	aTenth   = 0.1
	rankStep = 0.02 // how far a rank moves at most in one step
	lowest   = 0.5
	highest  = 1.5 // beyond 1 the largest error is exceeded
)

// Judge takes one outcome: whether it was beyond what had been told by the rank.
func (r *Rank) Judge(out bool) {
	beyond := r.beyond()
	step := -beyond
	if out {
		step = 1 - beyond
	}
	r.moved = min(max(r.moved+rankStep*step, lowest-(1-beyond)), highest-(1-beyond))
}

func (r *Rank) beyond() float64 { return cmp.Or(r.Beyond, aTenth) }

// Of is the error of that rank among sorted ones, of which there is one at least. A rank beyond 1 is as far beyond the
// largest as that is from the middle, for each tenth of it.
func (r *Rank) Of(sorted []float64) float64 {
	n := len(sorted)
	rank := 1 - r.beyond() + r.moved
	last := sorted[n-1]
	if rank >= 1 {
		return last + (last-sorted[n/2])*(rank-1)*10
	}
	return sorted[min(max(int(rank*float64(n+1)+1e-9), 1), n)-1]
}

// Window are the last so many errors.
type Window struct {
	last, sorted []float64
}

const keptErrors = 300

// Add takes one more error.
func (w *Window) Add(e float64) {
	if len(w.last) == keptErrors {
		at, _ := slices.BinarySearch(w.sorted, w.last[0])
		w.sorted = slices.Delete(w.sorted, at, at+1)
		w.last = append(w.last[:0], w.last[1:]...)
	}
	w.last = append(w.last, e)
	at, _ := slices.BinarySearch(w.sorted, e)
	w.sorted = slices.Insert(w.sorted, at, e)
}

// Sorted are the errors in order; the caller leaves them as they are.
func (w *Window) Sorted() []float64 { return w.sorted }
