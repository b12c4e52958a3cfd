package flows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
)

// A workflow that watches a folder has an instance for each file that appears there: a regular file of one link, whose name begins with no dot,
// and whose size and time of change were the same for [stable]. The instance has a copy of its own. A file counts once; one that was
// changed, or removed and put there again, counts once more. The folder is below that of its user, and no link leads out of that.

const (
	lookAtFolder = time.Second
	stable       = 3 * time.Second
	// maxWatched is how many files may lie in a folder that is watched.
	maxWatched = 2000
)

// stamp tells a file from what it was before.
type stamp struct{ Size, Modified int64 }

// taken is a file for which there is or was an instance.
type taken struct {
	stamp
	Number int
}

// appeared is a file in the folder.
type appeared struct {
	name string
	stamp
}

// came is the file that began an instance, as its tasks know it.
type came struct {
	As, Name, Contents string
	Size               int64
}

func (c *came) is(name string) bool { return c != nil && c.As == name }

// folderSeen is what a process has seen of a folder that is watched; of the run.
type folderSeen struct {
	known   map[string]seen
	ready   []appeared
	asked   chan answer // nil: nothing is asked
	askedAt time.Time   // when it was asked last
	slow    string      // what to say of that when it takes long
}

type seen struct {
	stamp
	at time.Time
}

// appears asks the folder for what is to be known next, and is how long until that has to be looked after; more tells that there may be
// another instance.
func (f *flow) appears(ctx context.Context, every *workflow.Periodic) (wait time.Duration, more bool) {
	f.mu.Lock()
	p := f.rec.Periods
	more = !f.rec.Cancelled && (every.Count == 0 || p.Next < every.Count)
	f.mu.Unlock()
	if !more {
		return maxWait, false
	}
	passed := time.Since(f.askedAt)
	if f.asked != nil && passed >= folderLimit {
		f.waits(f.slow)
		return maxWait, true
	}
	if f.asked != nil {
		return folderLimit - passed, true
	}
	if len(f.ready) > 0 {
		if why := f.noRoom(); why != "" {
			f.waits(why)
			return lookAtFolder, true
		}
		x := f.ready[0]
		f.ready = f.ready[1:]
		f.ask(ctx, fmt.Sprintf("the file %s is being copied since %s", x.name, f.keeper.config.Now().Stamp()), func() answer { return f.fetch(x, every) })
		return folderLimit, true
	}
	if passed < lookAtFolder {
		return lookAtFolder - passed, true
	}
	f.ask(ctx, errHangs(every.Folder).Error(), func() answer {
		list, err := f.keeper.present(f.spec.User, every.Folder)
		return answer{list: list, err: err}
	})
	return folderLimit, true
}

// answered takes what a folder has answered: an instance, if it is a file that was copied.
func (f *flow) answered(a answer, every *workflow.Periodic, sites [][]string) *flow {
	f.asked = nil
	switch {
	case a.err != nil:
		f.waits(a.err.Error())
	case a.copy != nil:
		f.waits("")
		return f.instance(every, sites, a.copy)
	default:
		if f.look(a.list); len(f.ready) == 0 {
			f.waits("")
		}
	}
	return nil
}

// look finds the files that are new and have not changed for a while.
func (f *flow) look(list []appeared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, p, now := f.known, f.rec.Periods, time.Now()
	was := p.Taken
	f.known, p.Taken = map[string]seen{}, map[string]taken{}
	for _, x := range list {
		if t, is := was[x.name]; is {
			if p.Taken[x.name] = t; t.stamp == x.stamp {
				continue
			}
		}
		s, is := before[x.name]
		if !is || s.stamp != x.stamp {
			s = seen{x.stamp, now}
		}
		if f.known[x.name] = s; f.askedAt.Sub(s.at) >= stable {
			f.ready = append(f.ready, x)
		}
	}
}

// noRoom tells why the next file has to wait. One that is too large for any is given up.
func (f *flow) noRoom() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, most, x := f.rec.Periods, f.keeper.config.Bytes, f.ready[0]
	if len(p.Open) >= maxOpen {
		return fmt.Sprintf("%d instances are under way", len(p.Open))
	}
	held := x.Size
	for _, t := range p.Taken {
		if p.Open[t.Number] {
			held += t.Size
		}
	}
	if most > 0 && held > most && held > x.Size {
		return fmt.Sprintf("the files of the instances that are under way have %d bytes with the next, of which %d are allowed", held, most)
	}
	if most > 0 && held > most {
		f.ready = f.ready[1:]
		p.Taken[x.name] = taken{x.stamp, -1}
		p.Missed++
		f.keep()
		return fmt.Sprintf("the file %s has %d bytes, of which %d are allowed, and is left out", x.name, x.Size, most)
	}
	return ""
}

// waits notes why nothing begins.
func (f *flow) waits(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.rec.Periods; p.Waits != why {
		p.Waits = why
		if why != "" {
			f.keeper.config.Log.Warn("files that appear begin no instance", "workflow", f.spec.ID, "error", why)
		}
	}
}

// putBack undoes that a file is taken, where no instance could be made: the file is looked at again.
func (f *flow) putBack(c *copied, n int, why error) {
	f.waits(fmt.Sprintf("the file %s: %v", c.file.name, errors.Join(why, c.discard())))
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.rec.Periods.Open, n)
	f.again(n)
	f.keep()
}

// again has a file counted again whose instance was noted and not made; false if there is none. It was the last one. f.mu is held.
func (f *flow) again(n int) bool {
	p := f.rec.Periods
	for name, t := range p.Taken {
		if t.Number == n {
			delete(p.Taken, name)
			p.Next = n
			return true
		}
	}
	return false
}

// likeOne plans all instances as if each ran alone.
func (f *flow) likeOne(places []workflow.Place) [][]string {
	w := api.Workflow(f.spec.Submission.Name, f.parts, func(i int, name string) int64 { return f.leaves[i][name] })
	planned, err := w.Plan(places, nil, workflow.Quick)
	if err != nil {
		f.keeper.config.Log.Info("a workflow that watches a folder has no plan, and goes on without one", "workflow", f.spec.ID, "error", err)
		return nil
	}
	row := make([]string, len(planned.Tasks))
	for i := range row {
		row[i] = planned.Tasks[i].Site
	}
	return [][]string{row}
}
