package daemon

import (
	"context"
	"fmt"
	"sync"

	"gbroker/api"
	"gbroker/grid"
)

// mostChanges is how many changes the feed remembers.
const mostChanges = 1 << 13

// mostAtOnce is how many jobs a piece of the feed has at most.
const mostAtOnce = 256

// feed remembers which jobs have changed, each when that was durable: all that did in the present life of the journal, or
// as many as it can hold. A position in it is that life, and how many changes this program has noted so far: it never goes back,
// so that none is given twice, also where one who still has the life before comes between.
type feed struct {
	mu    sync.Mutex
	life  uint64
	count uint64 // of all changes; those in list are the last
	list  []changed
	more  chan struct{} // closed and made anew at each change
}

type changed struct {
	job     grid.JobID
	user    grid.User
	removed bool
}

func newFeed() *feed { return &feed{more: make(chan struct{})} }

// follow begins anew where the journal has begun a life: what changed before may not all have been noted.
func (f *feed) follow(life uint64) {
	if life != 0 && life != f.life {
		f.life, f.list = life, nil
	}
}

func (f *feed) note(life uint64, c changed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow(life)
	if len(f.list) >= mostChanges {
		f.list = append([]changed(nil), f.list[len(f.list)/2:]...)
	}
	f.list = append(f.list, c)
	f.count++
	close(f.more)
	f.more = make(chan struct{})
}

// since gives what has changed behind a position, each job once, and the position behind that; more is closed when there
// is more. known is false where not all of it is remembered.
func (f *feed) since(life uint64, after api.Position) (list []changed, next api.Position, more <-chan struct{}, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow(life)
	next = api.Position{Life: f.life, Sequence: f.count}
	oldest := f.count - uint64(len(f.list))
	switch {
	case after == (api.Position{}):
		return nil, next, f.more, true
	case after.Life != f.life || after.Sequence < oldest || after.Sequence > f.count:
		return nil, next, f.more, false
	}
	at := map[grid.JobID]int{}
	for n, c := range f.list[after.Sequence-oldest:] {
		if i, twice := at[c.job]; twice {
			list[i] = c
			continue
		}
		if len(list) == mostAtOnce {
			next.Sequence = after.Sequence + uint64(n)
			break
		}
		at[c.job] = len(list)
		list = append(list, c)
	}
	return list, next, f.more, true
}

// Changes are those of the caller's own jobs; an administrator's are all.
func (s service) Changes(ctx context.Context, who api.Identity, after api.Position) (api.Changes, error) {
	for {
		list, next, more, known := s.site.feed.since(s.site.broker.JournalID().Life, after)
		if !known || after == (api.Position{}) {
			return api.Changes{Reset: !known, Next: next}, nil
		}
		piece := api.Changes{Next: next}
		for _, c := range list {
			change, is, err := s.change(ctx, who, c)
			if err != nil {
				return api.Changes{}, fmt.Errorf("the change of job %s: %w", c.job, err)
			}
			if is {
				piece.List = append(piece.List, change)
			}
		}
		if len(piece.List) > 0 || ctx.Err() != nil {
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

// change is how a job is that has changed; false where who does not see it.
func (s service) change(ctx context.Context, who api.Identity, c changed) (api.Change, bool, error) {
	gone := api.Change{Record: grid.Record{Job: grid.Job{ID: c.job, User: c.user}}, Removed: true}
	if !s.may(who, &gone.Record) {
		return gone, false, nil
	}
	r, known, err := s.site.broker.Job(ctx, c.job)
	switch {
	case err != nil:
		return gone, false, err
	case !known || r.Removed:
		return gone, c.removed, nil
	}
	return api.Change{Record: r}, listed(&r), nil
}
