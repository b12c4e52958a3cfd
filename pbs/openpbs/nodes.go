package openpbs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
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
	queue string
}

// nodes reads what pbsnodes -a -F json prints.
func (w words) nodes(text []byte) (head, []node, error) {
	n, err := counted(text, "nodes", maxNodes)
	if err != nil {
		return head{}, nil, err
	}
	list := make([]node, 0, n)
	h, err := envelope(text, "nodes", func(name string, s *scanner) error {
		if !isWord(name) {
			return errors.New("it is no name of a node")
		}
		n, err := w.node(name, s)
		list = append(list, n)
		return err
	})
	return h, list, err
}

func (w words) node(name string, s *scanner) (node, error) {
	var state, mom, has, queue, bookable value
	n := node{Node: plan.Node{Name: grid.NodeName(name)}}
	if s.peek() != '{' { // so it says that it knows no such node, and ends with 0
		v, err := s.value()
		return n, errors.Join(fmt.Errorf("%.80s in the place of a node", v), err)
	}
	err := members(s, map[string]*value{"state": &state, "Mom": &mom, "resources_available": &has, "queue": &queue, "resv_enable": &bookable})
	if err != nil {
		return n, err
	}
	if mom == nil || state == nil {
		return n, errors.New("state or Mom is missing")
	}
	n.queue = queue.text()
	for _, word := range strings.Split(state.text(), ",") {
		takes, known := takesJobs[strings.TrimSpace(word)]
		if !known {
			return n, at("state", fmt.Errorf("%.60q is no state of a node", word))
		}
		n.Down = n.Down || !takes
	}
	if has == nil {
		return n, nil
	}
	return n, w.capacities(&n.Node, has)
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
		if amount, err := number(text, grid.MaxAmount); err == nil {
			if r := (grid.Resource{Name: w.our(name), Amount: amount}); grid.CheckResource(r) == nil { // 0 is none of it
				n.Resources = append(n.Resources, r)
			}
		} else if p := property(name, text); p != "" {
			n.Properties = append(n.Properties, p)
		}
		return nil
	})
}
