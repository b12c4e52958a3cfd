package core

import (
	"math"

	"gbroker/grid"
	"gbroker/plan"
)

// A site that is nearly full counts a little more for a job that has no place yet, by how long the job would keep its
// cores: those who come there next would have to wait for them, or to go elsewhere. Among a hundred sites under load,
// where each job may go to few of them, that shortens the waits of all (docs/experiments.md says by how much); the job
// itself is later by that share of its run at most. [Config.Published] is without it, and so is the search for jobs that wait.

const (
	crowdedFrom  = 0.8      // of its cores are taken, or waited for
	crowdedShare = 1.0 / 15 // of the run, where all are
)

// crowded adds that to a row of which the times are known.
func (c *search) crowded(row *grid.Candidate, l grid.Load) {
	if row.Refusal != nil || c.cfg.Published || l.Cores <= 0 {
		return
	}
	if taken := min(float64(l.Busy)/float64(l.Cores), 1); taken >= crowdedFrom {
		row.Crowded = grid.FromSeconds(crowdedShare * math.Pow(taken, 4) * row.Run.Seconds())
		row.Total += row.Crowded
	}
}

// factsOf is what this broker says of its site with an estimate: its load as of the snapshot, of which what waits and
// what is coming counts as busy.
func (c *estimator) factsOf(s plan.Snapshot) grid.Site {
	f := c.brief()
	f.Load = loadOf(s)
	return f
}

func loadOf(s plan.Snapshot) (l grid.Load) {
	for i := range s.Nodes {
		if !s.Nodes[i].Down {
			l.Cores += s.Nodes[i].Cores
		}
	}
	for i := range s.Running {
		for _, h := range s.Running[i].Shares {
			l.Busy += h.Cores
		}
	}
	l.Waiting = len(s.Waiting)
	for i := range s.Waiting {
		if !s.Waiting[i].Ineligible {
			l.Busy += s.Waiting[i].Demand.Cores()
		}
	}
	l.Busy = min(l.Busy, l.Cores)
	return l
}
