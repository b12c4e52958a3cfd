package slurm

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// partition is one of scontrol -o show partition.
type partition struct {
	name  string
	nodes string // a node list
	limit grid.Tick
	usual grid.Tick // of jobs that name no limit; 0 is the limit
	first bool      // of jobs that name no partition
	users bool      // it runs jobs of users, without a reservation
	state string    // UP, DOWN (takes jobs, and starts none), DRAIN (starts what waits, and takes none), INACTIVE (neither)
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
		p.users = v["RootOnly"] != "YES" && v["ReqResv"] != "YES"
		switch p.state = v["State"]; p.state {
		case "UP", "DOWN", "DRAIN", "INACTIVE":
		default:
			return fmt.Errorf("%.40q is no state of a partition", p.state)
		}
		out = append(out, p)
		return nil
	})
	if err == nil && len(out) == 0 && strings.TrimSpace(string(text)) != "No partitions in the system" {
		err = fmt.Errorf("it shows no partition")
	}
	return out, err
}

// queue is the partition as the planner sees it; one that is not for users has no nodes.
func (p partition) queue(index map[string]int) (plan.Queue, error) {
	q := plan.Queue{Name: grid.QueueName(p.name), Limit: p.limit, Nodes: []int{}}
	if !p.users {
		return q, nil
	}
	if p.state != "UP" {
		q.Stopped, q.Closed = p.state != "DRAIN", p.state != "DOWN"
		q.Why = "the partition is " + p.state
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
