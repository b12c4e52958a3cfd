package broker

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
func (c *Core) expect(j *job) {
	j.rec.Queued, j.rec.ExpectedStart = c.now, 0
	if j.rec.EstimateNow > 0 && j.rec.EstimateNow >= c.now-stale {
		j.rec.ExpectedStart = max(c.now, j.rec.EstimateNow)
	}
}

// elsewhere forgets what a job that leaves was expected to do here.
func (c *Core) elsewhere(j *job) { j.rec.Queued, j.rec.ExpectedStart = 0, 0 }

// outcome is what came of one job that started here.
type outcome struct {
	plan.Outcome
	waited bool // for longer than starting takes, with an estimate
}

// began takes a job that started here into the account.
func (c *Core) began(r *grid.Record) {
	if !ranHere(r) {
		return
	}
	if len(c.outcomes) >= 2*keptStarts {
		c.outcomes = slices.Delete(c.outcomes, 0, keptStarts)
	}
	c.outcomes = append(c.outcomes, outcome{
		Outcome: plan.Outcome{Expected: r.ExpectedStart, Start: r.Started},
		waited:  r.ExpectedStart > 0 && r.Started-r.Queued > atOnce,
	})
	c.judged = false
}

// judge tells readers how good the estimates are, if a job started since.
func (c *Core) judge() {
	if c.judged {
		return
	}
	c.judged = true
	latest := c.outcomes[max(0, len(c.outcomes)-keptStarts):]
	var waited []plan.Outcome
	for _, o := range latest {
		if o.waited {
			waited = append(waited, o.Outcome)
		}
	}
	c.emit(ShowAccuracy{Accuracy{len(latest), plan.Judge(waited)}})
}

// remember takes what the journal knows of starts and ends here, each in their order.
func (c *Core) remember(records []grid.Record) {
	order := make([]*grid.Record, len(records))
	for i := range records {
		order[i] = &records[i]
	}
	by := func(when func(*grid.Record) grid.Tick) {
		slices.SortFunc(order, func(a, b *grid.Record) int {
			return cmp.Or(cmp.Compare(when(a), when(b)), cmp.Compare(a.Job.ID, b.Job.ID))
		})
	}
	by(func(r *grid.Record) grid.Tick { return r.Started })
	for _, r := range order {
		c.began(r)
	}
	by(func(r *grid.Record) grid.Tick { return r.Finished })
	for _, r := range order {
		c.learn(r)
	}
}
