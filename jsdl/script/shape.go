package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
)

// shape is all that a script says of how much it needs; 0 is not said.
type shape struct {
	// Slurm's words. Sizes are bytes.
	nodes, tasks, perNode, cores           int64
	memory, memoryPerCore, memoryPerGPU    int64
	coresPerGPU                            int64
	gpus, gpusPerNode, gpusPerTask         gpus
	each                                   []grid.Resource // of each node
	nodesBy, memoryBy, eachBy, wholeMemory word

	// qsub's words.
	parts     []part // of nodes or select
	partsBy   word
	selected  bool // the parts are those of select
	scattered bool
	packed    word
	anywhere  int64 // procs
	together  int64 // ncpus
	total     int64 // mem of the whole job
	process   int64 // pmem
	virtual   value // vmem
	cput      word
}

// part is a chunk of a script with what it alone asks of its nodes.
type part struct {
	grid.Chunk
	properties []string
	threads    int64 // ompthreads
}

// setNodes reads N, N-M and lists of those: the least is asked for.
func setNodes(j *reading, v value) error {
	low, high, ranged := strings.Cut(v.text, "-")
	if low == "" { // -1, say
		low, ranged = v.text, false
	}
	n, err := count(low, 1, grid.MaxProcesses)
	if err != nil {
		return err
	}
	if ranged {
		most, err := count(high, 1, grid.MaxProcesses)
		if err != nil || most < n {
			return fmt.Errorf("%s is no range of nodes", short(v.text))
		}
		if most > n {
			j.warn(v.word, "is taken as %d: the least that will do is asked for", n)
		}
	}
	j.shape.nodes, j.shape.nodesBy = n, v.word
	return nil
}

// demand turns what was asked into pieces.
func (j *reading) demand() {
	if len(j.mistakes) > 0 {
		return // nothing follows from half of it
	}
	s, d := &j.shape, &j.job.Demand
	if j.dialect == torque || j.dialect == openPBS {
		j.parts()
	} else {
		j.even()
	}
	all := 0
	for _, c := range d.Chunks {
		if all += c.Count * c.Cores; all > grid.MaxProcesses || c.Memory > grid.MaxMemory/int64(c.Count) {
			j.wrong(j.widest(), "the job asks for more than %d cores, or %d bytes", grid.MaxProcesses, grid.MaxMemory)
			return
		}
		if err := c.CheckResources(); err != nil {
			j.wrong(s.eachBy, "%v", err)
			return
		}
	}
}

// widest is the directive to name where the whole is too much.
func (j *reading) widest() word {
	for _, w := range []word{j.shape.nodesBy, j.shape.partsBy} {
		if w.text != "" {
			return w
		}
	}
	return word{j.base, place{1, 1}}
}

// even is Slurm's demand: processes of one size, shared evenly by the nodes.
func (j *reading) even() {
	s, d := &j.shape, &j.job.Demand
	s.cores = max(s.cores, 1)
	if s.wholeMemory.text != "" && !d.Exclusive {
		j.wrong(s.wholeMemory, "means all memory of a node, which --exclusive alone gives: write how much is needed")
		return
	}
	if s.tasks == 0 && s.gpusPerTask.Amount > 0 && s.gpus.Amount > 0 {
		s.tasks = max(1, s.gpus.Amount/s.gpusPerTask.Amount)
		s.gpus = gpus{}
	}
	pieces, err := j.nodesOf()
	if err != nil {
		j.wrong(s.nodesBy, "%v", err)
		return
	}
	for i := range pieces {
		if err := j.furnish(&pieces[i], pieces); err != nil {
			j.wrong(s.gpus.by, "%v", err)
			return
		}
	}
	d.Chunks = pieces
}

