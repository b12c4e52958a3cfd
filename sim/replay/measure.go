package replay

import "slices"

// Measures are what the users and the owner of a machine see.
type Measures struct {
	Jobs        int     `json:"jobs"`
	WaitMean    float64 `json:"wait_mean_s"`
	WaitP99     int64   `json:"wait_p99_s"`            // nearest rank
	Slowdown    float64 `json:"bounded_slowdown_mean"` // max(1, (wait+run) / max(run, 10))
	Response    float64 `json:"response_mean_s"`       // wait and run
	Utilisation float64 `json:"utilisation"`           // sum of procs x run / (machine x makespan)
	Makespan    int64   `json:"makespan_s"`            // last end - first submit
	JobsPerS    float64 `json:"jobs_per_s"`            // of the replay; the log was read before
}

// Measure reckons over all jobs of a log.
func Measure(log *Log, r *Result) Measures {
	m := Measures{Jobs: len(log.Jobs)}
	waits := make([]int64, len(log.Jobs))
	var wait, response, slowdown, work float64
	var last int64
	for i, j := range log.Jobs {
		w := r.Starts[i] - j.Submit
		waits[i] = w
		wait += float64(w)
		response += float64(w + j.Run)
		slowdown += max(1, float64(w+j.Run)/float64(max(j.Run, 10)))
		work += float64(j.Procs) * float64(j.Run)
		last = max(last, r.Starts[i]+j.Run)
	}
	n := float64(len(log.Jobs))
	m.WaitMean, m.Response, m.Slowdown = wait/n, response/n, slowdown/n
	slices.Sort(waits)
	m.WaitP99 = nearestRank(waits, 99)
	m.Makespan = last - log.Jobs[0].Submit
	if m.Makespan > 0 {
		m.Utilisation = work / (float64(log.Procs) * float64(m.Makespan))
	}
	if s := r.Took.Seconds(); s > 0 {
		m.JobsPerS = n / s
	}
	return m
}

// nearestRank is the least of the sorted values that is no less than percent of them.
func nearestRank[T any](sorted []T, percent int) T {
	return sorted[(len(sorted)*percent+99)/100-1]
}
