package openpbs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// takesJobs are the words of a node's state and whether the node can take or keep jobs.
var takesJobs = map[string]bool{
	"free": true, "job-busy": true, "job-exclusive": true, "resv-exclusive": true,
	"busy": false, "offline": false, "down": false, "stale": false, "state-unknown": false,
	"unresolvable": false, "initializing": false, "maintenance": false, "sleep": false,
	"provisioning": false, "wait-provisioning": false,
}

// node is one (virtual) node; queue is the only one whose jobs it takes, "" for all.
type node struct {
	plan.Node
	queue  string
	unread error // why it cannot be read: it is down then
}

// nodes reads what pbsnodes -a -F json prints.
func (w words) nodes(text []byte) (head, []node, error) {
	n, err := counted(text, "nodes", maxNodes)
	if err != nil {
		return head{}, nil, err
	}
	list := make([]node, 0, n)
	r := newNodeReader()
	odd := 0
	h, err := envelope(text, "nodes", func(name string, s *scanner) error {
		if s.peek() != '{' { // so it says that it knows no such node, and ends with 0
			v, err := s.value()
			return errors.Join(fmt.Errorf("%.80s in the place of a node", v), err)
		}
		var one node
		unread, err := s.attempt(func() (err error) {
			one, err = w.node(name, s, r)
			return err
		})
		if one.unread = unread; unread != nil {
			one.Down = true
			odd++
			err = cmp.Or(err, external.Misread(odd, n, unread))
		}
		list = append(list, one)
		return err
	})
	return h, list, err
}

// nodeReader takes the attributes of one node after another.
type nodeReader struct {
	state, mom, has, queue value
	fields                 map[string]*value
}

func newNodeReader() *nodeReader {
	r := &nodeReader{}
	r.fields = map[string]*value{"state": &r.state, "Mom": &r.mom, "resources_available": &r.has, "queue": &r.queue}
	return r
}

func (w words) node(name string, s *scanner, r *nodeReader) (node, error) {
	n := node{Node: plan.Node{Name: grid.NodeName(name)}}
	if !isWord(name) {
		return n, errors.New("it is no name of a node")
	}
	if err := members(s, r.fields); err != nil {
		return n, err
	}
	if r.mom == nil || r.state == nil {
		return n, errors.New("state or Mom is missing")
	}
	n.queue = r.queue.text()
	for word := range strings.SplitSeq(r.state.text(), ",") {
		takes, known := takesJobs[strings.ToLower(strings.TrimSpace(word))]
		if !known {
			return n, at("state", fmt.Errorf("%.60q is no state of a node", word))
		}
		n.Down = n.Down || !takes
	}
	if r.has == nil {
		return n, nil
	}
	return n, w.capacities(&n.Node, r.has)
}

// capacities reads resources_available.
func (w words) capacities(n *plan.Node, has value) error {
	s := &scanner{text: has}
	return s.object(func(name string) error {
		v, err := s.value()
		if err != nil {
			return err
		}
		text := v.text()
		switch {
		case name == "ncpus":
			cores, err := number(text, grid.MaxProcesses)
			n.Cores = int(cores)
			return err
		case name == "mem":
			n.Memory, err = size(text)
			return err
		case name == "vnode" || name == "arch" || slices.Contains(builtin, name):
			return nil
		}
		return w.has(n, name, text)
	})
}

// has adds a resource of the site's own to a node, or a property.
func (w words) has(n *plan.Node, name, text string) error {
	if !isNumber(text) {
		if p := property(name, text); p != "" {
			n.Properties = append(n.Properties, p)
		}
		return nil
	}
	amount, err := number(text, grid.MaxAmount)
	if r := (grid.Resource{Name: w.our(name), Amount: amount}); err == nil && grid.CheckResource(r) == nil { // 0 is none of it
		n.Resources = append(n.Resources, r)
	}
	return err
}