// nodesOf shares the processes out: over the nodes asked for, else over as many as their number on
// each makes, else each by itself.
func (j *reading) nodesOf() ([]grid.Chunk, error) {
	s, d := &j.shape, &j.job.Demand
	nodes, tasks := s.nodes, s.tasks
	switch {
	case nodes > 0 && tasks == 0:
		tasks = nodes * max(s.perNode, 1)
	case nodes > 0 && tasks < nodes:
		j.warn(s.nodesBy, "is taken as %d: there are no more processes", tasks)
		nodes = tasks
	case nodes > 0 && s.perNode > 0 && tasks > nodes*s.perNode:
		return nil, fmt.Errorf("%d processes with at most %d on a node need more nodes", tasks, s.perNode)
	case nodes == 0 && s.perNode > 0:
		tasks = max(tasks, 1)
		if s.tasks == 0 {
			tasks = s.perNode
		}
		nodes = (tasks + s.perNode - 1) / s.perNode
		d.DistinctNodes = nodes > 1
		return filled(tasks, min(s.perNode, tasks), s.cores), nil
	case nodes == 0 && tasks > 1 && j.eachNode() != nil:
		j.warn(*j.eachNode(), "is of each node, and the number of nodes is open: all %d processes are put on one; write --nodes to spread them", tasks)
		nodes = 1
	case nodes == 0:
		return []grid.Chunk{{Count: int(max(tasks, 1)), Processes: 1, Cores: int(s.cores)}}, nil
	}
	d.DistinctNodes = nodes > 1
	return shared(tasks, nodes, s.cores), nil
}

// eachNode is the directive that asks something of each node, whichever number of them there is.
func (j *reading) eachNode() *word {
	s := &j.shape
	switch {
	case s.memory > 0:
		return &s.memoryBy
	case len(s.each) > 0:
		return &s.eachBy
	case s.gpusPerNode.Amount > 0:
		return &s.gpusPerNode.by
	case s.gpus.Amount > 0 && s.gpus.Amount%s.tasks != 0:
		return &s.gpus.by
	}
	return nil
}

// shared shares processes evenly over nodes: the first have one more where it does not divide.
func shared(tasks, nodes, cores int64) []grid.Chunk {
	more, each := tasks%nodes, tasks/nodes
	return slices.DeleteFunc([]grid.Chunk{
		{Count: int(more), Processes: int(each + 1), Cores: int((each + 1) * cores)},
		{Count: int(nodes - more), Processes: int(each), Cores: int(each * cores)},
	}, func(c grid.Chunk) bool { return c.Count == 0 })
}

// filled puts so many processes on each node; the last has the rest.
func filled(tasks, each, cores int64) []grid.Chunk {
	rest := tasks % each
	return slices.DeleteFunc([]grid.Chunk{
		{Count: int(tasks / each), Processes: int(each), Cores: int(each * cores)},
		{Count: int(min(rest, 1)), Processes: int(rest), Cores: int(rest * cores)},
	}, func(c grid.Chunk) bool { return c.Count == 0 })
}

// furnish gives a piece its memory and named resources.
func (j *reading) furnish(c *grid.Chunk, all []grid.Chunk) error {
	s := &j.shape
	c.Resources = slices.Clone(s.each)
	count := 0
	for _, o := range all {
		count += o.Count
	}
	add := func(r grid.Resource, times int64) {
		r.Amount = min(r.Amount, grid.MaxAmount/max(times, 1)) * times
		if r.Amount > 0 {
			c.Resources = append(c.Resources, r)
		}
	}
	add(s.gpusPerNode.Resource, 1)
	add(s.gpusPerTask.Resource, int64(c.Processes))
	if g := s.gpus.Resource; g.Amount > 0 {
		if g.Amount%int64(count) != 0 {
			return fmt.Errorf("%d GPUs cannot be shared evenly by %d pieces: write --gpus-per-node", g.Amount, count)
		}
		g.Amount /= int64(count)
		add(g, 1)
	}
	devices := int64(0)
	for _, r := range c.Resources {
		if r.Name == "gpu" || strings.HasPrefix(r.Name, "gpu:") {
			devices += r.Amount
		}
	}
	if s.coresPerGPU > 0 {
		if devices == 0 {
			return errors.New("--cpus-per-gpu asks for cores by GPUs, but there are none")
		}
		c.Cores = int(max(int64(c.Cores), min(devices, grid.MaxProcesses)*s.coresPerGPU))
	}
	c.Memory = s.memory + s.memoryPerCore*int64(min(c.Cores, grid.MaxProcesses))
	if s.memoryPerGPU > 0 {
		c.Memory += s.memoryPerGPU * min(devices, grid.MaxProcesses)
	}
	return nil
}
