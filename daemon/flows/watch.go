package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	Number int  // of that; below 0 there is none in this run
	Failed bool `json:",omitempty"` // it has not ended well, or the file was left out: a run that is resumed takes it again
}

// appeared is a file in the folder.
type appeared struct {
	name string
	stamp
	put int64 // when it got its name, or another such change
	may bool  // it may count
}

// key is its name as text: what is no UTF-8 would not come back from the disk as it was.
func (x *appeared) key() string {
	if utf8.ValidString(x.name) && !strings.HasPrefix(x.name, `"`) {
		return x.name
	}
	return strconv.QuoteToASCII(x.name)
}

// came is the file that began an instance, as its tasks know it.
type came struct {
	As, Name, Contents string // Name is its key
	Size               int64
}

func (c *came) is(name string) bool { return c != nil && c.As == name }

// watcher is what a run knows of the folder that it watches, and goes with it; what has to be known later is in [periods].
type watcher struct {
	f       *flow
	every   *workflow.Periodic
	known   map[string]seen   // files that have not counted, by name
	ready   []appeared        // those of them that are next
	asked   chan answer       // nil: nothing is asked
	askedAt time.Time         // when it was asked last
	slow    string            // what to say of that when it takes long
	copies  bool              // a file is being copied
	tried   map[string]trial  // files of which no instance could be made
	away    map[string]absent // files that have counted and are not seen
}

// A file that has counted is forgotten when it was not there in several looks, over a while: one look may find a mount point empty.
const (
	forgetAfter = time.Minute
	forgetLooks = 3
)

// absent is how long a file was not seen.
type absent struct {
	since time.Time
	looks int
}

// Files of which no instance can be made are tried again after a pause that doubles.
const (
	leastPause = 2 * time.Second
	maxPause   = 10 * time.Minute
)

// trial is how a file was tried of which no instance could be made.
type trial struct {
	stamp
	why   string
	pause time.Duration
	until time.Time
}

func newWatcher(f *flow, every *workflow.Periodic) *watcher {
	return &watcher{f: f, every: every, tried: map[string]trial{}, away: map[string]absent{}}
}

type seen struct {
	stamp
	at time.Time
}

// next asks the folder for what is to be known next, and is how long until that has to be looked after; more tells that there may be
// another instance.
func (w *watcher) next(ctx context.Context) (wait time.Duration, more bool) {
	if !w.more() {
		return maxWait, false
	}
	passed := time.Since(w.askedAt)
	switch {
	case w.asked != nil && passed >= folderLimit && w.copies && passed < copyLimit:
		w.tell(w.slow) // large files take their time
		return min(copyLimit-passed, maxWait), true
	case w.asked != nil && passed >= folderLimit && w.copies:
		w.waits(fmt.Sprintf("%s, for more than %s", w.slow, copyLimit))
		return maxWait, true
	case w.asked != nil && passed >= folderLimit:
		w.waits(w.slow)
		return maxWait, true
	case w.asked != nil:
		return folderLimit - passed, true
	case len(w.ready) > 0:
		if err := w.noRoom(); err != nil {
			w.tell(err.Error())
			return lookAtFolder, true
		}
		w.take(ctx)
		return folderLimit, true
	case passed < lookAtFolder:
		return lookAtFolder - passed, true
	}
	w.ask(ctx, errHangs(w.every.Folder).Error(), func() answer {
		list, err := w.f.keeper.present(w.f.spec.User, w.every.Folder)
		return answer{list: list, err: err}
	})
	return folderLimit, true
}

func (w *watcher) more() bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return !w.f.rec.Cancelled && (w.every.Count == 0 || w.f.rec.Periods.Next < w.every.Count)
}

// take has the next file copied.
func (w *watcher) take(ctx context.Context) {
	x := w.ready[0]
	w.ready, w.copies = w.ready[1:], true
	w.ask(ctx, fmt.Sprintf("the file %q is being copied since %s", x.name, w.f.keeper.config.Now().Stamp()), func() answer { return w.fetch(ctx, x) })
}

// answered takes what a folder has answered: an instance, if it is a file that was copied.
func (w *watcher) answered(a answer, sites [][]workflow.PlannedTask) *flow {
	w.asked, w.copies = nil, false
	switch {
	case a.file != nil:
		defer w.f.keeper.release(w)
		return w.begin(a, sites)
	case a.err != nil:
		w.waits(a.err.Error())
	default:
		if w.look(a.list); len(w.ready) == 0 {
			w.tell(w.hindered())
		}
	}
	return nil
}

// begin makes an instance of a file that was copied; nil if that cannot be.
func (w *watcher) begin(a answer, sites [][]workflow.PlannedTask) *flow {
	child, err := (*flow)(nil), a.err
	if err == nil {
		if child, err = w.f.instance(w.every, sites, a.copy); err != nil {
			err = errors.Join(err, a.copy.discard())
		}
	}
	if err != nil {
		w.fails(a.file, err)
		return nil
	}
	delete(w.tried, a.file.key())
	w.tell("")
	return child
}

// fails has a file tried again later.
func (w *watcher) fails(x *appeared, err error) {
	t := w.tried[x.key()]
	if t.stamp != x.stamp {
		t = trial{stamp: x.stamp}
	}
	if why := err.Error(); t.why != why {
		t.why = why
		w.f.keeper.config.Log.Warn("a file that appeared begins no instance, and is tried again", "workflow", w.f.spec.ID, "file", x.name, "error", err)
	}
	t.pause = min(max(2*t.pause, leastPause), maxPause)
	t.until = time.Now().Add(t.pause)
	w.tried[x.key()] = t
	w.tell(w.hindered())
}

