package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/plan"
)

// QueueConfig is a partition of the nodes. The nodes of two queues may overlap.
type QueueConfig struct {
	Name  grid.QueueName
	Nodes []grid.NodeName // none: all
	// Limit is the longest that a job of the queue may run; 0 is any.
	Limit time.Duration
}

// Nodes are the nodes of the embedded batch system: those of the list, or equal ones
// called SITE-1, SITE-2, …. Other systems tell theirs.
func (c Config) Nodes() []plan.Node {
	if c.Batch.System != Embedded {
		return nil
	}
	if c.Batch.List != nil {
		return c.Batch.List
	}
	nodes := make([]plan.Node, c.Batch.Nodes)
	for i := range nodes {
		nodes[i] = plan.Node{Name: grid.NodeName(fmt.Sprintf("%s-%d", c.Site, i+1)), Cores: c.Batch.Cores, Memory: c.Batch.Memory}
	}
	return nodes
}

// Queues are the queues over Nodes.
func (c Config) Queues() []plan.Queue {
	nodes := c.Nodes()
	var list []plan.Queue
	for _, q := range c.Batch.Queues {
		p := plan.Queue{Name: q.Name, Limit: grid.Span(q.Limit)}
		for _, name := range q.Nodes {
			p.Nodes = append(p.Nodes, slices.IndexFunc(nodes, func(n plan.Node) bool { return n.Name == name }))
		}
		list = append(list, p)
	}
	return list
}

// Processes is the number of cores of all nodes.
func (c Config) Processes() int {
	sum := 0
	for _, n := range c.Nodes() {
		sum += n.Cores
	}
	return sum
}

// nodes reads batch.nodes: a number of equal nodes, or a list of nodes.
func (d *document) nodes(n ast.Node, b *BatchConfig) {
	s, isList := n.(*ast.SequenceNode)
	if !isList {
		parsed(d, n, "batch.nodes", &b.Nodes, within(1, maxNodes, strconv.Itoa, wholeNumber))
		return
	}
	if len(s.Values) == 0 {
		d.note(n, "batch.nodes is an empty list: write at least one node, or a number of equal ones")
	}
	b.List = []plan.Node{}
	d.list(n, "batch.nodes", maxNodes, false, func(n ast.Node) {
		var node plan.Node
		d.fields(n, "a node", nodeFields(d, &node))
		if node.Name != "" && slices.ContainsFunc(b.List, func(o plan.Node) bool { return o.Name == node.Name }) {
			d.note(n, "batch.nodes: %q is here twice: give each node a name of its own", node.Name)
			return
		}
		b.List = append(b.List, node)
	})
}

func nodeFields(d *document, n *plan.Node) []field {
	return []field{
		{name: "name", aka: "host", required: "name: n1", read: func(v ast.Node) { parsed(d, v, "name", &n.Name, readName[grid.NodeName]) }},
		{name: "cores", aka: "cpus processors slots", required: "cores: 8", read: func(v ast.Node) {
			parsed(d, v, "cores", &n.Cores, within(1, maxCores, strconv.Itoa, wholeNumber))
		}},
		{name: "memory", aka: "mem ram", read: func(v ast.Node) { parsed(d, v, "memory", &n.Memory, readMemory) }},
		{name: "resources", aka: "resource gres gpus", read: func(v ast.Node) { n.Resources = d.resources(v) }},
		{name: "speed", read: func(v ast.Node) { parsed(d, v, "speed", &n.Speed, readSpeed) }},
		{name: "properties", aka: "property features", list: true, read: func(v ast.Node) {
			n.Properties = nil
			d.unique(v, "properties", grid.MaxProperties, readLabel, func(s string) { n.Properties = append(n.Properties, s) })
		}},
	}
}

