package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"gbroker/broker/core"
	"gbroker/grid"
)

// groups are those of this home that readers see: as they were last made durable.
type groups struct {
	mu      sync.Mutex
	all     map[grid.GroupID]*group
	changed chan struct{} // closed with the next change
}

// group is a group with what lies beside it.
type group struct {
	grid.Group
	results map[int]*grid.Results // by page
	inputs  grid.Manifest         // of its template
}

func newGroups() *groups {
	return &groups{all: map[grid.GroupID]*group{}, changed: make(chan struct{})}
}

func (v *groups) reset(list []grid.Group, templates []grid.Template, results []grid.Results) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.all)
	for _, g := range list {
		v.put(g.ID).Group = g
	}
	for i := range templates {
		v.put(templates[i].Group).inputs = templates[i].Inputs
	}
	for i := range results {
		r := results[i]
		r.Of = slices.Clone(r.Of) // the other one is Core's
		v.put(r.Group).results[r.Page] = &r
	}
	v.wake()
}

// put finds or makes a group.
func (v *groups) put(id grid.GroupID) *group {
	g := v.all[id]
	if g == nil {
		g = &group{results: map[int]*grid.Results{}}
		v.all[id] = g
	}
	return g
}

// change shows what has become durable, and gives what a group was before; nil if it was not there.
func (v *groups) change(c grid.Change) (before grid.Entity) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if was := v.all[grid.GroupID(c.Key)]; c.Kind == grid.KindGroup && was != nil && was.ID != "" {
		g := was.Group
		before = &g
	}
	switch e := c.Record.(type) {
	case *grid.Group:
		g := v.put(e.ID)
		if g.Group = *e; e.Removed {
			g.inputs = nil
			clear(g.results)
		}
	case *grid.Template:
		v.put(e.Group).inputs = e.Inputs
		return nil
	case *grid.Results:
		v.put(e.Group).results[e.Page] = e
		return nil
	default:
		if c.Kind != grid.KindGroup {
			return nil // what lies beside a group goes with it
		}
		delete(v.all, grid.GroupID(c.Key))
	}
	v.wake()
	return before
}

func (v *groups) wake() {
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *groups) get(id grid.GroupID) (g grid.Group, known bool, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if one := v.all[id]; one != nil && one.ID != "" {
		g, known = one.Group, true
	}
	return g, known, v.changed
}

// outline is what is known of a job without a record of its own.
func (v *groups) outline(id grid.JobID) (r grid.Record, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	name, n := id.Group()
	if of, is := id.TemplateOf(); is {
		name = of
	}
	g := v.all[name]
	if g == nil || n > g.Jobs || g.Removed || n == 0 && !g.Made() {
		return r, false
	}
	if n > 0 {
		return g.Outline(n, g.Of(g.results[(n-1)/grid.ResultsPage], n)), true
	}
	r = g.Outline(0, grid.Result{})
	if r.Job.Inputs = g.inputs; slices.Contains(g.Coming, 0) {
		r.State = grid.StageIn
	}
	return r, true
}

// mayLack: the journal may lack what was told of a job of a group: a lost branch may have made it, or may have
// cancelled those that were never made.
func (v *groups) mayLack(id grid.JobID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	name, n := id.Group()
	of, template := id.TemplateOf()
	if template {
		name = of
	}
	g := v.all[name]
	return g != nil && (n > g.Entered || template && g.Ended == 0)
}

// SubmitGroup takes the jobs of a group, all or none, or what they are made from; they are durable when
// it returns. again tells that the key was known.
func (b *Broker) SubmitGroup(ctx context.Context, g grid.Group, jobs []grid.Job, t *grid.Template, anyway bool) (made grid.Group, records []grid.Record, again bool, err error) {
	for i := range jobs {
		if err := b.roomFor(&jobs[i]); err != nil {
			return made, nil, false, err
		}
	}
	if t != nil {
		if err := b.roomFor(&grid.Job{ID: g.ID.Template(), Inputs: t.Inputs}); err != nil {
			return made, nil, false, err
		}
	}
	a, err := b.request(ctx, func(k core.Token) core.Request {
		return core.SubmitGroup{Token: k, Group: g, Jobs: jobs, Template: t, Anyway: anyway}
	})
	return a.Group, a.Jobs, a.Again, err
}

