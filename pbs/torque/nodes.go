package torque

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
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

// farm is all nodes, with those of them that do not answer the server.
type farm struct {
	nodes  []plan.Node
	silent []grid.NodeName
}

func parseFarm(call string, text []byte) (farm, error) {
	s := newScanner(call, text)
	f := farm{nodes: make([]plan.Node, 0, min(bytes.Count(text, []byte("<Node>")), maxNodes, len(text)/40))}
	err := s.documents("Data", func(name []byte) error {
		if string(name) != "Node" {
			return s.fail("<%s> where <Node> should be", name)
		}
		if len(f.nodes) == maxNodes {
			return s.fail("more than %d nodes", maxNodes)
		}
		n, silent, err := s.node(name)
		f.nodes = append(f.nodes, n)
		if silent {
			f.silent = append(f.silent, n.Name)
		}
		return err
	})
	return f, err
}

func (s *scanner) node(name []byte) (n plan.Node, silent bool, err error) {
	begin, powered, stated := s.at, true, false
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
			n.Name, err = grid.NodeName(text), checkWord(text)
		case "state":
			stated = true
			n.Down, silent, err = down(text)
		case "power_state":
			powered, err = power(text)
		case "np":
			var np int64
			np, err = number(text, 0, grid.MaxProcesses)
			n.Cores = int(np)
		case "properties":
			n.Properties, err = s.properties(text)
		case "gpus":
			var gpus int64
			if gpus, err = number(text, 0, grid.MaxAmount); gpus > 0 {
				n.Resources = []grid.Resource{{Name: gpu, Amount: gpus}}
			}
		case "status":
			n.Memory, err = physical(text)
		default:
			err = fmt.Errorf("it is not known")
		}
		return s.wrap(name, err)
	})
	n.Down = n.Down || !powered
	if err == nil && (n.Name == "" || !stated) {
		s.at = begin
		err = s.fail("a node without name or state")
	}
	return n, silent, err
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