// resources reads a mapping of names to amounts.
func (d *document) resources(n ast.Node) []grid.Resource {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.note(n, "resources is %s: write names with amounts, such as {gpu: 2}", form.Kind(n))
		return nil
	}
	var list []grid.Resource
	for iter := m.MapRange(); iter.Next(); {
		r := grid.Resource{Name: iter.Key().GetToken().Value}
		before := len(d.mistakes)
		parsed(d, iter.Value(), "resources", &r.Amount, func(s string) (int64, error) {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				err = fmt.Errorf("%q is no amount: write a whole number, as in {gpu: 2}, or {\"gpu:a100\": 2} with quotes around a name with a colon", form.Clip(s))
			}
			return v, err
		})
		if len(d.mistakes) > before {
			continue
		}
		list = append(list, r)
		if err := grid.CheckResources(list); err != nil {
			d.note(iter.Key(), "resources: %v", err)
			return nil
		}
	}
	return list
}

// queues reads batch.queues: names, or mappings with nodes and limit.
func (d *document) queues(n ast.Node, b *BatchConfig, c *Config) {
	b.Queues = nil
	d.list(n, "batch.queues", maxQueues, false, func(n ast.Node) {
		var q QueueConfig
		if _, is := n.(ast.MapNode); is {
			d.fields(n, "a queue", queueFields(d, &q, c))
		} else {
			parsed(d, n, "batch.queues", &q.Name, readName[grid.QueueName])
		}
		switch {
		case q.Name == "":
		case slices.ContainsFunc(b.Queues, func(o QueueConfig) bool { return o.Name == q.Name }):
			d.note(n, "batch.queues: %q is here twice: remove one", q.Name)
		default:
			b.Queues = append(b.Queues, q)
		}
	})
}

func queueFields(d *document, q *QueueConfig, c *Config) []field {
	return []field{
		{name: "name", required: "name: long", read: func(n ast.Node) { parsed(d, n, "name", &q.Name, readName[grid.QueueName]) }},
		{name: "nodes", aka: "hosts", read: func(n ast.Node) {
			if s, is := n.(*ast.SequenceNode); is && len(s.Values) == 0 {
				d.note(n, "nodes is an empty list: name some, or leave it out to have all")
			}
			d.unique(n, "nodes", maxNodes, readName[string], func(s string) { q.Nodes = append(q.Nodes, grid.NodeName(s)) })
			d.later = append(d.later, func() { d.checkNodeNames(n, q.Nodes, c.Nodes()) })
		}},
		{name: "limit", aka: "walltime max", read: func(n ast.Node) {
			parsed(d, n, "limit", &q.Limit, within(time.Second, grid.MaxWalltime.Duration(), grid.FormatSpan, grid.ParseSpan))
		}},
	}
}

// checkNodeNames notes the names at n that are no node's.
func (d *document) checkNodeNames(n ast.Node, names []grid.NodeName, nodes []plan.Node) {
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(o plan.Node) bool { return o.Name == name }) {
			d.note(n, "nodes: there is no node %q: batch.nodes has %d, the first is %q", name, len(nodes), firstName(nodes))
		}
	}
}

func firstName(nodes []plan.Node) grid.NodeName {
	if len(nodes) == 0 {
		return ""
	}
	return nodes[0].Name
}

func readLabel(s string) (string, error) { return s, grid.CheckLabel(s) }

func readMemory(s string) (int64, error) {
	return within(1<<20, grid.MaxMemory, grid.FormatSize, grid.ParseSize)(s)
}

func eachFields(d *document, e *grid.Each) []field {
	return []field{
		{name: "disk", aka: "scratch tmp", read: func(v ast.Node) { parsed(d, v, "each_node.disk", &e.Disk, readMemory) }},
		{name: "clock", aka: "speed cpu_speed", read: func(v ast.Node) { parsed(d, v, "each_node.clock", &e.Clock, quantity("Hz", "2.4GHz")) }},
		{name: "bandwidth", aka: "network", read: func(v ast.Node) {
			parsed(d, v, "each_node.bandwidth", &e.Bandwidth, quantity("bit/s", "10Gbit/s"))
		}},
	}
}
