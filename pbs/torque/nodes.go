package torque

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Elements of a node that are of no use here.
var otherOfNode = strings.Fields(`ntype jobs note mom_service_port mom_manager_port ttl acl requestid gpu_status mics mic_status num_node_boards
	numa_gpu_node_str numa_str total_sockets total_numa_nodes total_cores total_threads dedicated_sockets dedicated_numa_nodes dedicated_cores
	dedicated_threads numa_node_info features node_index MOMs`)

// parseNodes reads what pbsnodes -x prints.
func parseNodes(call string, text []byte) ([]plan.Node, error) {
	f, err := parseFarm(call, text)
	return f.nodes, err
}

// farm is all nodes, with those of them that do not answer the server, and why some of them cannot be read.
type farm struct {
	nodes  []plan.Node
	silent []grid.NodeName
	unread map[grid.NodeName]error
}

func parseFarm(call string, text []byte) (farm, error) {
	s := newScanner(call, text)
	f := farm{nodes: make([]plan.Node, 0, min(bytes.Count(text, []byte("<Node>")), maxNodes, len(text)/40)), unread: make(map[grid.NodeName]error)}
	err := s.documents("Data", func(name []byte) error {
		if string(name) != "Node" {
			return s.fail("<%s> where <Node> should be", name)
		}
		if len(f.nodes) == maxNodes {
			return s.fail("more than %d nodes", maxNodes)
		}
		n, err := s.node(name)
		f.nodes = append(f.nodes, n.Node)
		if n.silent {
			f.silent = append(f.silent, n.Name)
		}
		if n.unread != nil && err == nil {
			f.unread[n.Name] = n.unread
		}
		return err
	})
	if err == nil && len(f.unread) > 0 {
		if err = external.Misread(len(f.unread), len(f.nodes), f.unread[f.nodes[slices.IndexFunc(f.nodes, f.odd)].Name]); err != nil {
			err = s.fail("%w", err)
		}
	}
	return f, err
}

func (f farm) odd(n plan.Node) bool { return f.unread[n.Name] != nil }

// node is one node; unread is why it cannot be read: it takes no job then.
type node struct {
	plan.Node
	silent bool
	unread error
}

func (s *scanner) node(name []byte) (n node, err error) {
	begin, named, stated := s.at, false, false
	err = s.children(name, func(name []byte) error {
		if slices.Contains(otherOfNode, string(name)) {
			return s.skip(name, 1)
		}
		text, err := s.string(name)
		if err != nil {
			return err
		}
		switch string(name) {
		case "name":
			named, n.Name = true, grid.NodeName(text)
			return s.wrap(name, checkWord(text))
		case "state":
			stated = true
		}
		if err := n.take(s, string(name), text); errors.As(err, new(*command.OutputError)) {
			return err
		} else if err != nil {
			n.unread = cmp.Or(n.unread, fmt.Errorf("%s: %w", name, err))
		}
		return nil
	})
	n.Down = n.Down || n.unread != nil
	if err == nil && !(named && stated) {
		s.at = begin
		err = s.fail("a node without name or state")
	}
	return n, err
}

// take reads one of a node's elements.
func (n *node) take(s *scanner, name, text string) (err error) {
	var amount int64
	switch name {
	case "state":
		var is bool
		is, n.silent, err = down(text)
		n.Down = n.Down || is
	case "power_state":
		var on bool
		on, err = power(text)
		n.Down = n.Down || !on
	case "np":
		amount, err = number(text, 0, grid.MaxProcesses)
		n.Cores = int(amount)
	case "properties":
		n.Properties, err = s.properties(text)
	case "gpus":
		if amount, err = number(text, 0, grid.MaxAmount); amount > 0 {
			n.Resources = []grid.Resource{{Name: gpu, Amount: amount}}
		}
	case "status":
		n.Memory, err = physical(text)
	default:
		err = errors.New("it is not known")
	}
	return err
}

// down reads the states of a node, joined by commas: whether it takes no job until that is changed, and whether
// that is because it does not answer.
func down(text string) (is, silent bool, err error) {
	for word := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(word) {
		case "free", "job-exclusive", "job-sharing", "busy":
		case "down", "unknown", "state-unknown", "network-failure":
			is, silent = true, true
		case "offline", "reserve", "time-shared", "MOM-list-not-sent": // the last: it was made just now, and has not been sent the list of all nodes
			is = true
		default:
			return false, false, fmt.Errorf("the state %.40q is not known", word)
		}
	}
	return is, silent, nil
}

func power(text string) (bool, error) {
	switch text {
	case "Running":
		return true, nil
	case "Standby", "Suspend", "Sleep", "Hibernate", "Shutdown":
		return false, nil
	}
	return false, fmt.Errorf("the power state %.40q is not known", text)
}

func (s *scanner) properties(text string) ([]string, error) {
	list := make([]string, 0, min(strings.Count(text, ",")+1, max(s.budget, 0)))
	for rest, more := text, text != ""; more; {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		if err := s.spend(); err != nil {
			return nil, err
		}
		if err := checkWord(word); err != nil {
			return nil, err
		}
		list = append(list, word)
	}
	return list, nil
}

// physical finds physmem among what a node says of itself, KEY=VALUE joined by commas.
func physical(status string) (int64, error) {
	for rest, more := status, true; more; {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		if value, is := strings.CutPrefix(word, "physmem="); is {
			n, err := memory(value)
			return min(n, grid.MaxMemory), err
		}
	}
	return 0, nil
}
