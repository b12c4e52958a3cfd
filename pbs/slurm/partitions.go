package slurm

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// partition is one of scontrol -o show partition.
type partition struct {
	name   string
	nodes  string // a node list
	limit  grid.Tick
	usual  grid.Tick // of jobs that name no limit; 0 is the limit
	first  bool      // of jobs that name no partition
	starts bool      // it starts jobs of users
}

func parsePartitions(text []byte) (out []partition, err error) {
	err = eachLine(text, maxPartitions, func(l line) error {
		v, err := l.values("PartitionName", "Default", "DefaultTime", "MaxTime", "Nodes", "RootOnly", "ReqResv", "State")
		if err != nil {
			return err
		}
		p := partition{name: v["PartitionName"], nodes: v["Nodes"], first: v["Default"] == "YES"}
		if p.name == "" || len(p.name) > maxName {
			return fmt.Errorf("PartitionName=%.40q", p.name)
		}
		if p.limit, err = span(v["MaxTime"]); err != nil {
			return fmt.Errorf("MaxTime: %w", err)
		}
		if p.usual, err = span(v["DefaultTime"]); err != nil {
			return fmt.Errorf("DefaultTime: %w", err)
		}
		switch v["State"] {
		case "UP":
			p.starts = v["RootOnly"] != "YES" && v["ReqResv"] != "YES"
		case "DOWN", "DRAIN", "INACTIVE":
		default:
			return fmt.Errorf("%.40q is no state of a partition", v["State"])
		}
		out = append(out, p)
		return nil
	})
	if err == nil && len(out) == 0 && strings.TrimSpace(string(text)) != "No partitions in the system" {
		err = fmt.Errorf("it shows no partition")
	}
	return out, err
}

// queue is the partition as the planner sees it; one that starts nothing has no nodes.
func (p partition) queue(index map[string]int) (plan.Queue, error) {
	q := plan.Queue{Name: grid.QueueName(p.name), Limit: p.limit, Nodes: []int{}}
	if !p.starts {
		return q, nil
	}
	err := eachHost(p.nodes, maxNodes, func(name []byte) error {
		// One that is missing is of a node that sinfo hides, or was taken away just now.
		if at, known := index[string(name)]; known {
			q.Nodes = append(q.Nodes, at)
		}
		return nil
	})
	return q, err
}
