package plan

import (
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// Shapes say what a batch system takes of demands that its nodes could hold. The zero value is all of them.
type Shapes struct {
	// Pieces is the most pieces of one job; 0 is any number.
	Pieces int
	// Apart tells that no two pieces of one size get the same node; those of different sizes may.
	Apart bool
	// Alike tells that all pieces of a job must be of one size.
	Alike bool
	// WholeAlike tells that they must be also where they are whole nodes.
	WholeAlike bool
	// Mingles tells that it may lay several pieces of a job on one node, and cannot be asked not to.
	Mingles bool
	// Nameless tells that it cannot be asked for nodes by their names.
	Nameless bool
	// Changing tells that its nodes come and go: that there are none now will pass.
	Changing bool
	// None says that there are none, for people.
	None string
	// Why is the setting that makes it so, for people.
	Why string
}

// Form is the demand as the batch system takes it, with the same processes on as many cores: where there would be too
// many pieces, several become one. A refusal says why there is no such form. Pieces of whole
// nodes (Exclusive) are left to the batch system's driver, unless they must be alike too.
func Form(s Snapshot, d grid.Demand) (grid.Demand, *grid.Refusal) {
	return s.Shapes.form(s.Nodes, d)
}

func (f *Shapes) form(nodes []Node, d grid.Demand) (grid.Demand, *grid.Refusal) {
	if *f == (Shapes{}) || len(d.Chunks) == 0 {
		return d, nil
	}
	if r := f.cannot(&d); r != nil || d.Exclusive && !f.WholeAlike || f.Pieces == 0 && !f.Apart && !f.Alike {
		return d, r
	}
	d.Chunks = merged(d.Chunks)
	if len(d.Chunks) == 1 && !d.DistinctNodes {
		return f.packed(nodes, d)
	}
	if f.Alike && len(d.Chunks) > 1 {
		return d, &grid.Refusal{Kind: grid.Permanent, Reason: "pieces of different sizes: " + f.Why, Asked: strconv.Itoa(len(d.Chunks)), Available: "1"}
	}
	total, most := 0, f.most(nodes, d, d.Chunks[0])
	for _, c := range d.Chunks {
		total = min(total+c.Count, grid.MaxProcesses)
	}
	if most > 0 && total > most {
		return d, f.tooMany(total, most)
	}
	return d, nil
}

// cannot says what the batch system cannot be asked for at all.
func (f *Shapes) cannot(d *grid.Demand) *grid.Refusal {
	pieces := 0
	for _, c := range d.Chunks {
		pieces = min(pieces+c.Count, grid.MaxProcesses)
	}
	switch {
	case f.Mingles && d.DistinctNodes && pieces > 1:
		return &grid.Refusal{Kind: grid.Permanent, Reason: "its batch system may lay several pieces on one node, and cannot be asked for distinct nodes"}
	case f.Apart && d.DistinctNodes && len(merged(d.Chunks)) > 1:
		return &grid.Refusal{Kind: grid.Permanent, Reason: "its batch system may lay pieces of different sizes on one node, and cannot be asked for distinct nodes"}
	case f.Nameless && len(d.Hosts) > 0:
		return &grid.Refusal{Kind: grid.Permanent, Reason: "its batch system cannot be asked for nodes by their names", Asked: strings.Join(d.Hosts[:min(len(d.Hosts), 2)], " ")}
	}
	return nil
}

func (f *Shapes) tooMany(asked, most int) *grid.Refusal {
	r := lack("more pieces than nodes", int64(asked), int64(most))
	if f.Why != "" {
		r.Reason += ": " + f.Why
	}
	return r
}

// merged joins pieces of the same size.
func merged(chunks []grid.Chunk) []grid.Chunk {
	var out []grid.Chunk
	for _, c := range chunks {
		i := slices.IndexFunc(out, func(o grid.Chunk) bool {
			return o.Processes == c.Processes && o.Cores == c.Cores && slices.Equal(o.Resources, c.Resources)
		})
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].Count = min(out[i].Count+c.Count, grid.MaxProcesses)
		out[i].Memory = max(out[i].Memory, c.Memory)
	}
	return out
}

// packed makes one piece of several equal ones, so that no more are left than may be, and all are equal still (Maui fails to start most jobs
// of two sizes on nodes that are busy): of as few as that needs, or of
// as many as a node holds where two never share one.
func (f *Shapes) packed(nodes []Node, d grid.Demand) (grid.Demand, *grid.Refusal) {
	c := d.Chunks[0]
	largest := 0
	for i := range nodes {
		largest = max(largest, nodes[i].Cores)
	}
	best, most := 0, f.most(nodes, d, c)
	for each := 1; each <= c.Count && each*max(c.Cores, 1) <= largest; each++ {
		if c.Count%each != 0 {
			continue
		}
		if room := f.most(nodes, d, times(c, each)); room > 0 && c.Count/each > room || f.Apart && room == 0 {
			continue
		}
		if best = each; !f.Apart {
			break
		}
	}
	switch {
	case best > 0:
		d.Chunks = []grid.Chunk{times(c, best)}
	case largest >= c.Cores && most > 0 && c.Count > most:
		return d, f.tooMany(c.Count, most)
	}
	return d, nil // what no node holds is refused as such
}

// times is so many pieces as one.
func times(c grid.Chunk, n int) grid.Chunk {
	c.Count, c.Processes, c.Cores = c.Count/n, c.Processes*n, c.Cores*n
	c.Memory = min(c.Memory, grid.MaxMemory/int64(n)) * int64(n)
	c.Resources = slices.Clone(c.Resources)
	for i := range c.Resources {
		c.Resources[i].Amount = min(c.Resources[i].Amount, grid.MaxAmount/int64(n)) * int64(n)
	}
	return c
}

// most is how many pieces like c there may be; 0 is any number, or, where each needs a node, none.
func (f *Shapes) most(nodes []Node, d grid.Demand, c grid.Chunk) int {
	if !f.Apart {
		return f.Pieces
	}
	n := 0
	for i := range nodes {
		if roomy(&nodes[i], &d, &c) {
			n++
		}
	}
	if f.Pieces > 0 {
		n = min(n, f.Pieces)
	}
	return n
}

// roomy tells whether an empty node, that is up, has room for one piece.
func roomy(n *Node, d *grid.Demand, c *grid.Chunk) bool {
	if c.Cores > n.Cores || n.Memory > 0 && c.Memory > n.Memory {
		return false
	}
	if slices.ContainsFunc(d.Properties, func(p string) bool { return !contains(n.Properties, p) }) {
		return false
	}
	return !slices.ContainsFunc(c.Resources, func(r grid.Resource) bool {
		return !slices.ContainsFunc(n.Resources, func(o grid.Resource) bool { return o.Name == r.Name && o.Amount >= r.Amount })
	})
}
