package torque

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// gpu is the only named resource that TORQUE counts by node.
const gpu = "gpu"

// maxKinds is how many different kinds of pieces one job may ask for.
const maxKinds = 64

// demand is what a job asks for: COUNT[:ppn=N][:gpus=N][:PROPERTY]..., or a node's name for
// COUNT, joined by +. procs=N, which names no nodes, is N pieces
// anywhere, ncpus=N is one of N processes.
func (r *record) demand(s *scanner) (grid.Demand, error) {
	var d grid.Demand
	spec, _, _ := strings.Cut(r.nodes, "#") // #shared and #excl are of no use
	if spec == "" {
		n := int(max(r.together, 1))
		d.Chunks = []grid.Chunk{{Count: int(max(r.anywhere, 1)), Processes: n, Cores: n}}
	}
	for spec != "" {
		var part string
		part, spec, _ = strings.Cut(spec, "+")
		c, err := piece(part, &d)
		if err != nil {
			return d, fmt.Errorf("the nodes %.60q: %w", r.nodes, err)
		}
		i := slices.IndexFunc(d.Chunks, func(o grid.Chunk) bool { return alike(o, c) })
		if i >= 0 {
			d.Chunks[i].Count = min(d.Chunks[i].Count+c.Count, grid.MaxProcesses)
			continue
		}
		if len(d.Chunks) == maxKinds {
			return d, fmt.Errorf("the nodes %.60q…: more than %d kinds of pieces", r.nodes, maxKinds)
		}
		if err := s.spend(); err != nil {
			return d, err
		}
		d.Chunks = append(d.Chunks, c)
	}
	r.share(d)
	return d, nil
}

func alike(a, b grid.Chunk) bool {
	return a.Processes == b.Processes && slices.Equal(a.Resources, b.Resources)
}

// share gives each piece its part of the job's memory.
func (r *record) share(d grid.Demand) {
	all := int64(d.Processes())
	for i := range d.Chunks {
		c := &d.Chunks[i]
		each := max(r.perProcess, r.memory/max(all, 1))
		c.Memory = min(each, grid.MaxMemory/int64(c.Processes)) * int64(c.Processes)
	}
}

// piece reads one part of a demand for nodes. A named node counts as any one.
func piece(part string, d *grid.Demand) (grid.Chunk, error) {
	c := grid.Chunk{Count: 1, Processes: 1}
	for i, more := 0, true; more; i++ {
		var word string
		word, part, more = strings.Cut(part, ":")
		key, value, is := strings.Cut(word, "=")
		var err error
		switch {
		case word == "":
			err = errors.New("an empty word")
		case i == 0 && !is && word[0] >= '0' && word[0] <= '9' && strings.Trim(word, "0123456789") == "":
			c.Count, err = small(word)
		case key == "ppn":
			c.Processes, err = small(value)
		case key == "gpus":
			var n int
			n, err = small(value)
			c.Resources = []grid.Resource{{Name: gpu, Amount: int64(n)}}
		case is: // mics=, reqattr= and the like: what TORQUE has checked
		case i > 0 && word != "shared" && word != "exclusive_thread" && word != "exclusive_process" && word != "exclusive" && word != "default":
			if len(d.Properties) < grid.MaxProperties && !slices.Contains(d.Properties, word) {
				d.Properties = append(d.Properties, word)
			}
		}
		if err != nil {
			return c, err
		}
	}
	c.Cores = c.Processes
	return c, nil
}

// small is a number of pieces, processes or devices.
func small(text string) (int, error) {
	n, err := number(text, 1, grid.MaxProcesses)
	return int(n), err
}

// placed is where a job runs: NODE/SLOTS joined by +, with SLOTS a number, a range or a list of them.
func (r *record) placed(s *scanner) ([]external.Place, error) {
	may := r.job.State == external.Running || r.job.State == external.Odd && r.job.Finished == 0
	if r.places == "" || !may {
		return nil, nil
	}
	list := make([]external.Place, 0, min(strings.Count(r.places, "+")+1, max(s.budget, 0)))
	for rest, more := r.places, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "+")
		node, slots, is := strings.Cut(part, "/")
		n, err := slotCount(slots)
		if err = errors.Join(checkWord(node), err); err != nil || !is {
			return nil, fmt.Errorf("the place %.60q is not NODE/SLOTS: %w", part, err)
		}
		if last := len(list) - 1; last >= 0 && string(list[last].Node) == node {
			list[last].Processes += n
			list[last].Cores += n
			continue
		}
		if err := s.spend(); err != nil {
			return nil, err
		}
		list = append(list, external.Place{Node: grid.NodeName(node), Processes: n, Cores: n})
	}
	list = merged(list)
	total := 0
	for _, p := range list {
		total += p.Cores
	}
	for i := range list {
		list[i].Memory = min(max(r.perProcess, r.memory/int64(total)), grid.MaxMemory/int64(list[i].Cores)) * int64(list[i].Cores)
		list[i].Resources = r.devices()
	}
	return list, nil
}

