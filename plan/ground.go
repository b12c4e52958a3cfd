package plan

import (
	"slices"

	"gbroker/grid"
	"gbroker/steps"
)

const (
	// unlimited is the memory of a node that declares none.
	unlimited = int64(1) << 60
	// muchAsked bounds sums of what is asked, so that no product overflows.
	muchAsked = 1 << 40
	// never is later than any instant.
	never = grid.Tick(steps.Never)
)

// ground is a site in numbers. What a node has, what is free there and what a piece
// needs are vectors of one width: cores, then memory where any node declares some,
// then the named resources that any node has.
type ground struct {
	site    grid.Site
	nodes   []Node
	queues  []Queue
	width   int
	memory  int // the index of memory; 0 where it is not counted
	named   []string
	full    []int64 // width numbers for each node; all 0 where it is down
	none    []int64 // a vector of nothing
	pieces  bool    // a node may hold several jobs
	classes []*class

	standard grid.QueueName // of questions that name no queue
	shapes   Shapes
	stopped  bool // the whole site
	why      string
	caps     []Cap
	ours     []int
}

// class is the nodes that certain demands may use: those of a queue that are up, and
// of the architecture, the system and the properties asked for.
type class struct {
	queue  grid.QueueName
	demand grid.Demand // what it asks for of the kind of nodes
	nodes  set
}

// is tells that a demand in a queue may use these nodes.
func (c *class) is(queue grid.QueueName, d *grid.Demand) bool {
	return c.queue == queue && alikeInKind(&c.demand, d)
}

func newGround(s *Snapshot) *ground {
	g := &ground{site: s.Site, nodes: s.Nodes, queues: s.Queues, width: 1, standard: s.Default, shapes: s.Shapes, stopped: s.Stopped, why: s.Why, caps: s.Caps, ours: s.Ours}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Memory > 0 && g.memory == 0 {
			g.memory, g.width = 1, 2
		}
		for _, r := range n.Resources {
			if !slices.Contains(g.named, r.Name) {
				g.named = append(g.named, r.Name)
			}
		}
	}
	g.width += len(g.named)
	g.full, g.none = make([]int64, g.width*len(s.Nodes)), make([]int64, g.width)
	for i := range s.Nodes {
		if n := &s.Nodes[i]; !n.Down && n.Cores > 0 {
			g.vector(g.full[i*g.width:(i+1)*g.width], n.Cores, n.Memory, n.Resources)
			g.pieces = g.pieces || n.Cores > 1
			if g.memory > 0 && n.Memory <= 0 {
				g.full[i*g.width+g.memory] = unlimited
			}
		}
	}
	return g
}

// vector writes amounts as a vector; false where one is of a resource no node has.
func (g *ground) vector(into []int64, cores int, memory int64, named []grid.Resource) bool {
	clear(into)
	into[0] = int64(min(max(cores, 0), muchAsked))
	if g.memory > 0 {
		into[g.memory] = min(max(memory, 0), unlimited)
	}
	known := true
	for _, r := range named {
		i := slices.Index(g.named, r.Name)
		if i < 0 {
			known = known && r.Amount <= 0
			continue
		}
		into[g.width-len(g.named)+i] += min(max(r.Amount, 0), muchAsked)
	}
	return known
}

// alike tells that any free node does for any job that fits: each holds one, and nobody
// asks for more than cores, or for certain nodes.
func (g *ground) alike() bool { return !g.pieces && g.width == 1 && len(g.classes) <= 1 }

func (g *ground) up(n int) bool { return g.full[n*g.width] > 0 }

// of is what node n has.
func (g *ground) of(n int) []int64 { return g.full[n*g.width : (n+1)*g.width] }

// class finds the nodes for a demand; keep remembers a class that is new.
func (g *ground) class(queue grid.QueueName, d *grid.Demand, keep bool) *class {
	for _, c := range g.classes {
		if c.is(queue, d) {
			return c
		}
	}
	c := &class{queue: queue, demand: *d, nodes: newSet(len(g.nodes))}
	for n := range g.nodes {
		if g.up(n) && g.suits(n, d) {
			c.nodes.add(n)
		}
	}
	if queue != "" {
		g.narrow(c.nodes, queue)
	}
	if keep {
		g.classes = append(g.classes, c)
	}
	return c
}

// narrow leaves the nodes of a queue.
func (g *ground) narrow(nodes set, queue grid.QueueName) {
	q := g.queue(queue)
	switch {
	case q == nil:
		clear(nodes)
	case q.Nodes != nil:
		of := newSet(len(g.nodes))
		for _, n := range q.Nodes {
			if n >= 0 && n < len(g.nodes) {
				of.add(n)
			}
		}
		for w := range nodes {
			nodes[w] &= of[w]
		}
	}
}

func (g *ground) queue(name grid.QueueName) *Queue {
	for i := range g.queues {
		if g.queues[i].Name == name {
			return &g.queues[i]
		}
	}
	return nil
}

// stands tells whether nothing that waits in a queue is started now.
func (g *ground) stands(queue grid.QueueName) bool {
	q := g.queue(queue)
	return g.stopped || q != nil && q.Stopped
}

// suits tells whether a node is of the kind a demand asks for.
func (g *ground) suits(n int, d *grid.Demand) bool {
	return (d.Architecture == "" || d.Architecture == g.architecture(n)) &&
		(d.System == "" || d.System == g.system(n)) && g.carries(n, d.Properties) &&
		g.called(n, d.Hosts) && g.declares(d)
}

// alikeInKind tells that two demands ask for nodes of one kind.
func alikeInKind(a, b *grid.Demand) bool {
	return a.Architecture == b.Architecture && a.System == b.System && slices.Equal(a.Properties, b.Properties) &&
		slices.Equal(a.Hosts, b.Hosts) && a.Disk == b.Disk &&
		slices.EqualFunc(a.Measures, b.Measures, func(x, y grid.Measure) bool { return x.Of == y.Of && slices.Equal(x.Within, y.Within) })
}

// called tells that a node is one of the hosts; none is any.
func (g *ground) called(n int, hosts []string) bool {
	return len(hosts) == 0 || slices.ContainsFunc(hosts, g.nodes[n].Called)
}

// declares tells that the site declares of its nodes what a demand asks for.
func (g *ground) declares(d *grid.Demand) bool {
	return d.Disk <= g.site.Each.Disk && !slices.ContainsFunc(d.Measures, func(m grid.Measure) bool { return !m.Holds(g.site.Each.Value(m.Of)) })
}

func (g *ground) architecture(n int) string {
	if a := g.nodes[n].Architecture; a != "" {
		return a
	}
	return g.site.Architecture
}

func (g *ground) system(n int) string {
	if s := g.nodes[n].System; s != "" {
		return s
	}
	return g.site.System
}

func (g *ground) carries(n int, properties []string) bool {
	for _, p := range properties {
		if !slices.Contains(g.nodes[n].Properties, p) {
			return false
		}
	}
	return true
}