// hindered tells of the files of which no instance can be made.
func (w *watcher) hindered() string {
	if len(w.tried) == 0 {
		return ""
	}
	first := slices.Min(slices.Collect(maps.Keys(w.tried)))
	why := fmt.Sprintf("the file %q: %s", first, w.tried[first].why)
	if n := len(w.tried) - 1; n > 0 {
		why += fmt.Sprintf("; and %d other files", n)
	}
	return why
}

// look finds the files that are new and have not changed for a while.
func (w *watcher) look(list []appeared) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	p, before, tried := w.f.rec.Periods, w.known, w.tried
	w.known, w.tried = map[string]seen{}, map[string]trial{}
	there := map[string]bool{}
	for _, x := range list {
		name := x.key()
		there[name] = true
		if t, is := p.Taken[name]; !x.may || is && t.stamp == x.stamp {
			continue
		}
		s, is := before[name]
		if !is || s.stamp != x.stamp {
			s = seen{x.stamp, time.Now()}
		}
		w.known[name] = s
		t, is := tried[name]
		if is = is && t.stamp == x.stamp; is {
			w.tried[name] = t
		}
		if w.askedAt.Sub(s.at) >= stable && (!is || !time.Now().Before(t.until)) {
			w.ready = append(w.ready, x)
		}
	}
	w.forget(p, there)
}

// forget drops the files that have counted and are gone; f.mu is held.
func (w *watcher) forget(p *periods, there map[string]bool) {
	if p.Taken == nil {
		p.Taken = map[string]taken{}
	}
	before := w.away
	w.away = map[string]absent{}
	for name := range p.Taken {
		if there[name] {
			continue
		}
		a, is := before[name]
		if !is {
			a.since = w.askedAt
		}
		if a.looks++; a.looks >= forgetLooks && w.askedAt.Sub(a.since) >= forgetAfter {
			delete(p.Taken, name)
		} else {
			w.away[name] = a
		}
	}
}

// noRoom tells why the next file has to wait; without a reason it has its room. One that is too large for any is given up.
func (w *watcher) noRoom() error {
	k, x := w.f.keeper, w.ready[0]
	if most := k.config.Bytes; most > 0 && x.Size > most {
		w.leaveOut()
		return fmt.Errorf("the file %q has %d bytes, of which %d are allowed, and is left out", x.name, x.Size, most)
	}
	if n := w.open(); n >= maxOpen {
		return fmt.Errorf("%d instances are under way", n)
	}
	if err := k.crowded(w.f); err != nil {
		return err
	}
	if err := k.roomFor(x.Size); err != nil {
		return err
	}
	if held, may := k.claim(w, x.Size); !may {
		return fmt.Errorf("the files of the instances that are under way have %d bytes with the next, of which %d are allowed", held+x.Size, k.config.Bytes)
	}
	return nil
}

func (w *watcher) open() int {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return len(w.f.rec.Periods.Open)
}

// leaveOut gives the next file up.
func (w *watcher) leaveOut() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	x, p := w.ready[0], w.f.rec.Periods
	w.ready = w.ready[1:]
	p.Taken[x.key()] = taken{x.stamp, -1, true}
	p.Missed++
	w.f.keep()
}

// tell notes, for those who ask, why nothing begins; it is whether that is new.
func (w *watcher) tell(why string) bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	p := w.f.rec.Periods
	is := p.Waits != why
	p.Waits = why
	return is
}

// waits tells the log too.
func (w *watcher) waits(why string) {
	if w.tell(why) {
		w.f.keeper.config.Log.Warn("files that appear begin no instance", "workflow", w.f.spec.ID, "error", why)
	}
}

// fileOf is the file of an instance, by its key.
func (p *periods) fileOf(n int) (name string, is bool) {
	for name, t := range p.Taken {
		if t.Number == n {
			return name, true
		}
	}
	return "", false
}

// again has a file counted again whose instance was noted last and not made; false if there is none.
func (p *periods) again(n int) bool {
	name, is := p.fileOf(n)
	if is = is && n == p.Next-1; is {
		delete(p.Taken, name)
		p.Next = n
	}
	return is
}

// failed counts an instance that has not ended well.
func (p *periods) failed(n int) {
	p.Failed++
	if name, is := p.fileOf(n); is {
		t := p.Taken[name]
		t.Failed = true
		p.Taken[name] = t
	}
}

// wellTaken are the files that a run that is resumed does not take: those whose instance ended well. f.mu is held.
func (p *periods) wellTaken() map[string]taken {
	if p.Taken == nil {
		return nil // no folder is watched
	}
	kept := map[string]taken{}
	for name, t := range p.Taken {
		if t.Number = -1; !t.Failed {
			kept[name] = t
		}
	}
	return kept
}

// likeOne plans all instances as if each ran alone.
func (f *flow) likeOne(places []workflow.Place) [][]workflow.PlannedTask {
	w := api.Workflow(f.spec.Submission.Name, f.parts, func(i int, name string) int64 { return f.leaves[i][name] })
	planned, err := w.Plan(places, nil, workflow.Quick)
	if err != nil {
		f.keeper.config.Log.Info("a workflow that watches a folder has no plan, and goes on without one", "workflow", f.spec.ID, "error", err)
		return nil
	}
	return [][]workflow.PlannedTask{planned.Tasks}
}
