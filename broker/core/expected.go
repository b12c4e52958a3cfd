package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/plan"
)

// showEstimates tells readers, and the homes, when their waiting jobs will start, or why
// nobody can say.
func (c *estimator) showEstimates(s plan.Snapshot, o *forecast) {
	for i := range s.Waiting {
		w := &s.Waiting[i]
		a, j := c.accepted[w.Job], c.jobs[w.Job]
		if w.Job == "" || a == nil && j == nil {
			continue
		}
		stay, planned := o.runs(w.Job)
		start := stay.Start
		switch {
		case planned && a != nil:
			a.start = start
		case j == nil:
		case planned && j.rec.Role == grid.Prepared:
			j.rec.EstimateNow = start
		case j.rec.Role == grid.Owning && j.rec.State == grid.Assigned && planned:
			c.showEstimate(j, start, clip(stay.Doubt))
		case j.rec.Role == grid.Owning && j.rec.State == grid.Assigned && j.rec.Local != "":
			c.showEstimate(j, 0, unplanned(&s, w))
		}
	}
}

// unplanned is why a job that waits here has no planned start.
func unplanned(s *plan.Snapshot, w *plan.Waiting) string {
	if s.Stopped {
		return "waits in the batch system, which starts no jobs now: " + s.Why
	}
	for _, q := range s.Queues {
		if q.Name == w.Queue && q.Stopped {
			return fmt.Sprintf("waits in queue %s, of which no jobs are started now: %s", q.Name, q.Why)
		}
	}
	text := "waits in the batch system, and cannot start as the site is now"
	if s.Forecast != nil {
		text = "waits in the pool, where no computer is foreseen to end it in time"
	}
	if w.Ineligible {
		text = "held in the batch system"
	}
	if w.Why != "" {
		text += ": " + clip(w.Why)
	}
	return text
}

// showEstimate keeps the expected start of a job; 0 is none, for the reason why.
func (c *estimator) showEstimate(j *job, start grid.Tick, why string) {
	d := start - j.rec.EstimateNow
	if news := j.obstructed(why); !news && d < grid.Second && d > -grid.Second {
		return
	}
	j.rec.EstimateNow = start
	c.show(j)
	if !c.isHome(j) && c.now-j.told >= c.cfg.Refresh {
		j.told = c.now
		c.home.report(j)
	}
}
