package openpbs

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// partition gives each queue its nodes, and what it does not do now.
func partition(qs []queue, ns []node) []plan.Queue {
	bound := slices.ContainsFunc(ns, func(n node) bool { return n.queue != "" })
	out := make([]plan.Queue, 0, len(qs))
	for _, q := range qs {
		if bound {
			q.Nodes = ownNodes(string(q.Name), ns)
		}
		q.Stopped, q.Closed = !q.starts, !q.takes
		switch {
		case q.unread != nil:
			q.Why = "it cannot be read"
		case !q.takes && !q.starts:
			q.Why = "it is neither enabled nor started"
		case !q.takes:
			q.Why = "it is not enabled"
		case !q.starts:
			q.Why = "it is not started"
		}
		out = append(out, q.Queue)
	}
	for i, q := range qs {
		if q.route != nil {
			routed(&out[i], destinations(q.Name, qs, maxHops), out)
		}
	}
	return out
}

// maxHops bounds routing queues behind each other.
const maxHops = 4

// destinations are the execution queues that a queue leads to; those at other servers are no
// part of the site.
func destinations(name grid.QueueName, qs []queue, hops int) (list []grid.QueueName) {
	at := slices.IndexFunc(qs, func(q queue) bool { return q.Name == name })
	switch {
	case at < 0 || hops < 0:
		return nil
	case qs[at].route == nil:
		return []grid.QueueName{name}
	}
	for _, to := range qs[at].route {
		list = append(list, destinations(to, qs, hops-1)...)
	}
	return list
}

// routed makes a routing queue what its destinations are together: a job goes to the first
// one that takes it. One that none takes would vanish without a trace.
func routed(q *plan.Queue, to []grid.QueueName, all []plan.Queue) {
	var open []plan.Queue
	starts := false
	for _, d := range all {
		if slices.Contains(to, d.Name) && !d.Closed {
			open = append(open, d)
			starts = starts || !d.Stopped
		}
	}
	switch {
	case q.Closed || q.Stopped:
	case len(open) == 0:
		q.Closed, q.Why = true, fmt.Sprintf("none of its destinations %v takes jobs", to)
	case !starts:
		q.Stopped, q.Why = true, fmt.Sprintf("none of its destinations %v is started", to)
	}
	q.Nodes, q.Limit = []int{}, 0
	for i, d := range open {
		if d.Nodes == nil {
			q.Nodes = nil
		}
		if q.Nodes != nil {
			q.Nodes = append(q.Nodes, d.Nodes...)
		}
		if d.Limit == 0 || q.Limit == 0 && i > 0 {
			q.Limit = 0
		} else {
			q.Limit = max(q.Limit, d.Limit)
		}
	}
	slices.Sort(q.Nodes)
	q.Nodes = slices.Compact(q.Nodes)
	if len(open) == 0 {
		q.Nodes = nil
	}
}

// ownNodes are the nodes bound to a queue, or those bound to none where it has none.
func ownNodes(queue string, ns []node) []int {
	own, free := []int{}, []int{}
	for i, n := range ns {
		switch n.queue {
		case queue:
			own = append(own, i)
		case "":
			free = append(free, i)
		}
	}
	if len(own) > 0 {
		return own
	}
	return free
}
