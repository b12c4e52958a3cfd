package jsdl

import (
	"strings"

	"gbroker/grid"
)

// The elements of the project's own namespace, which stand at the end of Resources,
// where the schema takes any element of another namespace.

// namedResource is one Resource.
type namedResource struct {
	grid.Resource
	at position
}

// named reads the Resource elements: what each piece of a job needs beside cores
// and memory.
func (p *parser) named(list []*element) []namedResource {
	var named []namedResource
	seen := map[string]int{}
	for _, e := range list {
		r, ok := p.resource(e)
		switch {
		case !ok:
		case seen[r.Name] != 0:
			p.at(e.at, "Resource %s is given twice (first in line %d): once only, with the sum", quote(r.Name), seen[r.Name])
		default:
			seen[r.Name] = e.at.line
			named = append(named, namedResource{r, e.at})
		}
	}
	return named
}

// giveNamed gives each piece its named resources, which must be countable in all.
func (p *parser) giveNamed(named []namedResource, chunks []grid.Chunk) {
	for i := range chunks {
		for _, r := range named {
			chunks[i].Resources = append(chunks[i].Resources, r.Resource)
			if r.Amount > grid.MaxTotalAmount/int64(chunks[i].Count) {
				p.at(r.at, "%d pieces with %d %s each are more than can be counted", chunks[i].Count, r.Amount, r.Name)
			}
		}
	}
}

// resource reads one Resource.
func (p *parser) resource(e *element) (r grid.Resource, ok bool) {
	name, given := e.attribute("", "name")
	r.Name = strings.Trim(name, whiteSpace)
	if !given {
		p.at(e.at, "Resource has no name: write <Resource name=\"gpu\">1</Resource>")
	}
	if r.Amount, ok = p.whole(e, "a whole number", 1, grid.MaxAmount); !ok || !given {
		return r, false
	}
	switch err := grid.CheckResource(r); {
	case r.Name == "cores":
		p.at(e.at, "Resource \"cores\" has elements of its own: write IndividualCPUCount or TotalCPUCount")
	case r.Name == "memory":
		p.at(e.at, "Resource \"memory\" has an element of its own: write IndividualPhysicalMemory")
	case err != nil:
		p.at(e.at, "Resource: %v", err)
	default:
		return r, true
	}
	return r, false
}

// properties reads the Property elements: names that each node of the job must carry.
func (p *parser) properties(list []*element) []string {
	var names []string
	seen := map[string]int{}
	for _, e := range list {
		name := p.word(e)
		if err := grid.CheckLabel(name); err != nil {
			p.at(e.at, "Property: %v", err)
			continue
		}
		if seen[name] != 0 {
			p.at(e.at, "Property %s is given twice (first in line %d): once only", quote(name), seen[name])
			continue
		}
		seen[name] = e.at.line
		names = append(names, name)
	}
	return names
}

// queue reads the Queue: the job runs only where there is one of that name.
func (p *parser) queue(e *element) {
	name := p.word(e)
	if err := grid.CheckName(name); err != nil {
		p.at(e.at, "Queue: %v", err)
		return
	}
	p.document.Job.Queue = grid.QueueName(name)
}