// devices is what a running job has on each of its nodes beside cores and memory.
func (r *record) devices() []grid.Resource {
	if len(r.job.Demand.Chunks) == 0 {
		return nil
	}
	return r.job.Demand.Chunks[0].Resources
}

// merged has each node once, by name.
func merged(list []external.Place) []external.Place {
	slices.SortStableFunc(list, func(a, b external.Place) int { return strings.Compare(string(a.Node), string(b.Node)) })
	out := list[:0]
	for _, p := range list {
		if last := len(out) - 1; last >= 0 && out[last].Node == p.Node {
			out[last].Processes += p.Processes
			out[last].Cores += p.Cores
			continue
		}
		out = append(out, p)
	}
	return out
}

// slotCount counts the slots of 0, 0-3 and 0-1,3.
func slotCount(text string) (int, error) {
	total := int64(0)
	for rest, more := text, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		from, to, is := strings.Cut(part, "-")
		low, err := number(from, 0, grid.MaxProcesses)
		high := low
		if err == nil && is {
			high, err = number(to, low, grid.MaxProcesses)
		}
		if total += high - low + 1; err != nil || total > grid.MaxProcesses {
			return 0, errors.Join(fmt.Errorf("the slots %.40q are none", text), err)
		}
	}
	return int(total), nil
}

// whole makes a demand for whole nodes one that takes all of them by its size, as nothing else keeps others out on
// TORQUE alone: all places of the largest nodes that will do. Pieces share a node where they fit.
func whole(d grid.Demand, nodes []plan.Node) grid.Demand {
	full := 0
	for _, n := range nodes {
		if !slices.ContainsFunc(d.Properties, func(p string) bool { return !has(n.Properties, p) }) {
			full = max(full, n.Cores)
		}
	}
	d.Chunks = slices.Clone(d.Chunks)
	for i := range d.Chunks {
		c := &d.Chunks[i]
		if c.Cores < 1 || full < c.Cores || c.Count < 1 {
			continue // no node will do, as qsub will say
		}
		share := min(full/c.Cores, c.Count)
		c.Count, c.Cores = (c.Count+share-1)/share, full
		c.Memory = min(c.Memory, grid.MaxMemory/int64(share)) * int64(share)
		c.Resources = slices.Clone(c.Resources)
		for k := range c.Resources {
			c.Resources[k].Amount *= int64(share)
		}
	}
	return d
}

// asks writes a demand for qsub -l: nodes, and the memory of all pieces.
func asks(d grid.Demand) (nodes, mem string, err error) {
	parts, counts := make([]string, 0, len(d.Chunks)), make([]int, 0, len(d.Chunks))
	total := int64(0)
	for _, c := range d.Chunks {
		part := ":ppn=" + strconv.Itoa(max(c.Cores, 1))
		for _, r := range c.Resources {
			if r.Name != gpu {
				return "", "", fmt.Errorf("TORQUE cannot be asked for the resource %s: it counts %s alone", r.Name, gpu)
			}
			part += ":gpus=" + strconv.FormatInt(r.Amount, 10)
		}
		for _, p := range d.Properties {
			if err := checkWord(p); err != nil {
				return "", "", fmt.Errorf("a property: %w", err)
			}
			part += ":" + p
		}
		if c.Memory > grid.MaxMemory || c.Count > grid.MaxProcesses || c.Count < 1 {
			return "", "", fmt.Errorf("%d pieces with %d bytes each are more than can be asked for", c.Count, c.Memory)
		}
		total += min(c.Memory, 1<<62/int64(c.Count)) * int64(c.Count)
		if last := len(parts) - 1; last >= 0 && parts[last] == part { // +, and Maui sees a job of several requests
			counts[last] += c.Count
			continue
		}
		parts, counts = append(parts, part), append(counts, c.Count)
	}
	for i, n := range counts {
		parts[i] = strconv.Itoa(n) + parts[i]
	}
	if len(parts) == 0 || total < 0 {
		return "", "", errors.New("a job without pieces, or with more memory than can be counted")
	}
	if total > 0 {
		mem = strconv.FormatInt((total+1023)/1024, 10) + "kb"
	}
	return strings.Join(parts, "+"), mem, nil
}
