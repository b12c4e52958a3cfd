package external

import (
	"gbroker/grid"
	"gbroker/plan"
)

// What two listings one after the other show of the scheduler's own cycle.

// startsSince are the jobs that had waited in the first, and run, or have run, in the second.
func startsSince(before, now Listing) (list []plan.Started) {
	waited := make(map[grid.LocalID]bool)
	for _, j := range before.Jobs {
		if j.State == Queued && j.NeverStarted && j.Reservation == "" {
			waited[j.Local] = true
		}
	}
	for _, j := range now.Jobs {
		if waited[j.Local] && j.Started > 0 && j.Submitted > 0 {
			list = append(list, plan.Started{At: j.Started, Since: j.Submitted})
		}
	}
	return list
}

// endsSince are the ends that the second shows, of jobs that had nodes in the first or were not there.
func endsSince(before, now Listing) (ends []grid.Tick) {
	old := make(map[grid.LocalID]bool)
	for _, j := range before.Jobs {
		if j.State == Done {
			old[j.Local] = j.Finished <= before.At-ripe
		}
	}
	for _, j := range now.Jobs {
		if j.State == Done && j.Finished > 0 && j.Started > 0 && !old[j.Local] {
			ends = append(ends, j.Finished)
		}
	}
	return ends
}

// ripe is for how long an end may be the reason for a start that is seen later.
const ripe = 10 * grid.Minute

// lag is how late the scheduler reacts to ends, as far as is known.
func (p *poller) lag() plan.Lag {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := grid.Tick(0)
	if p.good != nil {
		interval = p.good.Looks
	}
	return p.cycle.Lag(interval)
}
