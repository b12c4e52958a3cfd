package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
)

// setPBSNodes reads qsub's nodes: COUNT[:ppn=N][:gpus=N][:PROPERTY]…, joined by +.
func setPBSNodes(j *reading, v value) error {
	text, modifier, _ := strings.Cut(v.text, "#")
	switch modifier {
	case "", "shared":
	case "excl":
		j.job.Demand.Exclusive = true
	default:
		return fmt.Errorf("#%s is not known: #shared and #excl are", short(modifier))
	}
	for _, spec := range strings.Split(text, "+") {
		p := part{Chunk: grid.Chunk{Count: 1, Processes: 1, Cores: 1}}
		for i, w := range strings.Split(spec, ":") {
			if err := p.node(w, i == 0); err != nil {
				return err
			}
		}
		p.Cores = p.Processes
		j.shape.parts = append(j.shape.parts, p)
	}
	return j.known(v)
}

// node reads one word of a part of nodes.
func (p *part) node(w string, first bool) error {
	name, number, is := strings.Cut(w, "=")
	switch {
	case w == "":
		return errors.New("a part of it is empty")
	case first && strings.Trim(w, "0123456789") == "":
		n, err := count(w, 1, grid.MaxProcesses)
		p.Count = int(n)
		return err
	case name == "ppn" || name == "cpp":
		n, err := count(number, 1, grid.MaxProcesses)
		if name == "cpp" {
			return errors.New("cpp is not carried over: write ppn with all cores of a node")
		}
		p.Processes = int(n)
		return err
	case name == "gpus":
		n, err := count(number, 1, grid.MaxAmount)
		p.Resources = append(p.Resources, grid.Resource{Name: "gpu", Amount: n})
		return err
	case is:
		return fmt.Errorf("%s is not carried over: ppn, gpus and names of properties are", short(w))
	case slices.Contains([]string{"shared", "exclusive", "exclusive_thread", "exclusive_process", "default", "reseterr"}, w):
		return nil // modes of the GPUs, which a job has for itself
	}
	p.properties = append(p.properties, w)
	return nil
}

// setSelect reads OpenPBS's select: [COUNT:]ncpus=N:mpiprocs=N:mem=SIZE:…, joined by +.
func setSelect(j *reading, v value) error {
	for _, spec := range strings.Split(v.text, "+") {
		p := part{Chunk: grid.Chunk{Count: 1, Processes: 1, Cores: 1}}
		for i, w := range strings.Split(spec, ":") {
			if i == 0 && w != "" && strings.Trim(w, "0123456789") == "" {
				n, err := count(w, 1, grid.MaxProcesses)
				if err != nil {
					return err
				}
				p.Count = int(n)
				continue
			}
			if err := p.chunk(w); err != nil {
				return err
			}
		}
		j.shape.parts = append(j.shape.parts, p)
	}
	j.shape.selected = true
	return j.known(v)
}

// chunk reads one word of a part of select.
func (p *part) chunk(w string) (err error) {
	name, text, is := strings.Cut(w, "=")
	text = strings.Trim(text, `"'`)
	if !is || text == "" {
		return fmt.Errorf("%s is no NAME=VALUE", short(w))
	}
	var n int64
	switch name {
	case "ncpus":
		n, err = count(text, 1, grid.MaxProcesses)
		p.Cores = int(n)
	case "mpiprocs":
		n, err = count(text, 1, grid.MaxProcesses)
		p.Processes = int(n)
	case "ompthreads":
		p.threads, err = count(text, 1, grid.MaxProcesses)
	case "mem":
		p.Memory, err = pbsSize(text)
	case "vmem", "pmem", "pvmem":
		return fmt.Errorf("%s is a limit: write mem", name)
	case "host", "vnode":
		return errors.New(oneSite)
	case "ngpus":
		n, err = count(text, 0, grid.MaxAmount)
		p.give("gpu", n)
	default:
		return p.other(name, text)
	}
	return err
}

func (p *part) give(name string, n int64) {
	if n > 0 {
		p.Resources = append(p.Resources, grid.Resource{Name: name, Amount: n})
	}
}

// other is a resource of the sites: what is counted, and what a node has or has not.
func (p *part) other(name, text string) error {
	if n, err := count(text, 0, grid.MaxAmount); err == nil {
		p.give(name, n)
		return grid.CheckLabel(name)
	}
	switch strings.ToLower(text) {
	case "true", "t", "y", "yes":
	case "false", "f", "n", "no":
		return fmt.Errorf("that nodes lack %s cannot be asked for: leave it out", short(name))
	default:
		name += ":" + text
	}
	p.properties = append(p.properties, name)
	return grid.CheckLabel(name)
}

