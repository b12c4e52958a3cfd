package daemon

import (
	"context"
	"fmt"
	"slices"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// ViewBatch is what the batch system of c holds, asked by its own commands. The embedded one
// has none: its daemon is to be asked.
func ViewBatch(ctx context.Context, c Config) (api.Batch, error) {
	client, err := c.client()
	if err != nil {
		return api.Batch{}, err
	}
	l, err := client.Listing(ctx)
	if err != nil {
		return api.Batch{}, fmt.Errorf("asking %s: %w", c.Batch.System, err)
	}
	if c.Batch.Ruled {
		l.Policy = c.Batch.Policy
	}
	t := client.Traits()
	return viewListing(l, t.Kind, t.Version), nil
}

// Batch shows the jobs of all.
func (s administration) Batch(ctx context.Context) (api.Batch, error) {
	system := s.site.cfg.Batch.System
	if lists, can := s.site.batch.(lister); can {
		l, err := lists.Listing(ctx)
		return viewListing(l, system, ""), err
	}
	shot, err := s.site.batch.Snapshot(ctx)
	return viewSnapshot(shot, system), err
}

// lister is a batch system that tells more of its jobs than a plan is made from.
type lister interface {
	Listing(ctx context.Context) (external.Listing, error)
}

// viewListing writes a listing out. Jobs that have ended are left out.
func viewListing(l external.Listing, system, version string) api.Batch {
	b := newView(l.At, l.Policy, system, version)
	b.Unusable = append(b.Unusable, l.Unusable...)
	if l.LeftOut > 0 {
		b.Unusable = append(b.Unusable, fmt.Sprintf("and %d more", l.LeftOut))
	}
	if l.Stopped {
		b.Stopped = l.Why
	}
	used := map[grid.NodeName]int{}
	for _, j := range l.Jobs {
		switch v := viewJob(j); j.State {
		case external.Done:
		case external.Running, external.Odd:
			b.Running = append(b.Running, v)
			for _, p := range j.Places {
				used[p.Node] += p.Cores
			}
		default:
			b.Waiting = append(b.Waiting, v)
		}
	}
	b.Nodes, b.Queues = viewNodes(l.Nodes, used), viewQueues(l.Queues, l.Nodes, l.Default)
	for _, r := range l.Reservations {
		b.Reservations = append(b.Reservations, api.Reservation{
			ID: r.ID, Native: r.Native, Nodes: words(r.Nodes), Start: api.Time(r.Start), End: api.Time(r.End), User: r.User,
		})
	}
	return b
}

// viewSnapshot writes a snapshot out: whose the jobs are it does not say.
func viewSnapshot(s plan.Snapshot, system string) api.Batch {
	b := newView(s.At, s.Policy, system, "")
	b.Unusable = append(b.Unusable, s.Unusable...)
	if s.Stopped {
		b.Stopped = s.Why
	}
	used := map[grid.NodeName]int{}
	for _, r := range s.Running {
		v := api.BatchJob{
			ID: string(r.Job), State: "running", Nodes: []string{}, Limit: (r.End - r.Start).Seconds(),
			Started: api.Time(r.Start), Ends: api.Time(r.End),
		}
		for _, h := range r.Shares {
			name := s.Nodes[h.Node].Name
			used[name] += h.Cores
			v.Processes += h.Processes
			v.Nodes = append(v.Nodes, string(name))
		}
		b.Running = append(b.Running, v)
	}
	for _, w := range s.Waiting {
		v := api.BatchJob{
			ID: string(w.Job), State: "waiting", Queue: string(w.Queue), Processes: w.Demand.Processes(),
			Nodes: []string{}, Limit: w.Limit.Seconds(), Reason: w.Why,
		}
		if w.Ineligible {
			v.State = "held"
		}
		b.Waiting = append(b.Waiting, v)
	}
	b.Nodes, b.Queues = viewNodes(s.Nodes, used), viewQueues(s.Queues, s.Nodes, s.Default)
	for _, r := range s.Reservations {
		var nodes []grid.NodeName
		for _, h := range r.Shares {
			nodes = append(nodes, s.Nodes[h.Node].Name)
		}
		b.Reservations = append(b.Reservations, api.Reservation{ID: r.ID, Native: r.ID, Nodes: words(nodes), Start: api.Time(r.Start), End: api.Time(r.End)})
	}
	return b
}

func newView(at grid.Tick, policy plan.Policy, system, version string) api.Batch {
	return api.Batch{
		System: system, Version: version, At: api.Time(at), Policy: policy.String(), Age: max(0, (wall() - at).Seconds()),
		Running: []api.BatchJob{}, Waiting: []api.BatchJob{}, Reservations: []api.Reservation{}, Unusable: []string{},
	}
}

func viewNodes(nodes []plan.Node, used map[grid.NodeName]int) []api.BatchNode {
	list := make([]api.BatchNode, 0, len(nodes))
	for _, n := range nodes {
		v := api.BatchNode{
			Name: string(n.Name), Cores: n.Cores, Used: used[n.Name], Memory: n.Memory,
			Resources: map[string]int64{}, Properties: append([]string{}, n.Properties...), Down: n.Down, Why: n.Why,
		}
		for _, r := range n.Resources {
			v.Resources[r.Name] = r.Amount
		}
		list = append(list, v)
	}
	return list
}

func viewQueues(queues []plan.Queue, nodes []plan.Node, standard grid.QueueName) []api.BatchQueue {
	list := make([]api.BatchQueue, 0, len(queues))
	for _, q := range queues {
		v := api.BatchQueue{Name: string(q.Name), Default: q.Name == standard, Nodes: []string{}, Limit: q.Limit.Seconds()}
		if q.Stopped || q.Closed {
			v.Closed = q.Why
		}
		for _, i := range q.Nodes {
			v.Nodes = append(v.Nodes, string(nodes[i].Name))
		}
		list = append(list, v)
	}
	return list
}

func viewJob(j external.Job) api.BatchJob {
	v := api.BatchJob{
		ID: string(j.Local), Name: j.Name, Mark: j.Mark, User: j.User, Queue: string(j.Queue),
		State:     map[external.State]string{external.Queued: "waiting", external.Held: "held", external.Running: "running"}[j.State],
		Processes: j.Demand.Processes(), Nodes: []string{}, Limit: j.Limit.Seconds(), Reservation: j.Reservation, Reason: j.Reason,
	}
	if v.State == "" {
		v.State = "odd"
	}
	for _, p := range j.Places {
		v.Nodes = append(v.Nodes, string(p.Node))
	}
	if j.State == external.Running && j.Started > 0 {
		v.Started = api.Time(j.Started)
		if j.Limit > 0 {
			v.Ends = api.Time(j.Started + j.Limit)
		}
	}
	return v
}

func words[T ~string](list []T) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, string(s))
	}
	slices.Sort(out)
	return out
}
