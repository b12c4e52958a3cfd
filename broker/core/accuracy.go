package core

import (
	"cmp"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// How good this site's estimates are. When a job is submitted to the batch system
// here, the estimate of its start at that moment is kept in its record; when it has
// started, the two are compared, and the sum of the latest is told.

const (
	keptStarts = 1000        // of the jobs that started here, the latest
	atOnce     = grid.Second // a start within it was no wait: it is what starting takes
	stale      = grid.Minute // an estimate that lies further back says nothing
)

// Accuracy is how good the estimates of the latest jobs were that started here.
type Accuracy struct {
	Started int // jobs; those of plan.Accuracy had to wait
	plan.Accuracy
}

// expect keeps the estimate of the start of a job that is submitted here now.
func (c *estimator) expect(j *job) {
	j.rec.Queued, j.rec.ExpectedStart = c.now, 0
	if j.rec.EstimateNow > 0 && j.rec.EstimateNow >= c.now-stale {
		j.rec.ExpectedStart = max(c.now, j.rec.EstimateNow)
	}
}

// outcome is what came of one job that started here.
type outcome struct {
	plan.Outcome
	queued grid.Tick
	waited bool // for longer than starting takes, with an estimate
}

// run is what the account keeps of a job that ran here, until it is in it.
type run struct {
	id                                grid.JobID
	queued, expected, started, finish grid.Tick
	end                               grid.State
	trait                             plan.Trait
}

// runOf is false for a job that this site's batch system has not started.
func (c *estimator) runOf(r *grid.Record) (run, bool) {
	if !ranHere(r) {
		return run{}, false
	}
	return run{r.Job.ID, r.Queued, r.ExpectedStart, r.Started, r.Finished, r.End, c.trait(&r.Job)}, true
}

// began takes a job that started here into the account.
func (c *estimator) began(r *grid.Record) {
	if x, did := c.runOf(r); did {
		c.tally(x)
	}
}

func (c *estimator) tally(x run) {
	c.judgeSpread(x)
	if len(c.outcomes) >= 2*keptStarts {
		c.outcomes = slices.Delete(c.outcomes, 0, keptStarts)
	}
	c.outcomes = append(c.outcomes, outcome{
		Outcome: plan.Outcome{Expected: x.expected, Start: x.started},
		queued:  x.queued,
		waited:  x.expected > 0 && x.started-x.queued > atOnce,
	})
	c.judged = false
	clear(c.spreads[:])
}

// latest are those that are judged by.
func (c *estimator) latest() []outcome { return c.outcomes[max(0, len(c.outcomes)-keptStarts):] }

// judge tells readers how good the estimates are, if a job started since.
func (c *estimator) judge() {
	if c.judged {
		return
	}
	c.judged = true
	latest := c.latest()
	var waited []plan.Outcome
	for _, o := range latest {
		if o.waited {
			waited = append(waited, o.Outcome)
		}
	}
	c.emit(ShowAccuracy{Accuracy{len(latest), plan.Judge(waited)}})
}

// remember takes what the journal knows of starts and ends here, each in their order.
func (c *estimator) remember(ran []run) {
	by := func(when func(run) grid.Tick) {
		slices.SortFunc(ran, func(a, b run) int {
			return cmp.Or(cmp.Compare(when(a), when(b)), cmp.Compare(a.id, b.id))
		})
	}
	by(func(x run) grid.Tick { return x.started })
	for _, x := range ran {
		c.tally(x)
	}
	by(func(x run) grid.Tick { return x.finish })
	for _, x := range ran {
		c.learnRun(x)
	}
}
