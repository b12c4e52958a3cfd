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
	return view(l, t.Kind, t.Version), nil
}

// Batch is for administrators: it shows the jobs of all.
func (s service) Batch(ctx context.Context, who api.Identity) (api.Batch, error) {
	if !who.Administrator {
		return api.Batch{}, fmt.Errorf("%w: only an administrator sees the jobs of all users", grid.ErrForbidden)
	}
	shot, err := s.site.batch.Snapshot(ctx)
	if err != nil {
		return api.Batch{}, err
	}
	return view(listing(shot), s.site.cfg.Batch.System, ""), nil
}

// view writes a listing out. Jobs that have ended are left out.
func view(l external.Listing, system, version string) api.Batch {
	b := api.Batch{
		System: system, Version: version, At: api.Time(l.At), Policy: l.Policy.String(),
		Nodes: []api.BatchNode{}, Queues: []api.BatchQueue{}, Running: []api.BatchJob{}, Waiting: []api.BatchJob{}, Reservations: []api.Reservation{},
	}
	if b.Unusable = append([]string{}, l.Unusable...); l.Stopped {
		b.Stopped = l.Why
	}
	if l.LeftOut > 0 {
		b.Unusable = append(b.Unusable, fmt.Sprintf("and %d more", l.LeftOut))
	}
	b.Age = max(0, (wall() - l.At).Seconds())
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
	for _, n := range l.Nodes {
		v := api.BatchNode{
			Name: string(n.Name), Cores: n.Cores, Used: used[n.Name], Memory: n.Memory,
			Resources: map[string]int64{}, Properties: append([]string{}, n.Properties...), Down: n.Down,
		}
		for _, r := range n.Resources {
			v.Resources[r.Name] = r.Amount
		}
		b.Nodes = append(b.Nodes, v)
	}
	for _, q := range l.Queues {
		v := api.BatchQueue{Name: string(q.Name), Default: q.Name == l.Default, Nodes: []string{}, Limit: q.Limit.Seconds()}
		if q.Stopped || q.Closed {
			v.Closed = q.Why
		}
		for _, i := range q.Nodes {
			v.Nodes = append(v.Nodes, string(l.Nodes[i].Name))
		}
		b.Queues = append(b.Queues, v)
	}
	for _, r := range l.Reservations {
		b.Reservations = append(b.Reservations, api.Reservation{
			ID: r.ID, Native: r.Native, Nodes: words(r.Nodes), Start: api.Time(r.Start), End: api.Time(r.End), User: r.User,
		})
	}
	return b
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

// listing is a snapshot as if the system had been listed.
func listing(s plan.Snapshot) external.Listing {
	l := external.Listing{
		At: s.At, Policy: s.Policy, Nodes: s.Nodes, Queues: s.Queues, Default: s.Default,
		Stopped: s.Stopped, Why: s.Why, Unusable: s.Unusable,
	}
	for _, r := range s.Running {
		j := external.Job{Local: grid.LocalID(r.Job), State: external.Running, Started: r.Start, Limit: r.End - r.Start}
		for _, h := range r.Shares {
			j.Places = append(j.Places, external.Place{Node: s.Nodes[h.Node].Name, Processes: h.Processes, Cores: h.Cores, Memory: h.Memory, Resources: h.Resources})
			j.Demand.Chunks = append(j.Demand.Chunks, grid.Chunk{Count: 1, Processes: h.Processes, Cores: h.Cores})
		}
		l.Jobs = append(l.Jobs, j)
	}
	for _, w := range s.Waiting {
		j := external.Job{Local: grid.LocalID(w.Job), State: external.Queued, Queue: w.Queue, Demand: w.Demand, Limit: w.Limit, Priority: w.Priority, Reason: w.Why}
		if w.Held {
			j.State = external.Held
		}
		l.Jobs = append(l.Jobs, j)
	}
	for _, r := range s.Reservations {
		b := external.Booking{Native: r.ID, ID: r.ID, Start: r.Start, End: r.End}
		for _, h := range r.Shares {
			b.Nodes = append(b.Nodes, s.Nodes[h.Node].Name)
		}
		l.Reservations = append(l.Reservations, b)
	}
	return l
}

func words[T ~string](list []T) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, string(s))
	}
	slices.Sort(out)
	return out
}