// known checks the parts: what nodes must have is the same for all of a job.
func (j *reading) known(v value) error {
	s := &j.shape
	if s.partsBy.text != "" {
		return fmt.Errorf("%s asks for nodes already: write one of them", short(s.partsBy.text))
	}
	s.partsBy = v.word
	for _, p := range s.parts {
		if !slices.Equal(p.properties, s.parts[0].properties) {
			return errors.New("its parts ask for nodes with different properties: here all nodes of a job have the same")
		}
	}
	j.job.Demand.Properties = s.parts[0].properties
	s.eachBy = v.word
	return grid.CheckProperties(s.parts[0].properties)
}

// setPlace reads OpenPBS's place.
func setPlace(j *reading, v value) error {
	for _, w := range strings.Split(v.text, ":") {
		switch w {
		case "free", "shared":
		case "scatter", "vscatter":
			j.shape.scattered = true
		case "pack":
			j.shape.packed = v.word
		case "excl", "exclhost":
			j.job.Demand.Exclusive = true
		default:
			if strings.HasPrefix(w, "group=") {
				return errors.New("nodes are not grouped here: leave group= out")
			}
			return fmt.Errorf("%s is no place: free, pack, scatter, excl are", short(w))
		}
	}
	return nil
}

// parts is qsub's demand: pieces as nodes or select cut them, or what procs and ncpus say.
func (j *reading) parts() {
	s, d := &j.shape, &j.job.Demand
	j.limits()
	if len(s.parts) == 0 {
		n := max(s.anywhere, 1)
		s.parts = []part{{Chunk: grid.Chunk{Count: int(n), Processes: 1, Cores: int(max(s.together, 1))}}}
	} else if s.anywhere > 0 || s.together > 0 || s.selected && s.total > 0 {
		j.wrong(s.partsBy, "stands beside procs, ncpus or mem, which qsub refuses: write all of it here")
		return
	}
	all := int64(0)
	for _, p := range s.parts {
		all += int64(p.Count) * int64(p.Cores)
	}
	if all > grid.MaxProcesses {
		j.wrong(j.widest(), "the job asks for more than %d cores", grid.MaxProcesses)
		return
	}
	for _, p := range s.parts {
		c := p.Chunk
		c.Memory = max(c.Memory, s.process*int64(c.Processes), share(s.total, int64(c.Cores), all))
		if n := len(d.Chunks); n > 0 && alike(d.Chunks[n-1], c) {
			d.Chunks[n-1].Count += c.Count
			continue
		}
		d.Chunks = append(d.Chunks, c)
	}
	if s.packed.text != "" {
		d.Chunks = []grid.Chunk{packed(d.Chunks)}
	}
	pieces := 0
	for _, c := range d.Chunks {
		pieces += c.Count
	}
	d.DistinctNodes = s.scattered && pieces > 1
}

// limits are vmem and cput, which no site keeps as such.
func (j *reading) limits() {
	s := &j.shape
	switch {
	case s.virtual.word.text == "":
	case s.total > 0 || s.selected || s.process > 0:
		j.warn(s.virtual.word, "has no effect: the memory that is asked for counts")
	default:
		j.warn(s.virtual.word, "is taken as mem")
		s.total, _ = pbsSize(s.virtual.text) // it was read before
	}
	switch {
	case s.cput.text == "":
	case j.job.Walltime == 0:
		j.wrong(s.cput, "limits the processor time of the whole job, which no site does: write walltime")
	default:
		j.warn(s.cput, "has no effect: the walltime is the limit")
	}
}

// share is the part of total that so many of all cores get, rounded up to whole KiB.
func share(total, cores, all int64) int64 {
	const kib = 1024
	return (total/kib*cores + all - 1) / all * kib
}

func alike(a, b grid.Chunk) bool {
	return a.Processes == b.Processes && a.Cores == b.Cores && a.Memory == b.Memory && slices.Equal(a.Resources, b.Resources)
}

// packed is all chunks on one node.
func packed(list []grid.Chunk) grid.Chunk {
	sum := grid.Chunk{Count: 1}
	for _, c := range list {
		sum.Processes += c.Count * c.Processes
		sum.Cores += c.Count * c.Cores
		sum.Memory += int64(c.Count) * min(c.Memory, grid.MaxMemory/int64(c.Count))
		for _, r := range c.Resources {
			r.Amount *= int64(c.Count)
			if i := slices.IndexFunc(sum.Resources, func(o grid.Resource) bool { return o.Name == r.Name }); i >= 0 {
				sum.Resources[i].Amount += r.Amount
			} else {
				sum.Resources = append(sum.Resources, r)
			}
		}
	}
	return sum
}
