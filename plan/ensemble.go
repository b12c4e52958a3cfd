package plan

import (
	"slices"

	"gbroker/grid"
)

// Ensemble are plans of one snapshot by several draws of run times ([Beliefs.Draw]), an odd number. Jobs that end at other times than is likely do not make
// up for each other: who waits for the last of several waits longer than by the median of each. So a start is the median of its starts
// in the plans, in which a job that does not start in one comes last.
type Ensemble []*Plan

// Foresee makes the [Likely] plan of each draw.
func Foresee(s Snapshot, draws []Runs) Ensemble {
	e := make(Ensemble, len(draws))
	for i := range draws {
		e[i] = Likely(s, &draws[i])
	}
	return e
}

// Ask is as [Plan.Ask].
func (e Ensemble) Ask(q Question) (grid.Tick, *grid.Refusal) {
	var room [maxDraws]answer
	answers := room[:0]
	for _, p := range e {
		start, refusal := p.Ask(q)
		answers = append(answers, answer{start, refusal})
	}
	return median(answers)
}

// Start is as [Plan.Start].
func (e Ensemble) Start(job grid.JobID) (grid.Tick, bool) {
	var room [maxDraws]answer
	answers := room[:0]
	for _, p := range e {
		start, ok := p.Start(job)
		a := answer{start: start}
		if !ok {
			a.refusal = &grid.Refusal{Reason: notPlanned}
		}
		answers = append(answers, a)
	}
	start, refusal := median(answers)
	return start, refusal == nil
}

const notPlanned = "no start is planned"

// answer is a start, or why not.
type answer struct {
	start   grid.Tick
	refusal *grid.Refusal
}

// median orders the answers, and is that in the middle.
func median(answers []answer) (grid.Tick, *grid.Refusal) {
	slices.SortStableFunc(answers, func(a, b answer) int {
		switch {
		case a.refusal == nil && b.refusal == nil:
			return int(min(max(a.start-b.start, -1), 1))
		case a.refusal == nil:
			return -1
		case b.refusal == nil:
			return 1
		}
		return 0
	})
	m := answers[len(answers)/2]
	return m.start, m.refusal
}

// EnsembleBatch is a [Batch] of an ensemble: a job that comes counts in each plan where it stands there.
type EnsembleBatch []*Batch

// Batch begins a row of questions.
func (e Ensemble) Batch() EnsembleBatch {
	b := make(EnsembleBatch, len(e))
	for i, p := range e {
		b[i] = p.Batch()
	}
	return b
}

// Ask is as [Batch.Ask]. Whether the job comes is decided by the median.
func (e EnsembleBatch) Ask(q Question) (grid.Tick, *grid.Refusal) {
	var room [maxDraws]answer
	var works [maxDraws]*work
	answers := room[:0]
	for i, b := range e {
		start, w, refusal := b.f.ask(&q)
		answers, works[i] = append(answers, answer{start, refusal}), w
	}
	each := room // the median orders what it is given
	start, refusal := median(answers)
	if refusal != nil || !q.comes(start) {
		return start, refusal
	}
	for i, b := range e {
		if each[i].refusal == nil {
			b.take(&q, each[i].start, works[i])
		}
	}
	return start, nil
}
