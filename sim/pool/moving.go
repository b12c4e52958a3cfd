package pool

import (
	"gbroker/grid"
	"gbroker/pool"
)

// look is how often who runs where is looked at again, beside each arrival and end.
const look = 5 * grid.Second

// moving simulates a pool in which jobs are stopped and moved at no cost.
func (r *run) moving(stop func() bool) (Outcome, bool) {
	var running []pool.Running
	for r.next < len(r.jobs) || len(running)+len(r.waiting) > 0 {
		if stop() {
			return r.out, false
		}
		from := r.now
		r.now = r.event(running)
		running = r.progress(running, from)
		for ; r.next < len(r.jobs) && r.jobs[r.next].Arrival <= r.now; r.next++ {
			r.arrive(r.jobs[r.next])
		}
		r.drop()
		all := append(jobsOf(running), r.waiting...)
		var next []pool.Running
		placed := make([]bool, len(all))
		for _, a := range pool.Rearrange(r.now, r.computers, running, r.waiting) {
			next = append(next, pool.Running{Job: all[a.Job], Computer: a.Computer})
			placed[a.Job] = true
		}
		running, r.waiting = next, nil
		for i, j := range all {
			if !placed[i] {
				r.waiting = append(r.waiting, j)
			}
		}
	}
	return r.finish(), true
}

func jobsOf(running []pool.Running) (out []pool.Job) {
	for _, r := range running {
		out = append(out, r.Job)
	}
	return out
}

// event is the next instant to look at.
func (r *run) event(running []pool.Running) grid.Tick {
	next := pool.Never
	if r.next < len(r.jobs) {
		next = r.jobs[r.next].Arrival
	}
	if len(r.waiting)+len(running) > 0 {
		next = min(next, r.now+look)
	}
	for i := range running {
		next = min(next, r.end(&running[i]), max(running[i].Deadline, r.now+1))
	}
	return next
}

// end is when a job that runs will have ended in truth.
func (r *run) end(j *pool.Running) grid.Tick {
	return r.now + grid.Tick(max(1, 1000*j.Work/r.truth[j.Computer]+0.999))
}

// progress does the work since the last event, and takes out who ended or was killed.
func (r *run) progress(running []pool.Running, from grid.Tick) (left []pool.Running) {
	for _, j := range running {
		h := r.truth[j.Computer]
		done := min(j.Work, h*float64(r.now-from)/1000)
		r.worth += 1000 * done * share(from, r.now, r.span)
		switch j.Work -= done; {
		case j.Work < 1e-6 && r.now <= j.Deadline:
		case r.now >= j.Deadline:
			r.out.Late++
		default:
			left = append(left, j)
		}
	}
	return left
}

// share is the part of an interval that lies before the last arrival.
func share(from, to, last grid.Tick) float64 {
	if to <= from || from >= last {
		return 0
	}
	return float64(min(to, last)-from) / float64(to-from)
}
