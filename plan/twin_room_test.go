package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// vec is amounts by the name of what.
type vec map[string]int64

func vecOf(cores int, memory int64, named []grid.Resource) vec {
	v := vec{"cores": int64(cores), "memory": memory}
	for _, r := range named {
		v["+"+r.Name] += r.Amount
	}
	return v
}

func (v vec) take(o vec, n int64) {
	for k, a := range o {
		v[k] -= n * a
	}
}

func (v vec) has(o vec) bool {
	for k, a := range o {
		if a > 0 && v[k] < a {
			return false
		}
	}
	return true
}

func (w *nodeTwin) full(n int) vec {
	x := w.s.Nodes[n]
	if x.Down {
		return vec{}
	}
	v := vecOf(x.Cores, x.Memory, x.Resources)
	if x.Memory <= 0 {
		v["memory"] = unlimited
	}
	return v
}

// free is what is free on a node at an instant, by what the scheduler believes now.
func (w *nodeTwin) free(n int, at grid.Tick) vec {
	v := w.full(n)
	take := func(r twinRun) {
		if r.start <= at && at < r.until {
			for _, h := range r.shares {
				if h.Node == n {
					v.take(vecOf(h.Cores, h.Memory, h.Resources), 1)
				}
			}
		}
	}
	for _, r := range w.ran {
		if r.end > w.now {
			take(r)
		}
	}
	for _, r := range w.kept {
		take(r)
	}
	for _, r := range w.bound {
		take(r)
	}
	return v
}

func (w *nodeTwin) least(n int, from, to grid.Tick) vec {
	least := w.free(n, from)
	for at := from + 1; at < to; at++ {
		f := w.free(n, at)
		for k := range least {
			least[k] = min(least[k], f[k])
		}
		for k := range f {
			if _, ok := least[k]; !ok {
				least[k] = min(f[k], 0)
			}
		}
	}
	return least
}

func (w *nodeTwin) allowed(i, n int) bool {
	x, node := w.s.Waiting[i], w.s.Nodes[n]
	if node.Down || node.Cores <= 0 {
		return false
	}
	if x.Queue != "" {
		k := slices.IndexFunc(w.s.Queues, func(q Queue) bool { return q.Name == x.Queue })
		if k < 0 || w.s.Queues[k].Nodes != nil && !slices.Contains(w.s.Queues[k].Nodes, n) {
			return false
		}
	}
	for _, p := range x.Demand.Properties {
		if !slices.Contains(node.Properties, p) {
			return false
		}
	}
	return x.Demand.Architecture == "" || x.Demand.Architecture == cmp.Or(node.Architecture, w.s.Site.Architecture)
}

// place places piece by piece on nodes in an order.
func (w *nodeTwin) place(i int, from grid.Tick, order []int) ([]Share, bool) {
	d := w.s.Waiting[i].Demand
	c := d.Chunks[0] // the twin knows one chunk
	need := vecOf(max(c.Cores, 1), c.Memory, c.Resources)
	if !slices.ContainsFunc(w.s.Nodes, func(n Node) bool { return n.Memory > 0 }) {
		delete(need, "memory")
	}
	missing := c.Count
	var shares []Share
	for _, n := range order {
		if missing == 0 || !w.allowed(i, n) {
			continue
		}
		room := w.least(n, from, from+w.limit(i))
		if d.Exclusive && room["cores"] != int64(w.s.Nodes[n].Cores) {
			continue
		}
		pieces := 0
		for missing > 0 && room.has(need) {
			room.take(need, 1)
			missing--
			pieces++
		}
		if pieces > 0 {
			h := Share{Node: n, Processes: pieces * c.Processes, Cores: pieces * int(need["cores"]), Memory: int64(pieces) * need["memory"]}
			for _, r := range c.Resources {
				h.Resources = append(h.Resources, grid.Resource{Name: r.Name, Amount: int64(pieces) * r.Amount})
			}
			if d.Exclusive {
				h.Cores, h.Memory, h.Resources = w.s.Nodes[n].Cores, w.s.Nodes[n].Memory, w.s.Nodes[n].Resources
			}
			shares = append(shares, h)
		}
	}
	return shares, missing == 0
}
