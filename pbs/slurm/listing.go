package slurm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Listing is all that Slurm holds, by five commands. The clock is read first.
func (c *Client) Listing(ctx context.Context) (external.Listing, error) {
	var s settings
	var partitions []partition
	var nodes []node
	var jobs []external.Job
	var reservations []reservation
	began := grid.InstantOf(time.Now())
	for _, part := range []struct {
		parse func(text []byte) error
		call  []string
	}{
		{func(text []byte) (err error) { s, err = parseConfig(text); return err }, []string{"scontrol", "show", "config"}},
		{func(text []byte) (err error) { nodes, err = parseNodes(text); return err }, []string{"sinfo", "--all", "--json"}},
		{func(text []byte) (err error) { jobs, _, err = parseQueue(text); return err }, []string{"squeue", "--all", "--json"}},
		{func(text []byte) (err error) { partitions, err = parsePartitions(text); return err },
			[]string{"scontrol", "--oneliner", "--all", "show", "partition"}},
		{func(text []byte) (err error) {
			reservations, err = parseReservations(text, c.config.Prefix)
			return err
		},
			[]string{"scontrol", "--oneliner", "--all", "show", "reservation"}},
	} {
		if err := c.read(ctx, part.parse, part.call[0], part.call[1:]...); err != nil {
			return external.Listing{}, fmt.Errorf("list what Slurm holds: %w", err)
		}
	}
	c.version.Store(s.version)
	c.age.Store(int64(s.minJobAge))
	// The controller tells whole seconds; where our clock agrees, it tells more.
	listing := external.Listing{At: min(max(began, s.at), s.at+grid.Second-1), Policy: s.policy, Shapes: shapes, Ranked: true}
	if err := join(&listing, s, nodes, partitions, jobs, reservations); err != nil {
		return external.Listing{}, fmt.Errorf("list what Slurm holds: %w: %w", grid.ErrUnavailable, err)
	}
	for _, j := range listing.Jobs {
		if j.State == external.Odd {
			listing.LeaveOut("job "+string(j.Local), errors.New(j.Reason))
		}
	}
	c.limit(&listing, time.Now())
	return listing, nil
}

// join brings together what the commands have said.
func join(to *external.Listing, s settings, nodes []node, partitions []partition, jobs []external.Job, reservations []reservation) error {
	index := make(map[string]int, len(nodes))
	to.Nodes = make([]plan.Node, len(nodes))
	for i, n := range nodes {
		if _, twice := index[string(n.Name)]; twice {
			return fmt.Errorf("sinfo lists node %s twice", n.Name)
		}
		index[string(n.Name)] = i
		to.Nodes[i] = n.Node
		if n.unread != nil {
			to.LeaveOut("node "+string(n.Name), n.unread)
		}
	}
	usual := make(map[grid.QueueName]grid.Tick, len(partitions))
	odd := 0
	for _, p := range partitions {
		q, unread := p.queue(index)
		if unread != nil {
			to.LeaveOut("partition "+p.name, unread)
			odd++
			if err := external.Misread(odd, len(partitions), unread); err != nil {
				return fmt.Errorf("partitions: %w", err)
			}
		}
		to.Queues = append(to.Queues, q)
		if p.first {
			to.Default = q.Name
		}
		if usual[q.Name] = p.usual; p.usual == 0 {
			usual[q.Name] = p.limit
		}
	}
	byTurn(jobs)
	for i := range jobs {
		settle(&jobs[i], s, nodes, index, usual)
	}
	to.Jobs = jobs
	for _, b := range reservations {
		if b.unread != nil {
			to.LeaveOut("reservation "+b.Native, b.unread)
		}
	}
	to.Reservations = whole(reservations, nodes, index)
	return nil
}

// settle says what a job's own record does not: cores as CPUs, a limit that is the
// partition's, memory only where it is given out.
func settle(job *external.Job, s settings, nodes []node, index map[string]int, usual map[grid.QueueName]grid.Tick) {
	if limit := usual[job.Queue]; job.Limit == unlimited && limit > 0 && job.State != external.Running {
		job.Limit = limit
	}
	for i := range job.Places {
		p := &job.Places[i]
		if at, known := index[string(p.Node)]; known {
			p.Cores *= nodes[at].threads
		}
		if !s.countsMemory {
			p.Memory = 0
		}
	}
	for i := range job.Demand.Chunks {
		if !s.countsMemory {
			job.Demand.Chunks[i].Memory = 0
		}
	}
}

// whole are the reservations that can be read; it finds those that hold all cores of their nodes.
func whole(list []reservation, nodes []node, index map[string]int) []external.Reservation {
	out := make([]external.Reservation, 0, len(list))
	for _, r := range list {
		if r.unread == nil {
			out = append(out, r.Reservation)
		}
	}
	for i := range out {
		b := &out[i]
		reserved, all := 0, 0
		for k, name := range b.Nodes {
			reserved += b.Cores[k]
			if at, known := index[string(name)]; known {
				all += nodes[at].Cores / nodes[at].threads
			}
		}
		if reserved >= all {
			b.Cores = nil
			continue
		}
		for k, name := range b.Nodes {
			if at, known := index[string(name)]; known {
				b.Cores[k] *= nodes[at].threads
			}
		}
	}
	return out
}

// Look reads jobs afresh, each by a command of its own: the listing of a large site is dear.
func (c *Client) Look(ctx context.Context, ids ...grid.LocalID) ([]external.Job, error) {
	var out []external.Job
	for _, id := range ids {
		found, err := c.look(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, job := range found {
			if job.Local == id {
				out = append(out, job.Job)
				break
			}
		}
	}
	return out, nil
}
