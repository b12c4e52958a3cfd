package pool

import (
	"math"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
)

// Assignment is one job on one computer, by their places in what was given, and when it is expected to end.
type Assignment struct {
	Job, Computer int
	End           grid.Tick
}

// Assign says which of the waiting jobs begin now on which of the computers that are free. Computers that are busy
// are told too, with when they come free. Chance is looked at where a rule draws a computer.
func (r Rule) Assign(now grid.Tick, computers []Computer, jobs []Job, chance *rand.Rand) []Assignment {
	free := 0
	for i := range computers {
		free += computers[i].rooms(now)
	}
	switch {
	case free == 0 || len(jobs) == 0:
		return nil
	case r.Fit == AnyFit:
		return r.byComputer(now, computers, jobs, chance)
	case r.Wait == 0:
		out, _ := r.byJob(now, computers, jobs, free)
		return out
	}
	out, crowded := r.byJob(now, computers, jobs, len(computers))
	if crowded && r.Crowded != r.Order {
		r.Order = r.Crowded
		out, _ = r.byJob(now, computers, jobs, len(computers))
	}
	return out
}

// byComputer gives each computer that is free, in an order drawn by chance, the first job that is for it.
func (r *Rule) byComputer(now grid.Tick, computers []Computer, jobs []Job, chance *rand.Rand) (out []Assignment) {
	order, least := r.order(now, computers, jobs), 0.0
	if r.InTime {
		least = leastNeed(now, jobs)
	}
	for _, c := range chance.Perm(len(computers)) {
		if computers[c].Free > now || computers[c].Forecast.peak < least {
			continue
		}
		at := slices.IndexFunc(order, func(j int) bool { return r.takes(now, &computers[c], &jobs[j]) })
		if at < 0 {
			continue
		}
		j := order[at]
		out = append(out, Assignment{j, c, computers[c].Forecast.End(now, jobs[j].Work)})
		if order = slices.Delete(order, at, at+1); len(order) == 0 {
			break
		}
	}
	return out
}

// leastNeed is the least performance that ends any of the jobs in time..
func leastNeed(now grid.Tick, jobs []Job) float64 {
	least := math.Inf(1)
	for i := range jobs {
		if j := &jobs[i]; j.Deadline == 0 {
			return 0
		} else if j.Deadline > now {
			least = min(least, j.need(now))
		}
	}
	return least
}

// takes tells whether a rule would begin j on c now.
func (r *Rule) takes(now grid.Tick, c *Computer, j *Job) bool {
	if r.InTime && !reaches(c, now, j) || c.Lacks(j) != "" {
		return false
	}
	_, inTime := r.ends(c, j, now)
	return inTime || !r.InTime
}

// byJob gives each job, in the rule's order, a computer. Crowded is whether a job was left that could be in time if all
// computers were free.
func (r *Rule) byJob(now grid.Tick, computers []Computer, jobs []Job, left int) (out []Assignment, crowded bool) {
	s, ends := newShelf(now, r, computers), newEnds(now, computers)
	for _, j := range r.order(now, computers, jobs) {
		if left == 0 {
			break
		}
		p, ok := s.find(&jobs[j], r.Wait == 0)
		if !ok {
			crowded = crowded || r.Wait > 0 && ends.first(&jobs[j]) <= jobs[j].Deadline
			continue
		}
		if p.Start > now && jobs[j].Deadline != 0 {
			if q, ok := s.find(&jobs[j], true); ok && computers[q.Computer].Forecast.mean <= r.Wait*computers[p.Computer].Forecast.mean {
				p = q
			}
		}
		s.take(p.Computer, &jobs[j], p.End)
		if p.Start <= now {
			out = append(out, Assignment{j, p.Computer, p.End})
		}
		if r.Wait == 0 {
			left--
		}
	}
	return out, crowded
}

// Hopeless are the jobs that no computer of the pool would end in time if all were free, by their places.
func Hopeless(now grid.Tick, computers []Computer, jobs []Job) (out []int) {
	ends := newEnds(now, computers)
	for i := range jobs {
		if jobs[i].Deadline != 0 && ends.first(&jobs[i]) > jobs[i].Deadline {
			out = append(out, i)
		}
	}
	return out
}