// CancelGroup asks for the end of all jobs of a group; that is durable when it returns.
func (b *Broker) CancelGroup(ctx context.Context, id grid.GroupID, by string) (grid.Group, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.CancelGroup{Token: t, Group: id, By: by} })
	return a.Group, err
}

// RemoveGroup deletes an ended group, its jobs and their files.
func (b *Broker) RemoveGroup(ctx context.Context, id grid.GroupID) error {
	_, err := b.request(ctx, func(t core.Token) core.Request { return core.RemoveGroup{Token: t, Group: id} })
	return err
}

// Group is a group of this home; known is false where there is none.
func (b *Broker) Group(id grid.GroupID) (g grid.Group, known bool) {
	g, known, _ = b.groups.get(id)
	return g, known
}

// WaitGroup returns when a group has ended, is removed (false), or ctx is done.
func (b *Broker) WaitGroup(ctx context.Context, id grid.GroupID) (grid.Group, bool) {
	for {
		g, known, changed := b.groups.get(id)
		if !known || g.Ended != 0 {
			return g, known
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return g, true
		}
	}
}

// Groups lists the groups of this home that keep says, the oldest first.
func (b *Broker) Groups(keep func(*grid.Group) bool) []grid.Group {
	b.groups.mu.Lock()
	defer b.groups.mu.Unlock()
	var list []grid.Group
	for _, g := range b.groups.all {
		if g.ID != "" && keep(&g.Group) {
			list = append(list, g.Group)
		}
	}
	slices.SortFunc(list, func(a, b grid.Group) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// JobsOf are up to limit jobs of a group after a number, without those that are removed.
func (b *Broker) JobsOf(ctx context.Context, g grid.Group, after, limit int) ([]grid.Record, error) {
	list := make([]grid.Record, 0, min(limit, max(0, g.Jobs-after)))
	for after < g.Jobs && len(list) < limit {
		ids := make([]grid.JobID, min(limit-len(list), g.Jobs-after))
		for i := range ids {
			after++
			ids[i] = g.ID.Job(after)
		}
		all, err := b.records(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			r, known := all[id]
			if !known {
				r, known = b.groups.outline(id)
			}
			if known && !r.Removed {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// records are those of some jobs: as they are shown, the others read from the journal at once. What is archived meanwhile is as it
// was shown.
func (b *Broker) records(ctx context.Context, ids []grid.JobID) (map[grid.JobID]grid.Record, error) {
	all := make(map[grid.JobID]grid.Record, len(ids))
	var unseen []grid.JobID
	for _, id := range ids {
		if r, is := b.view.shown(id); is {
			all[id] = r
		} else {
			unseen = append(unseen, id)
		}
	}
	journal := b.journal.Load()
	switch {
	case len(unseen) == 0:
		return all, nil
	case journal == nil:
		return nil, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	list, err := (*journal).Records(ctx, unseen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	for _, r := range list {
		all[r.Job.ID] = r
	}
	return all, nil
}

// CountsOf are the jobs of some groups, by group and state. Those that have neither ended nor a record wait for their turn.
func (b *Broker) CountsOf(groups ...grid.Group) map[grid.GroupID]grid.Counts {
	counts := make(map[grid.GroupID]grid.Counts, len(groups))
	for _, g := range groups {
		counts[g.ID] = g.Ends
	}
	b.view.each(func(r *grid.Record) {
		if id, n := r.Job.ID.Group(); n > 0 && !r.State.Terminal() {
			if c, asked := counts[id]; asked {
				c[r.State]++
				counts[id] = c
			}
		}
	})
	for _, g := range groups {
		n := counts[g.ID]
		n[grid.Submitted] += max(0, min(g.Jobs-g.Entered, g.Jobs-n.Sum()))
		counts[g.ID] = n
	}
	return counts
}
