package broker

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"gbroker/broker/core"
	"gbroker/grid"
)

// groups are those of this home that readers see: as they were last made durable.
type groups struct {
	mu      sync.Mutex
	all     map[grid.GroupID]grid.Group
	changed chan struct{} // closed with the next change
}

func newGroups() *groups {
	return &groups{all: map[grid.GroupID]grid.Group{}, changed: make(chan struct{})}
}

func (v *groups) reset(list []grid.Group) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.all)
	for _, g := range list {
		v.all[g.ID] = g
	}
	v.wake()
}

// change shows what has become durable; nil is a group that is deleted.
func (v *groups) change(id grid.GroupID, g *grid.Group) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if g == nil {
		delete(v.all, id)
	} else {
		v.all[id] = *g
	}
	v.wake()
}

func (v *groups) wake() {
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *groups) get(id grid.GroupID) (g grid.Group, known bool, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g, known = v.all[id]
	return g, known, v.changed
}

// SubmitGroup takes the jobs of a group, all or none; they are durable when it returns. again tells
// that the key was known.
func (b *Broker) SubmitGroup(ctx context.Context, g grid.Group, jobs []grid.Job, anyway bool) (made grid.Group, records []grid.Record, again bool, err error) {
	for i := range jobs {
		if err := b.roomFor(&jobs[i]); err != nil {
			return made, nil, false, err
		}
	}
	a, err := b.request(ctx, func(t core.Token) core.Request {
		return core.SubmitGroup{Token: t, Group: g, Jobs: jobs, Anyway: anyway}
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
		if keep(&g) {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b grid.Group) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// JobsOf are the records of the jobs of a group, without those that are removed.
func (b *Broker) JobsOf(ctx context.Context, g grid.Group) ([]grid.Record, error) {
	list := make([]grid.Record, 0, g.Jobs)
	for n := range g.Jobs {
		r, known, err := b.view.get(ctx, g.ID.Job(n+1))
		if err != nil {
			return nil, err
		}
		if known && !r.Removed {
			list = append(list, r)
		}
	}
	return list, nil
}
