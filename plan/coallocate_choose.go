package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// mostSets bounds how many sets of sites are tried.
const mostSets = 2_000

// roomAt is what one site has for a job from an instant on.
type roomAt struct {
	site   int32
	pieces int
	units  []unit // of nodes of the market, by price for each piece
}

// chooser finds the best set of sites for an end that is known.
type chooser struct {
	h     *hall
	o     *offers
	w     *Wide
	least int // pieces at each site
	all   int // pieces
	sites int // in the best set
	tried int

	// of the class at hand
	class   *sweep
	start   grid.Tick
	rooms   []roomAt
	picked  []int
	best    *spreading
	farther []grid.Tick // of the picked, the worst link so far
}

// spreading is a set of sites, and what is taken there.
type spreading struct {
	start, length, far grid.Tick
	cost               float64
	sites              []int32 // ascending
	rooms              []roomAt
	pieces             map[int32][]int // by site, of each of its units
}

// spread takes nodes of the best set of sites with which the job ends at that instant, as each of the questions has it.
func (h *hall) spread(o *offers, w *Wide, asks []Wanted, end grid.Tick, out *Allocated) {
	c := chooser{h: h, o: o, w: w, least: max(asks[0].MinPerSite, 1), all: o.chunks[0].Count, sites: len(o.market.sites)}
	for i := range asks {
		c.sites = min(c.sites, asks[i].sites(c.all, len(o.market.sites)))
		for _, speed := range o.market.speeds {
			c.enter(&asks[i], speed, end)
			if k := c.fewest(); k > 0 && k <= c.sites {
				c.sites = k
				c.try(0, 0)
			}
		}
	}
	b := c.best
	out.Start, out.Limit, out.Until, out.Cost = b.start, b.length-w.Extra, b.start+b.length, b.cost
	for i, site := range b.sites {
		out.Parts = append(out.Parts, c.part(b, b.rooms[i], site))
	}
}

// enter finds what the sites of a speed class have for the job when it ends at that instant.
func (c *chooser) enter(wanted *Wanted, speed float64, end grid.Tick) {
	chunk := &c.o.chunks[0]
	c.class = newSweep(chunk, c.h.m, wanted, speed)
	c.start = end - runTime(wanted.Walltime, speed)
	c.rooms, c.picked, c.farther = nil, c.picked[:0], append(c.farther[:0], 0)
	until := c.start + c.class.length
	for i := range c.h.m.nodes {
		n := &c.h.m.nodes[i]
		k := int(chunk.worth[c.h.kindOf[i]])
		if k == 0 || c.class.from[n.site] > c.start {
			continue
		}
		if _, ok := c.h.free(i, c.start, until); !ok {
			continue
		}
		if n := len(c.rooms); n == 0 || c.rooms[n-1].site != c.h.m.nodes[i].site {
			c.rooms = append(c.rooms, roomAt{site: c.h.m.nodes[i].site})
		}
		r := &c.rooms[len(c.rooms)-1]
		r.pieces += k
		r.units = append(r.units, unit{i, k, Cost(c.h.rate(i, c.start, until), c.cores(i), until-c.start)})
	}
	c.rooms = slices.DeleteFunc(c.rooms, func(r roomAt) bool { return r.pieces < c.least })
	slices.SortStableFunc(c.rooms, func(a, b roomAt) int { return cmp.Compare(b.pieces, a.pieces) })
	for _, r := range c.rooms {
		slices.SortStableFunc(r.units, func(a, b unit) int {
			return cmp.Or(cmp.Compare(a.price/float64(a.pieces), b.price/float64(b.pieces)), cmp.Compare(b.pieces, a.pieces))
		})
	}
}

func (c *chooser) cores(node int) int {
	n := &c.h.m.nodes[node]
	return c.h.m.sites[n.site].nodes[n.node].Cores
}

// fewest is how many of the sites with the most room are enough; 0 is that none are.
func (c *chooser) fewest() int {
	sum := 0
	for k, r := range c.rooms {
		if sum += r.pieces; sum >= c.all {
			return k + 1
		}
	}
	return 0
}

