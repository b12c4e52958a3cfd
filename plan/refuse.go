package plan

import (
	"strconv"

	"gbroker/grid"
)

// Refuse says why a demand can never start at a site with these nodes, or nil.
// Nodes that are down do not count. Asked and Available are decimal numbers
// (cores, or bytes of memory) or the names of architecture and system.
func Refuse(site grid.Site, nodes []Node, d grid.Demand) *grid.Refusal {
	return refuse(site, emptySite(nodes), newPlacer(len(nodes)), d, piecesOf(d))
}

// refuse is Refuse for a site already reckoned and a demand in pieces.
func refuse(site grid.Site, empty room, l *placer, d grid.Demand, p pieces) *grid.Refusal {
	if d.Architecture != "" && d.Architecture != site.Architecture {
		return &grid.Refusal{Reason: "wrong architecture", Asked: d.Architecture, Available: site.Architecture}
	}
	if d.System != "" && d.System != site.System {
		return &grid.Refusal{Reason: "wrong operating system", Asked: d.System, Available: site.System}
	}
	if len(p) == 0 {
		return &grid.Refusal{Reason: "no processors asked for", Asked: "0"}
	}
	if asked, has := p.cores(), empty.total(); asked > has {
		return lack("too few processors", int64(asked), int64(has))
	}
	for _, c := range p {
		if r := refusePiece(c, empty); r != nil {
			return r
		}
	}
	return refusePacking(p, empty, l)
}

func lack(reason string, asked, available int64) *grid.Refusal {
	return &grid.Refusal{
		Reason: reason,
		Asked:  strconv.FormatInt(asked, 10), Available: strconv.FormatInt(available, 10),
	}
}

// refusePiece says why no node can hold one piece of c.
func refusePiece(c grid.Chunk, empty room) *grid.Refusal {
	var cores int
	var memory int64
	for n := range empty.cores {
		cores = max(cores, empty.cores[n])
		if empty.cores[n] >= c.Cores {
			memory = max(memory, empty.memory[n])
		}
	}
	if c.Cores > cores {
		return lack("too few processors on one node", int64(c.Cores), int64(cores))
	}
	if c.Memory > memory {
		return lack("not enough memory", c.Memory, memory)
	}
	return nil
}

// refusePacking says why pieces that fit one by one do not fit together. The
// numbers count what was asked and what of it could be placed.
func refusePacking(p pieces, empty room, l *placer) *grid.Refusal {
	if _, ok := l.place(p, empty); ok {
		return nil
	}
	var cores int
	var memory, asked int64
	for _, s := range l.shares {
		cores += s.Cores
		memory += s.Memory
	}
	slim := append(pieces(nil), p...)
	for i := range slim {
		asked += min(int64(slim[i].Count)*min(slim[i].Memory, muchAsked), unlimited/4)
		slim[i].Memory = 0
	}
	if _, ok := l.place(slim, empty); ok {
		return lack("not enough memory", asked, memory)
	}
	return lack("too few processors on one node", int64(p.cores()), int64(cores))
}
