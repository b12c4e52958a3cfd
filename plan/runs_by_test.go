package plan

import "gbroker/grid"

// belief tells how long a job runs in all that has run for elapsed.
type belief func(t Trait, elapsed grid.Tick) grid.Tick

// runsBy are the run times of the jobs of a snapshot by a belief.
func runsBy(s *Snapshot, believe belief) *Runs {
	if believe == nil {
		return nil
	}
	r := &Runs{}
	for i := range s.Running {
		r.Running = append(r.Running, believe(s.Running[i].Trait, max(s.At-s.Running[i].Start, 0)))
	}
	for i := range s.Waiting {
		r.Waiting = append(r.Waiting, believe(s.Waiting[i].Trait, 0))
	}
	return r
}
