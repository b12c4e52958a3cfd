package faults

import (
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// wides is how many users at most hand in a job over several sites in one history; they have numbers behind the others.
const wides = 8

// wideUsers is how many of them a history has.
func (w *world) wideUsers() int {
	n := int(w.o.Profile.wide)
	if w.rnd.part.Float64() < w.o.Profile.wide-float64(n) {
		n++
	}
	return n
}

// loadWide plans users of jobs that may have several sites.
func (w *world) loadWide() {
	r := w.rnd.part
	for n := range w.wide {
		s := w.sites[r.IntN(len(w.sites))]
		c := w.wideCustomer(s, w.o.Jobs+n)
		at := between(r, grid.Second, arrivals)
		if c != nil && !w.leftOut(w.o.Jobs+n) {
			w.after(at, c.submit)
		}
	}
}

// wideCustomer is a user with a job that, mostly, no site has room for alone; nil where it has no room at all.
func (w *world) wideCustomer(s *site, n int) *customer {
	r := w.rnd.part
	list := []int{0}
	for _, o := range w.sites {
		if m := slices.IndexFunc(s.members, func(m grid.Member) bool { return m.Peer == o.peer && m.Send }); o.reserves() && (o == s || m >= 0) {
			list = append(list, o.facts.Processes)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	k := min(len(list), 2+r.IntN(2))
	most := 0
	for _, n := range list[:k] {
		most += n
	}
	if most < 2 {
		return nil
	}
	least := min(w.most(s)+1, most)
	if r.IntN(6) == 0 {
		least = 2
	}
	j := grid.Job{
		Home: s.peer, User: grid.User{Home: s.peer, Name: "erin"}, Program: grid.Program{Executable: "/bin/true"},
		Walltime: between(r, 20*grid.Second, 2*grid.Minute), Rerunnable: r.IntN(3) == 0, Demand: cores(least + r.IntN(most-least+1)),
		Coallocation: &grid.Coallocation{Sites: k, PerSite: 1, Early: r.IntN(4) == 0, Survive: r.IntN(4) == 0},
	}
	if r.IntN(4) == 0 {
		j.Inputs = grid.Manifest{{Path: "data", Size: 1 + r.Int64N(1<<20), Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	}
	c := &customer{w: w, s: s, n: n, job: j, rnd: r}
	if o := w.rnd.wish; o.IntN(3) == 0 {
		walltime := between(o, 20*grid.Second, 2*grid.Minute)
		w.after(between(o, grid.Second, arrivals+5*grid.Minute), func() { c.alter(walltime, 20) })
	}
	return w.plans(c)
}

// alter asks for another walltime until that is answered.
func (c *customer) alter(walltime grid.Tick, tries int) {
	w, answered := c.w, false
	f := w.truth.facts[c.id]
	if tries == 0 || c.s.gone || f != nil && f.told != 0 {
		return
	}
	if f != nil && c.s.reaches() {
		w.tell(c.s, "a user wants %s to have %.0f s", c.id, walltime.Seconds())
		c.s.host.request(func(t core.Token) core.Request {
			return core.Alter{Token: t, Job: c.id, To: grid.Alteration{Walltime: &walltime}, By: "erin"}
		}, func(core.Answer) { answered = true })
	}
	w.after(between(w.rnd.wish, 5*grid.Second, 20*grid.Second), func() {
		if !answered {
			c.alter(walltime, tries-1)
		}
	})
}
