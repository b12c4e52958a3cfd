package experiment

import (
	"gbroker/grid"
	"gbroker/sim/brokers"
	"gbroker/sim/workload"
)

// measures are of one run. Times are in seconds, and of the jobs that entered the grid.
type measures struct {
	values  map[string]float64 // by the name of the metric
	bySite  []Site
	partial bool
}

// Site is what one run was for one site.
type Site struct {
	Name        string  `json:"name"`
	Cores       int     `json:"cores"`
	Utilisation float64 `json:"utilisation"`
	Jobs        int     `json:"jobs"`            // handed in there
	Ran         int     `json:"ran"`             // there
	Response    float64 `json:"mean_response_s"` // of those handed in
	Slowdown    float64 `json:"mean_bounded_slowdown"`
}

// short is the run time below which slowdowns are reckoned as of it.
const short = 10 * grid.Second

// tally gathers the numbers of some jobs.
type tally struct {
	response, wait, queued spread
	slowdown               float64
}

func (t *tally) add(e brokers.Ended, delivery grid.Tick) {
	wait := e.Start - e.Arrival
	t.response.add(int64(e.End - e.Arrival))
	t.wait.add(int64(wait))
	t.queued.add(int64(wait - delivery*grid.Tick(e.Moves)))
	t.slowdown += slowdown(e)
}

// slowdown is the bounded one.
func slowdown(e brokers.Ended) float64 {
	run := e.End - e.Start
	return max(1, (e.End-e.Arrival).Seconds()/max(run, short).Seconds())
}

// measure reckons what a run came to.
func measure(w *brokers.World, r *brokers.Result) *measures {
	var all, local, strategists, others tally
	var late spread // the difference between the start and what was told of it
	m := &measures{values: make(map[string]float64), bySite: make([]Site, len(w.Sites))}
	work, last, vain := 0.0, grid.Tick(0), 0.0
	ran, unasked := firstOf(w, r), 0
	for i, e := range r.Jobs {
		j := &w.Jobs[i]
		last = max(last, j.Arrival)
		if e.End == 0 {
			m.partial = true
			continue
		}
		if k, is := ran[j.Copies]; is && k != i {
			vain += float64(j.Cores) * inVain(e)
			continue
		}
		if j.Local {
			local.add(e, 0)
			continue
		}
		work += float64(j.Cores) * j.Run.Seconds()
		all.add(e, w.Delivery)
		if !e.Asked {
			unasked++
		}
		m.home(e)
		if e.Told > 0 {
			late.add(int64(max(e.Start-e.Told, e.Told-e.Start)))
		}
		if j.User == workload.Strategist {
			strategists.add(e, w.Delivery)
		} else {
			others.add(e, w.Delivery)
		}
	}
	m.totals(&all, work, last, w, r)
	if w.Brokering.Tell > 0 {
		m.values["unasked_share"] = float64(unasked) / float64(max(1, all.wait.n))
	}
	m.values["prediction_error_s"] = late.mean() / 1000
	if local.wait.n > 0 {
		m.values["local_mean_wait_s"] = local.wait.mean() / 1000
	}
	if n := strategists.wait.n; n > 0 {
		m.values["strategists_response_s"], m.values["others_response_s"] = strategists.response.mean()/1000, others.response.mean()/1000
		m.values["strategists_slowdown"], m.values["others_slowdown"] = strategists.slowdown/float64(n), others.slowdown/float64(max(1, others.wait.n))
	}
	if len(ran) > 0 && work > 0 {
		m.values["vain_share"] = vain / work
	}
	m.sites(w, r)
	return m
}

// firstOf is of each set of copies, by its number, the one that counts: the first to end.
func firstOf(w *brokers.World, r *brokers.Result) map[int32]int {
	first := map[int32]int{}
	for i, e := range r.Jobs {
		set := w.Jobs[i].Copies
		if set == 0 || e.End == 0 || e.Cancelled {
			continue
		}
		if k, is := first[set]; !is || e.End < r.Jobs[k].End {
			first[set] = i
		}
	}
	return first
}

// inVain is for how long a copy ran that does not count, in seconds.
func inVain(e brokers.Ended) float64 {
	if e.Site < 0 {
		return 0
	}
	return (e.End - e.Start).Seconds()
}

// home counts a job for the site where it was handed in, and that where it ran.
func (m *measures) home(e brokers.Ended) {
	h := &m.bySite[e.Home]
	h.Jobs++
	h.Response += (e.End - e.Arrival).Seconds()
	h.Slowdown += slowdown(e)
	m.bySite[e.Site].Ran++
}

// totals are over all jobs of the grid.
func (m *measures) totals(t *tally, work float64, last grid.Tick, w *brokers.World, r *brokers.Result) {
	n, capacity := float64(max(t.wait.n, 1)), 0.0
	for _, s := range w.Sites {
		capacity += float64(s.Cores) * s.Speed
	}
	v := m.values
	v["jobs"] = float64(t.wait.n)
	v["mean_response_s"], v["median_response_s"], v["p99_response_s"] = t.response.mean()/1000, t.response.at(0.5)/1000, t.response.at(0.99)/1000
	v["mean_wait_s"], v["median_wait_s"], v["p99_wait_s"] = t.wait.mean()/1000, t.wait.at(0.5)/1000, t.wait.at(0.99)/1000
	v["mean_queued_s"] = t.queued.mean() / 1000
	v["mean_bounded_slowdown"] = t.slowdown / n
	v["moves_per_job"], v["messages_per_job"], v["steps_per_job"] = float64(r.Moves)/n, float64(r.Messages)/n, float64(r.Steps)/n
	if w.Brokering.Tell > 0 {
		v["asks_per_job"] = float64(r.Asked) / n
	}
	if last > 0 {
		v["offered_load"] = work / capacity / last.Seconds()
	}
	if r.End > 0 {
		v["throughput_per_s"] = float64(t.wait.n) / r.End.Seconds()
	}
}

// sites reckons what each site had, and how alike it was: Jain's index of the slowdowns of the homes, 1 where all are alike,
// and 1 by their number where one bears it all.
func (m *measures) sites(w *brokers.World, r *brokers.Result) {
	busy, cores := 0.0, 0.0
	sum, squares, homes := 0.0, 0.0, 0.0
	for i := range m.bySite {
		s, site := &m.bySite[i], &w.Sites[i]
		s.Name, s.Cores = site.Name, site.Cores
		if r.End > 0 && i < len(r.Busy) {
			s.Utilisation = r.Busy[i] / (float64(site.Cores) * r.End.Seconds())
			busy += r.Busy[i]
		}
		cores += float64(site.Cores)
		if s.Jobs == 0 {
			continue
		}
		s.Response /= float64(s.Jobs)
		s.Slowdown /= float64(s.Jobs)
		sum, squares, homes = sum+s.Slowdown, squares+s.Slowdown*s.Slowdown, homes+1
	}
	if homes > 0 {
		m.values["fairness"] = sum * sum / (homes * squares)
	}
	if r.End > 0 {
		m.values["utilisation"] = busy / (cores * r.End.Seconds())
	}
}
