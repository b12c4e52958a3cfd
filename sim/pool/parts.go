package pool

import (
	"gbroker/grid"
	"gbroker/pool"
)

// units are into how many a divisible job can be divided.
const units = 100

// hopeless are the jobs that can be in time no more, by their places. One that can be cut is hopeless when even the strongest computers could not do its parts.
func (r *run) hopeless(jobs []pool.Job) (out []int) {
	if r.model.Parts < 2 {
		return pool.Hopeless(r.now, r.computers, jobs)
	}
	peak := 0.0
	for i := range r.computers {
		f := &r.computers[i].Forecast
		peak = max(peak, f.Peak())
	}
	for i := range jobs {
		if pool.LeastH(jobs[i].Work, r.model.Parts, (jobs[i].Deadline-r.now).Seconds(), r.model.Delivery) > peak {
			out = append(out, i)
		}
	}
	return out
}

// assignParts begins what the rule says where jobs are cut.
func (r *run) assignParts() {
	of := make([]pool.Range, len(r.waiting))
	for i := range of {
		of[i] = pool.Range{Work: r.waiting[i].Work, Delivery: r.model.Delivery, Units: units, MostParts: r.model.Parts}
	}
	gone := make(map[int]bool)
	cut := r.rule.AssignParts(r.now, r.computers, r.waiting, of)
	for from := 0; from < len(cut); {
		to := from + 1
		for to < len(cut) && cut[to].Job == cut[from].Job {
			to++
		}
		j := r.waiting[cut[from].Job]
		gone[cut[from].Job] = true
		var parts []begun
		for _, p := range cut[from:to] {
			part := float64(p.Last-p.First+1) / units
			one := j
			one.Work *= part
			parts = append(parts, r.truly(one, p.Assignment, grid.FromSeconds(part*r.model.Delivery)))
		}
		r.begin(j, parts)
		from = to
	}
	r.remove(gone)
}
