package coallocate

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// plan is one planning cycle over the wide jobs that wait.
func (r *run) plan() {
	plans := r.plans()
	var offers []plan.Offered
	length := grid.Tick(1) << 60 // of the shortest
	var jobs []plan.Waits
	for _, job := range r.home {
		j := &r.Jobs[job]
		length = min(length, j.Limit)
		jobs = append(jobs, plan.Waits{Job: name(job), Alone: r.alone(j, plans), Wide: plan.Wide{
			Demand: demand(j), Now: r.now, Walltime: j.Limit, MaxSites: r.Sites, Fee: plan.AnyFee, Gain: r.Gain,
		}})
	}
	for i, s := range r.sites {
		q := plan.Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}, Limit: length, NotBefore: r.now}
		o := plans[i].WholeNodes(q, nil, grid.User{}, r.now+r.Horizon, 4096, nil)
		offers = append(offers, plan.Offered{Site: s.Site, Slots: o.Slots})
	}
	var left []int
	for i, a := range plan.Lookahead(jobs, r.Window, offers) {
		job := r.home[i]
		switch {
		case a.Reserve:
			r.reserve(job, a)
		case a.Parts == nil && a.Best != nil:
			r.queueAt(a.Best.Site, job)
		default:
			left = append(left, job)
		}
	}
	r.home = left
}

// reserve holds what was chosen.
func (r *run) reserve(job int, a plan.Ahead) {
	h := &held{job: job, id: fmt.Sprint("r", job), start: a.Start, limit: a.Limit, parts: make(map[int][]plan.Share), slow: 1e9}
	for _, p := range a.Parts {
		i := slices.IndexFunc(r.sites, func(s *site) bool { return s.Site.Name == p.Site })
		s := r.sites[i]
		for _, n := range p.Nodes {
			node := slices.IndexFunc(s.Nodes, func(x plan.Node) bool { return x.Name == n.Node })
			h.parts[i] = append(h.parts[i], plan.Share{Node: node, Processes: n.Processes, Cores: n.Cores})
		}
		h.slow = min(h.slow, s.Site.Speed)
		s.Reservations = append(s.Reservations, plan.Reservation{ID: h.id, Shares: h.parts[i], Start: a.Start, End: a.Until})
		s.old = true
	}
	r.held = append(r.held, h)
	r.begin()
}

// begin starts the jobs whose reservations begin.
func (r *run) begin() {
	r.held = slices.DeleteFunc(r.held, func(h *held) bool {
		if h.start > r.now {
			return false
		}
		end := r.now + at(r.Jobs[h.job].Run, h.slow)
		for _, i := range slices.Sorted(maps.Keys(h.parts)) {
			s := r.sites[i]
			s.Reservations = slices.DeleteFunc(s.Reservations, func(x plan.Reservation) bool { return x.ID == h.id })
			s.Running = append(s.Running, plan.Running{Job: name(h.job), Shares: h.parts[i], Start: r.now, End: r.now + h.limit})
			s.ends, s.old = append(s.ends, end), true
		}
		r.out[h.job] = Outcome{r.now, end, len(h.parts)}
		return true
	})
}
