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

	unread error // why it cannot be read: it takes and starts nothing then
}

func parsePartitions(text []byte) (out []partition, err error) {
	err = eachLine(text, maxPartitions, func(l line) error {
		name, err := l.value("PartitionName")
		if err != nil {
			return err
		}
		if name == "" || len(name) > maxName {
			return fmt.Errorf("PartitionName=%.40q", name)
		}
		p, err := l.partition()
		usual, _ := l.value("Default")
		p.name, p.first, p.unread = name, usual == "YES", err
		out = append(out, p)
		return nil
	})
	if err == nil && len(out) == 0 && strings.TrimSpace(string(text)) != "No partitions in the system" {
		err = fmt.Errorf("it shows no partition")
	}
	return out, err
}

// partition is what one of them says of itself.
func (l line) partition() (p partition, err error) {
	v, err := l.values("DefaultTime", "MaxTime", "Nodes", "RootOnly", "ReqResv", "State")
	if err != nil {
		return p, err
	}
	p = partition{nodes: v["Nodes"], users: v["RootOnly"] != "YES" && v["ReqResv"] != "YES", state: v["State"]}
	if p.limit, err = span(v["MaxTime"]); err != nil {
		return p, fmt.Errorf("MaxTime: %w", err)
	}
	if p.usual, err = span(v["DefaultTime"]); err != nil {
		return p, fmt.Errorf("DefaultTime: %w", err)
	}
	switch p.state {
	case "UP", "DOWN", "DRAIN", "INACTIVE":
	default:
		return p, fmt.Errorf("%.40q is no state of a partition", p.state)
	}
	return p, nil
}

// queue is the partition as the planner sees it; one that is not for users has no nodes, and one that cannot be read takes and
// starts nothing: unread is why.
func (p partition) queue(index map[string]int) (q plan.Queue, unread error) {
	q = plan.Queue{Name: grid.QueueName(p.name), Limit: p.limit, Nodes: []int{}}
	switch {
	case p.unread != nil:
		unread = p.unread
	case p.users:
		q.Nodes, unread = p.members(index)
	}
	if unread != nil {
		q.Stopped, q.Closed, q.Why = true, true, "it cannot be read"
	} else if p.users && p.state != "UP" {
		q.Stopped, q.Closed = p.state != "DRAIN", p.state != "DOWN"
		q.Why = "the partition is " + p.state
	}
	return q, unread
}

// members are its nodes, by their places among all.
func (p partition) members(index map[string]int) ([]int, error) {
	nodes := []int{}
	err := eachHost(p.nodes, maxNodes, func(name []byte) error {
		// One that is missing is of a node that sinfo hides, or was taken away just now.
		if at, known := index[string(name)]; known {
			nodes = append(nodes, at)
		}
		return nil
	})
	return nodes, err
}
