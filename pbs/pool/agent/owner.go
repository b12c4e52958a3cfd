package agent

import (
	"context"
	"sync"
	"time"

	"gbroker/pbs/pool/line"
)

// Owner tells what the owner of the computer does, and allows.
type Owner interface {
	// Look is asked a few times in a second.
	Look(now time.Time) Sight
}

// Sight is the computer as its owner has it.
type Sight struct {
	Active bool   // the owner is at work: nothing of the pool may run
	Barred string // why no job may begin or go on now, in words: hours, battery, pause; "" is none
	Paused bool   // that is the owner's own word
	Idle   float64
}

// watcher keeps what the owner does.
type watcher struct {
	owner Owner
	mu    sync.Mutex
	sight Sight
}

// look is how often the owner is looked for: what runs is suspended within a second.
const look = 200 * time.Millisecond

func newWatcher(o Owner) *watcher {
	w := &watcher{owner: o, sight: Sight{Idle: 1}}
	if o != nil {
		w.sight = o.Look(time.Now())
	}
	return w
}

// run calls changed with every change of whether jobs may run.
func (w *watcher) run(ctx context.Context, changed func(stopped bool)) {
	if w.owner == nil {
		return
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			before := w.active()
			s := w.owner.Look(now)
			w.mu.Lock()
			w.sight = s
			w.mu.Unlock()
			if after := w.active(); after != before {
				changed(after)
			}
		case <-ctx.Done():
			return
		}
	}
}

// active tells that nothing may run.
func (w *watcher) active() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sight.Active || w.sight.Barred != ""
}

// barred says why no job may begin.
func (w *watcher) barred() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sight.Active {
		return "its owner is at work"
	}
	return w.sight.Barred
}

func (w *watcher) status() (line.Availability, string, float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.sight.Paused:
		return line.Paused, w.sight.Barred, 0
	case w.sight.Barred != "":
		return line.Barred, w.sight.Barred, 0
	case w.sight.Active:
		return line.Active, "its owner is at work", 0
	}
	return line.Free, "", w.sight.Idle
}
