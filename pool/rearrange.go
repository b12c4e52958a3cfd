package pool

import "gbroker/grid"

// Running is a job on a computer. Its work is what is left.
type Running struct {
	Job
	Computer int
}

// Rearrange says which job runs where from now on, where jobs that checkpoint may be stopped and moved. Jobs are counted through those
// that run and then those that wait; who runs and is not among the assignments is stopped. A job that writes no checkpoint stays.
//
// The others go by deadline, each to the weakest computer that ends it in time. What is left of the computers goes to what is left of the
// jobs, in the same order, each to the one that ends it first: there it gets on until somebody needs the computer.
func Rearrange(now grid.Tick, computers []Computer, running []Running, waiting []Job) (out []Assignment) {
	n := len(running) + len(waiting)
	jobs, at, placed := make([]Job, 0, n), make([]int, 0, n), make([]bool, n)
	empty, rule := make([]Computer, len(computers)), EDF
	for i, c := range computers {
		c.Free = 0
		empty[i] = c
	}
	s, left := newShelf(now, &rule, empty), newEnds(now, empty)
	left.taken = make([]bool, len(computers))
	give := func(job, c int, end grid.Tick) {
		s.free[c], left.taken[c], placed[job] = Never, true, true
		out = append(out, Assignment{job, c, end})
	}
	for i, r := range running {
		jobs, at = append(jobs, r.Job), append(at, r.Computer)
		if !r.Checkpoints {
			give(i, r.Computer, computers[r.Computer].Forecast.End(now, r.Work))
		}
	}
	for _, j := range waiting {
		jobs, at = append(jobs, j), append(at, -1)
	}
	order := rule.order(now, empty, jobs)
	for _, i := range order {
		if placed[i] || jobs[i].Deadline == 0 {
			continue
		}
		if p, ok := s.find(&jobs[i], true); ok {
			give(i, p.Computer, p.End)
		}
	}
	for _, i := range order {
		if placed[i] {
			continue
		}
		if c, end := left.soonest(&jobs[i], at[i]); c >= 0 {
			give(i, c, end)
		}
	}
	return out
}
