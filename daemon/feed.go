package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"gbroker/api"
	"gbroker/grid"
)

// mostChanges is how many changes the feed remembers; where half as many things have changed it forgets older ones.
const mostChanges = 1 << 13

// mostAtOnce is how many things a piece of the feed has at most: their records are kept for who takes nothing, for each of his feeds.
const mostAtOnce = 32

// feed remembers what has changed, of any kind, each when that was durable: all that did in the present life of the journal, or
// as much as it can hold. A position in it is that life, and how many changes this program has noted so far: it never goes back,
// so that none is given twice, also where one who still has the life before comes between.
type feed struct {
	mu        sync.Mutex
	life      uint64
	count     uint64 // of all changes
	forgotten uint64 // up to that one not all are in list
	list      []noted
	more      chan struct{} // closed and made anew at each change
}

// entity is what changes.
type entity struct {
	kind api.Kind
	id   string
}

type changed struct {
	entity
	user    grid.User // whose it is
	removed bool      // it is in no list here any more
}

// noted is a change with its number, from 1.
type noted struct {
	changed
	at uint64
}

func newFeed() *feed { return &feed{more: make(chan struct{})} }

// follow begins anew where the journal has begun a life: what changed before may not all have been noted.
func (f *feed) follow(life uint64) {
	if life != 0 && life != f.life {
		f.life, f.list, f.forgotten = life, nil, f.count
	}
}

func (f *feed) note(life uint64, c changed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow(life)
	if len(f.list) >= mostChanges {
		f.shorten()
	}
	f.count++
	f.list = append(f.list, noted{c, f.count})
	close(f.more)
	f.more = make(chan struct{})
}

// shorten keeps the last change of each thing, and of those the newer ones. So what changes often takes no room from others: who
// lacks an earlier change of it gets the last.
func (f *feed) shorten() {
	seen := make(map[entity]bool, len(f.list))
	var last []noted // the newest first
	for _, c := range slices.Backward(f.list) {
		if seen[c.entity] {
			continue
		}
		if len(last) == mostChanges/2 {
			f.forgotten = c.at
			break
		}
		seen[c.entity] = true
		last = append(last, c)
	}
	slices.Reverse(last)
	f.list = last
}

// since gives what has changed behind a position, each thing once, and the position behind that; more is closed when there
// is more. known is false where not all of it is remembered.
func (f *feed) since(life uint64, after api.Position) (list []changed, next api.Position, more <-chan struct{}, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow(life)
	next = api.Position{Life: f.life, Sequence: f.count}
	switch {
	case after == (api.Position{}):
		return nil, next, f.more, true
	case after.Life != f.life || after.Sequence < f.forgotten || after.Sequence > f.count:
		return nil, next, f.more, false
	}
	at := map[entity]int{}
	for _, c := range f.list[sort.Search(len(f.list), func(i int) bool { return f.list[i].at > after.Sequence }):] {
		if i, twice := at[c.entity]; twice {
			list[i] = c.changed
			continue
		}
		if len(list) == mostAtOnce {
			next.Sequence = c.at - 1
			break
		}
		at[c.entity] = len(list)
		list = append(list, c.changed)
	}
	return list, next, f.more, true
}

// Changes are those of what is the caller's own; an administrator's are all.
func (s service) Changes(ctx context.Context, who api.Identity, after api.Position, kinds []api.Kind) (api.Changes, error) {
	for {
		list, next, more, known := s.site.feed.since(s.site.broker.JournalID().Life, after)
		if !known || after == (api.Position{}) {
			return api.Changes{Reset: !known, Next: next}, nil
		}
		piece := api.Changes{Next: next}
		for _, c := range list {
			if !slices.Contains(kinds, c.kind) || !s.sees(who, c) {
				continue
			}
			change, is, err := s.change(ctx, who, c)
			if err != nil {
				return api.Changes{}, fmt.Errorf("the change of the %s %s: %w", c.kind, c.id, err)
			}
			if is {
				piece.List = append(piece.List, change)
			}
		}
		if len(piece.List) > 0 || ctx.Err() != nil {
			s.count(piece.List)
			return piece, nil
		}
		after = next
		if len(list) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return piece, nil
		}
	}
}

// sees tells that a change is of what who may see, as in the list of its kind: not even that it was removed is told to others.
func (s service) sees(who api.Identity, c changed) bool {
	switch c.kind {
	case api.KindJob:
		return s.may(who, &grid.Record{Job: grid.Job{User: c.user}})
	case api.KindReservation:
		return who.Administrator || s.mayRelease(who, grid.Reservation{Holder: c.user})
	default: // groups and workflows are of this home alone
		return who.Administrator || c.user.Name == who.Name
	}
}

// change is how something is that has changed; false where there is nothing to tell.
func (s service) change(ctx context.Context, who api.Identity, c changed) (now api.Change, is bool, err error) {
	now = api.Change{Kind: c.kind, ID: c.id}
	switch c.kind {
	case api.KindJob:
		r, known, err := s.site.broker.Job(ctx, grid.JobID(c.id))
		if now.Job = &r; err != nil || known && listed(&r) {
			return now, err == nil, err
		}
	case api.KindGroup:
		g, known := s.site.broker.Group(grid.GroupID(c.id))
		if now.Group = (&api.GroupRecord{Group: g}); known && !g.Removed {
			return now, true, nil
		}
	case api.KindReservation:
		r, known := s.site.broker.Reservation(grid.ReservationID(c.id))
		if now.Reservation = &r; known {
			return now, true, nil
		}
	case api.KindFlow:
		f, err := s.site.flows.Flow(ctx, who, api.FlowID(c.id))
		if f.Tasks, f.Edges, now.Flow = nil, nil, &f; !errors.Is(err, grid.ErrNotFound) {
			return now, err == nil, err
		}
	}
	return api.Change{Kind: c.kind, ID: c.id, Removed: true}, c.removed, nil
}

// count tells of the groups among some changes how many of their jobs are in which state: one look at the jobs for all.
func (s service) count(list []api.Change) {
	var groups []grid.Group
	for _, c := range list {
		if c.Group != nil {
			groups = append(groups, c.Group.Group)
		}
	}
	if len(groups) == 0 {
		return
	}
	counts := s.site.broker.CountsOf(groups...)
	for _, c := range list {
		if c.Group != nil {
			c.Group.Counts = counts[c.Group.Group.ID]
		}
	}
}