// try completes the picked sites by others from one on, those with the most room first.
func (c *chooser) try(from, pieces int) {
	c.tried++
	missing := c.sites - len(c.picked)
	if missing == 0 {
		if pieces >= c.all {
			c.compare()
		}
		return
	}
	for i := from; i+missing <= len(c.rooms); i++ {
		most := pieces
		for _, r := range c.rooms[i : i+missing] {
			most += r.pieces
		}
		if most < c.all || c.tried >= mostSets {
			return
		}
		far := c.farther[len(c.picked)]
		for _, p := range c.picked {
			far = max(far, c.link(p, i))
		}
		if c.best != nil && len(c.best.sites) == c.sites && far > c.best.far {
			continue
		}
		c.picked, c.farther = append(c.picked, i), append(c.farther[:len(c.picked)+1], far)
		c.try(i+1, pieces+c.rooms[i].pieces)
		c.picked = c.picked[:len(c.picked)-1]
	}
}

func (c *chooser) link(a, b int) grid.Tick {
	if c.w.Link == nil {
		return 0
	}
	name := func(i int) grid.SiteName { return c.o.market.sites[c.rooms[i].site].site.Name }
	return c.w.Link(name(a), name(b))
}

// compare keeps the picked sites if they are the best so far.
func (c *chooser) compare() {
	s := &spreading{start: c.start, length: c.class.length, far: c.farther[len(c.picked)], pieces: make(map[int32][]int)}
	for _, p := range c.picked {
		s.rooms = append(s.rooms, c.rooms[p])
	}
	slices.SortFunc(s.rooms, func(a, b roomAt) int { return cmp.Compare(a.site, b.site) })
	for _, r := range s.rooms {
		s.sites = append(s.sites, r.site)
	}
	s.take(c.least, c.all)
	for _, r := range s.rooms {
		for i, n := range s.pieces[r.site] {
			if n > 0 {
				s.cost += r.units[i].price
			}
		}
	}
	if c.best == nil || s.compare(c.best) < 0 {
		c.best = s
	}
}

func (s *spreading) compare(o *spreading) int {
	return cmp.Or(cmp.Compare(len(s.sites), len(o.sites)), cmp.Compare(s.far, o.far), cmp.Compare(s.cost, o.cost),
		cmp.Compare(s.length, o.length), slices.Compare(s.sites, o.sites))
}

// take gives each site its least number of pieces, and the rest to where they cost the least.
func (s *spreading) take(least, all int) {
	for _, r := range s.rooms {
		s.pieces[r.site] = make([]int, len(r.units))
		for i, missing := 0, least; missing > 0; i++ {
			n := min(r.units[i].pieces, missing)
			s.pieces[r.site][i] = n
			missing -= n
			all -= n
		}
	}
	next := make([]int, len(s.rooms)) // the next unit of each site
	for all > 0 {
		best := -1
		for i, r := range s.rooms {
			for next[i] < len(r.units) && s.pieces[r.site][next[i]] == r.units[next[i]].pieces {
				next[i]++
			}
			if next[i] < len(r.units) && (best < 0 || s.each(i, next[i]) < s.each(best, next[best])) {
				best = i
			}
		}
		r := s.rooms[best]
		n := min(all, r.units[next[best]].pieces-s.pieces[r.site][next[best]])
		s.pieces[r.site][next[best]] += n
		all -= n
	}
}

// each is what one more piece costs in a unit; nothing where the node is taken already.
func (s *spreading) each(room, i int) float64 {
	r := s.rooms[room]
	if s.pieces[r.site][i] > 0 {
		return 0
	}
	return r.units[i].price / float64(r.units[i].pieces)
}

// part is what the chosen set takes of one site.
func (c *chooser) part(s *spreading, r roomAt, site int32) AllocatedPart {
	g, each := c.h.m.sites[site], c.o.chunks[0].Processes
	out := AllocatedPart{Site: g.site.Name}
	for i, n := range s.pieces[site] {
		if n == 0 {
			continue
		}
		u := r.units[i]
		node := int(c.h.m.nodes[u.node].node)
		free, _ := c.h.free(u.node, s.start, s.start+s.length)
		share := g.shares([]portion{{node: int32(node), processes: n * each}}, g.of(node))[0]
		out.Nodes = append(out.Nodes, Taken{grid.Slot{
			Site: g.site.Name, Node: g.nodes[node].Name, Start: free.start, End: free.end, Price: c.h.rate(u.node, s.start, s.start+s.length),
			Cores: share.Cores, Memory: share.Memory, Resources: share.Resources,
		}, n * each})
		out.Processes += n * each
		out.Cost += u.price
		out.taken = append(out.taken, u.node)
	}
	slices.SortFunc(out.Nodes, func(a, b Taken) int { return cmp.Compare(a.Node, b.Node) })
	return out
}
