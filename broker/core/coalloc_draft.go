package core

import (
	"fmt"

	"gbroker/budget"
	"gbroker/grid"
	"gbroker/plan"
)

// A draft is the plan of a job over several sites that nobody has handed in ([Where]): the same question to the same
// sites, and the choice that would be made if it alone waited, of which nothing is kept.
type draft struct {
	asking
	job   *grid.Record
	round uint64
	until grid.Tick
	tell  func(grid.SlotChoice)
}

// foresee has told what would be chosen for a job.
func (s *coallocation) foresee(r *grid.Record, tell func(grid.SlotChoice)) {
	d := &draft{job: r, round: s.wholes.round(), until: s.wholes.instant() + answerWithin, tell: tell}
	s.drafts[r.Job.ID] = d
	s.stale[r.Job.ID] = true
	s.ask(&d.asking, r, d.round, false)
}

// weighDraft tells what would be chosen when all have answered, or the deadline has passed.
func (s *coallocation) weighDraft(d *draft) {
	if len(d.sent) > 0 && s.wholes.instant() < d.until {
		s.wholes.again(d.until)
		return
	}
	delete(s.drafts, d.job.Job.ID)
	w, choice := s.waits(d.job, &d.asking, &d.asking)
	if d.job.Job.Coallocation.Reach {
		w.Meet = s.meets(d.sites)
	}
	got := plan.Allocated{}
	if err := w.Check(); err != nil {
		got.Why = err.Error()
	} else {
		got = plan.Lookahead([]plan.Waits{w}, s.cfg.Window, s.offersOf(&d.asking, nil, s.holding()))[0].Allocated
	}
	s.paid(&d.job.Job, &got)
	became(&choice, &got)
	d.tell(choice)
}

// paid tells whether the budget of the job's user covers a choice. Of one that it does not cover nothing is left but why: nothing is reserved
// for nothing, and a round of it would be given up.
func (s *coallocation) paid(j *grid.Job, got *plan.Allocated) bool {
	short := s.unpaid(j, got)
	if short != nil {
		*got = plan.Allocated{Best: got.Best, Why: short.Error()}
	}
	return short == nil
}

// unpaid says of which of the chosen sites the budget of the job's user does not cover what it asks, beside those before it; nil of none.
func (s *coallocation) unpaid(j *grid.Job, got *plan.Allocated) error {
	costs := make([]grid.Amount, len(got.Parts))
	for i := range got.Parts {
		rate, cores := rateOf(&got.Parts[i])
		costs[i] = budget.CostOf(rate, cores, got.Limit)
	}
	at, no := s.wholes.short(j, costs)
	if no == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", got.Parts[at].Site, words(no))
}
