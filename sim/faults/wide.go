package faults

import (
	"slices"

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
	return w.plans(&customer{w: w, s: s, n: n, job: j, rnd: r})
}
