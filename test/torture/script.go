package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// faultKind is what is done to the sites.
type faultKind string

const (
	kill faultKind = "kill" // kill -9; started again after Hold
	halt faultKind = "halt" // SIGSTOP, and SIGCONT after Hold
	cut  faultKind = "cut"  // some ways of a site are cut for Hold
	fill faultKind = "fill" // its disk has Left bytes free for Hold
)

var faultKinds = []faultKind{kill, halt, cut, fill}

// fault is one line of the script. The faults of one kind follow each other, those
// of different kinds overlap.
type fault struct {
	Kind  faultKind
	Site  int
	Other int // of a cut: the other end; -1 cuts all ways of the site
	How   severity
	Left  int64         // of a fill
	Gap   time.Duration // of quiet before it
	Hold  time.Duration
}

func (f fault) String() string {
	s := fmt.Sprintf("%s %d for %v", f.Kind, f.Site, f.Hold.Round(10*time.Millisecond))
	switch f.Kind {
	case cut:
		s += fmt.Sprintf(" from %d, %s", f.Other, f.How)
	case fill:
		s += fmt.Sprintf(" to %d", f.Left)
	}
	return s
}

// long is how long a fault holds now and then: enough for others to think the site dead.
const long = 12 * time.Second

// planFaults makes n faults of each kind for sites that are connected by ways.
func planFaults(r *rand.Rand, n, sites int, ways [][2]int) map[faultKind][]fault {
	script := map[faultKind][]fault{}
	for _, kind := range faultKinds {
		for i := range n {
			f := fault{Kind: kind, Site: victim(r, sites), Other: -1, Gap: between(r, 0, 3*time.Second)}
			f.Hold = between(r, 0, 4*time.Second)
			switch i % 8 {
			case 2: // gone and back before anybody notices
				f.Hold /= 50
			case 5:
				f.Hold = between(r, long, long+6*time.Second)
			}
			switch kind {
			case cut:
				f.How = silent + severity(r.IntN(3))
				if r.IntN(3) > 0 {
					w := ways[r.IntN(len(ways))]
					f.Site, f.Other = w[0], w[1]
				}
			case fill:
				f.Hold += 500 * time.Millisecond // for something to be written meanwhile
				f.Left = []int64{0, 0, 64 << 10, 1 << 20, 32 << 20}[r.IntN(5)]
			}
			script[kind] = append(script[kind], f)
		}
	}
	return script
}

// victim draws a site: one in two by how much comes to it, so that those with many
// jobs are hit more.
func victim(r *rand.Rand, sites int) int {
	if r.IntN(2) == 0 {
		return pick(r, loads)
	}
	return r.IntN(sites)
}

// planGraph makes a random strongly connected graph: a ring through all sites in
// random order, and every other edge with a probability of 0.3. edges lists, by
// site, where it may send jobs.
func planGraph(r *rand.Rand, sites int) (edges map[int][]int) {
	edges = map[int][]int{}
	order := r.Perm(sites)
	for k, i := range order {
		edges[i] = append(edges[i], order[(k+1)%sites])
	}
	for i := range sites {
		for j := range sites {
			if i != j && !slices.Contains(edges[i], j) && r.Float64() < 0.3 {
				edges[i] = append(edges[i], j)
			}
		}
		slices.Sort(edges[i])
	}
	return edges
}

// waysOf are the pairs of sites that know each other.
func waysOf(edges map[int][]int, sites int) (ways [][2]int) {
	for i := range sites {
		for j := i + 1; j < sites; j++ {
			if slices.Contains(edges[i], j) || slices.Contains(edges[j], i) {
				ways = append(ways, [2]int{i, j})
			}
		}
	}
	return ways
}

func graphText(edges map[int][]int, names []string) string {
	var parts []string
	for i, name := range names {
		var to []string
		for _, j := range edges[i] {
			to = append(to, names[j])
		}
		parts = append(parts, name+" → "+strings.Join(to, ","))
	}
	return strings.Join(parts, "; ")
}
