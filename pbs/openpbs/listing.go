package openpbs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/control"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Listing asks for server, queues, nodes, jobs and reservations, in five commands.
func (c *Client) Listing(ctx context.Context) (external.Listing, error) {
	var l external.Listing
	var h head
	var sv server
	err := c.ask(ctx, command.Call{Name: "qstat", Args: []string{"-B", "-f", "-F", "json"}}, func(text []byte) (err error) {
		h, sv, err = servers(text)
		return err
	})
	if err != nil {
		return l, err
	}
	c.learn(h, sv)
	l.At, l.Default = cmp.Or(h.at, control.Now()), sv.standard
	l.Shapes = plan.Shapes{Nameless: true} // a chunk names one node, and not several of which one will do
	if l.Stopped = sv.stopped; l.Stopped {
		l.Why = "the server's attribute scheduling is False"
	}
	var qs []queue
	err = c.ask(ctx, command.Call{Name: "qstat", Args: []string{"-Q", "-f", "-F", "json"}}, func(text []byte) (err error) {
		qs, err = queues(text)
		return err
	})
	if err != nil {
		return l, err
	}
	ns, err := c.nodes(ctx)
	if err != nil {
		return l, err
	}
	for _, n := range ns {
		l.Nodes = append(l.Nodes, n.Node)
		if n.unread != nil {
			l.LeaveOut("node "+string(n.Name), n.unread)
		}
	}
	for _, q := range qs {
		if q.unread != nil {
			l.LeaveOut("queue "+string(q.Name), q.unread)
		}
	}
	l.Queues = partition(qs, ns)
	order, policy, err := c.scheduling(sv)
	if err != nil {
		return l, err
	}
	l.Policy = policy
	if sv.unread != nil {
		l.LeaveOut("limits of the server", sv.unread)
	}
	jobs, arrays, err := c.jobs(ctx)
	if err != nil {
		return l, err
	}
	order.order(jobs, qs)
	take(&l, jobs, qs, sv)
	c.limit(&l, jobs, qs, sv, arrays)
	whole(l.Jobs, l.Nodes)
	list, err := c.rstat(ctx)
	there(&l, list)
	return l, err
}

// take takes jobs into a listing, as far as they are understood.
func take(l *external.Listing, jobs []job, qs []queue, sv server) {
	known := map[grid.QueueName]queue{}
	for _, q := range qs {
		known[q.Name] = q
	}
	l.Jobs = make([]external.Job, 0, len(jobs))
	for _, j := range jobs {
		if j.unread != nil {
			l.LeaveOut("job "+string(j.Local), j.unread)
		}
		l.Jobs = append(l.Jobs, settle(j.Job, known, sv))
	}
}

// learn keeps what the server said about itself.
func (c *Client) learn(h head, sv server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traits.Version, c.traits.Forgets = h.version, sv.keeps
}

func (c *Client) nodes(ctx context.Context) (list []node, err error) {
	err = c.ask(ctx, command.Call{Name: "pbsnodes", Args: []string{"-a", "-F", "json"}}, func(text []byte) (err error) {
		_, list, err = c.words.nodes(text)
		return err
	})
	return list, err
}

// scheduling is the scheduler's order and policy.
func (c *Client) scheduling(sv server) (scheduler, plan.Policy, error) {
	if c.SchedConfig == "" {
		return scheduler{byQueue: true}, c.Policy, nil
	}
	f, err := os.Open(c.SchedConfig)
	if err != nil {
		return scheduler{}, plan.Policy{}, fmt.Errorf("%w: the scheduler's policy: %w (make the file readable for us, or name the policy in gbroker.yaml instead)", grid.ErrUnavailable, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return scheduler{}, plan.Policy{}, fmt.Errorf("%w: the scheduler's policy: %w", grid.ErrUnavailable, err)
	}
	order, err := config(text)
	if err != nil {
		return order, plan.Policy{}, fmt.Errorf("%w: %s: %w", grid.ErrUnavailable, c.SchedConfig, err)
	}
	return order, order.policy(sv.depth), nil
}

// jobs are all jobs that wait or run, parts of arrays each for itself, and how many parts of
// an array may run at a time where that is bounded.
func (c *Client) jobs(ctx context.Context) (list []job, arrays map[grid.LocalID]int64, err error) {
	read := func(text []byte) (err error) {
		_, list, err = c.words.jobs(text)
		return err
	}
	if err := c.ask(ctx, command.Call{Name: "qstat", Args: []string{"-f", "-F", "json"}}, read); err != nil {
		return nil, nil, err
	}
	isArray := func(j job) bool { return j.array }
	if slices.ContainsFunc(list, isArray) {
		if err := c.ask(ctx, command.Call{Name: "qstat", Args: []string{"-t", "-f", "-F", "json"}}, read); err != nil {
			return nil, nil, err
		}
		arrays = map[grid.LocalID]int64{}
		for _, j := range list {
			if j.array && j.atOnce >= 0 {
				arrays[j.Local] = j.atOnce
			}
		}
		list = slices.DeleteFunc(list, isArray)
	}
	return list, arrays, nil
}

// whole gives jobs that run alone all of their nodes: exec_vnode tells what they asked for.
func whole(jobs []external.Job, nodes []plan.Node) {
	named := make(map[grid.NodeName]plan.Node, len(nodes))
	for _, n := range nodes {
		named[n.Name] = n
	}
	for _, j := range jobs {
		if !j.Demand.Exclusive {
			continue
		}
		for i := range j.Places {
			p := &j.Places[i]
			if n, is := named[p.Node]; is {
				p.Cores, p.Memory, p.Resources = n.Cores, n.Memory, n.Resources
			}
		}
	}
}

// settle fits a job to the queues of the listing: one that is not started holds its jobs back.
func settle(j external.Job, known map[grid.QueueName]queue, sv server) external.Job {
	if q, is := known[j.Queue]; j.Queue != "" && !q.starts {
		if j.State == external.Queued {
			j.State = external.Held
			j.Reason = cmp.Or(j.Reason, "its queue is not started")
		}
		if !is {
			j.Queue = ""
		}
	}
	if j.Limit == forever && sv.walltime > 0 && j.State != external.Running {
		j.Limit = sv.walltime
	}
	return j
}
