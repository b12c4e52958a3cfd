// # The planning cycle
//
// [Lookahead] plans all jobs of a home that wait for several sites, in the order of fee and priority,
// each beside those before it:
//
//	waiting ──by fee, priority──► sites chosen ─► planned ── it must be reserved by now ──► reserve
//	   ▲                             │ slots taken                │ not yet
//	   └── what came meanwhile       ▼                            ▼
//	                          cut from the offers         the next cycle plans it anew
//
// A plan is no promise: only what is reserved holds. A job is reserved when its start is within the
// window after its delivery could be made, so that the files go out in time. Fee here is what
// is paid for a core and hour; a job of which no fee is said comes after all that pay, and
// finds no slot too dear. The order within equal fees and priorities is as given.
//
// Sites may offer different nodes, or different prices, to different jobs: each job has the list of offers
// that is for it. What one takes of a node is cut from all lists.
package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// Waits is one job of a planning cycle.
type Waits struct {
	Wide
	Job      grid.JobID
	Priority int
	Offers   int                           // which list of offers is for it
	Delivery func(grid.SiteName) grid.Tick // how long its files take to a site; nil is that of the offer
	Alone    []Alone
	Quiet    bool // nobody is told why it finds no place: that is not looked into
}

// Ahead is what a cycle says of one job, in the order in which it was given.
type Ahead struct {
	Job grid.JobID
	Allocated
	// Reserve tells that it is to be reserved now; what is not stays a plan. Near is from when on it would be.
	Reserve bool
	Near    grid.Tick
}

// Lookahead plans the jobs over what sites offer. Each must have passed its Check.
func Lookahead(jobs []Waits, window grid.Tick, offers ...[]Offered) []Ahead {
	out := make([]Ahead, len(jobs))
	all := hallsOf(jobs, offers)
	for _, i := range Turns(jobs) {
		w := &jobs[i]
		h := all.of(w)
		wanted := w.wanted(h.sound)
		if w.Delivery != nil {
			for j, o := range h.sound {
				wanted.Delivery[j] = min(max(w.Delivery(o.Site.Name), 0), maxInstant)
			}
		}
		out[i] = Ahead{Job: w.Job, Allocated: h.allocate(&w.Wide, wanted, w.Alone, w.Quiet)}
		out[i].Rejected = h.rejected
		late := grid.Tick(0) // the longest delivery
		for _, p := range out[i].Parts {
			late = max(late, wanted.Delivery[h.index[p.Site]])
			all.take(h, p, out[i].Start, out[i].Until)
		}
		out[i].Near = out[i].Start - late - w.Margin - window
		out[i].Reserve = len(out[i].Parts) > 0 && out[i].Near <= w.Now
	}
	return out
}

// Turns is the order in which jobs are planned.
func Turns(jobs []Waits) []int {
	all := make([]int, len(jobs))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].pays(), jobs[a].pays()), cmp.Compare(jobs[b].Priority, jobs[a].Priority))
	})
	return all
}

func (w *Wide) pays() float64 {
	if w.Fee == AnyFee {
		return 0
	}
	return w.Fee
}

// halls are those of a cycle: one for each list of offers and the jobs that say a fee, which come by falling fees, and
// one for those that do not.
type halls map[hallKey]*lookHall

type hallKey struct {
	offers int
	any    bool
}

// lookHall is a hall with what its offers were.
type lookHall struct {
	*hall
	sound    []Offered
	index    map[grid.SiteName]int
	rejected []string
	nodes    map[siteNode]int // of the market; only where there are several halls
}

type siteNode struct {
	site grid.SiteName
	node grid.NodeName
}

func keyOf(w *Waits) hallKey { return hallKey{w.Offers, w.Fee == AnyFee} }

func hallsOf(jobs []Waits, offers [][]Offered) halls {
	all := halls{}
	for i := range jobs {
		key := keyOf(&jobs[i])
		if all[key] != nil {
			continue
		}
		m, sound, rejected := marketOf(&jobs[i].Wide, offers[key.offers])
		h := &lookHall{hall: newHall(m), sound: sound, rejected: rejected, index: make(map[grid.SiteName]int, len(sound))}
		for j, o := range sound {
			h.index[o.Site.Name] = j
		}
		all[key] = h
	}
	if len(all) > 1 {
		for _, h := range all {
			h.byName()
		}
	}
	return all
}

func (all halls) of(w *Waits) *lookHall { return all[keyOf(w)] }

func (h *lookHall) byName() {
	h.nodes = make(map[siteNode]int, len(h.m.nodes))
	for i := range h.m.nodes {
		n := &h.m.nodes[i]
		g := h.m.sites[n.site]
		h.nodes[siteNode{g.site.Name, g.nodes[n.node].Name}] = i
	}
}

// take cuts what a part takes out of all halls.
func (all halls) take(own *lookHall, p AllocatedPart, from, to grid.Tick) {
	for _, node := range p.taken {
		own.take(node, from, to)
	}
	for _, h := range all {
		for _, n := range p.Nodes {
			if i, has := h.nodes[siteNode{p.Site, n.Node}]; has && h != own {
				h.take(i, from, to)
			}
		}
	}
}
