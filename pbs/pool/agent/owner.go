package agent

import (
	"context"
	"errors"
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
	Active bool  // the owner is at work: nothing of the pool may run
	Barred error // why no job may begin or go on now: hours, battery, pause; nil where one may
	Paused bool  // that is the owner's own word
	// Battery tells that the computer has no other power.
	Battery bool
	Idle    float64 // part of the processors that nobody but jobs of the pool uses
}

// watcher keeps what the owner does.
type watcher struct {
	owner Owner
	mu    sync.Mutex
	sight Sight
	since time.Time // until when seen tells
	seen  line.Seen // since the last report; its Idle is in milliseconds
}

// look is how often the owner is looked for: what runs is suspended within a second.
const look = 200 * time.Millisecond

func newWatcher(o Owner) *watcher {
	w := &watcher{owner: o, sight: Sight{Idle: 1}, since: time.Now()}
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
			w.book(now)
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

// book counts the time since it was last called as the last look showed it; w.mu is held. A computer that slept saw nothing.
func (w *watcher) book(now time.Time) {
	span := now.Sub(w.since)
	w.since = now
	if w.owner != nil && span > stale || span < 0 {
		return
	}
	ms := span.Milliseconds()
	w.since = now.Add(time.Duration(ms)*time.Millisecond - span) // the rest of a millisecond counts next time
	w.seen.Span += ms
	switch {
	case w.sight.Active || w.sight.Paused:
		w.seen.Active += ms
		return
	case w.sight.Battery:
		w.seen.Battery += ms
	}
	w.seen.Idle += w.sight.Idle * float64(ms)
}

// stale is after how long a look tells nothing of the time that has passed.
const stale = 10 * look

// report gives what was seen since it was last called.
func (w *watcher) report() line.Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book(time.Now())
	s := w.seen
	w.seen = line.Seen{}
	s.Idle = min(max(s.Idle/max(1, float64(s.Span-s.Active)), 0), 1)
	return s
}

// look is the last sight.
func (w *watcher) look() Sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sight
}

// active tells that nothing may run.
func (w *watcher) active() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sight.Active || w.sight.Barred != nil
}

// barred says why no job may begin.
func (w *watcher) barred() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sight.Active {
		return errors.New("its owner is at work")
	}
	return w.sight.Barred
}

func (w *watcher) status() (line.Availability, string, float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.sight.Paused:
		return line.Paused, w.sight.Barred.Error(), 0
	case w.sight.Barred != nil:
		return line.Barred, w.sight.Barred.Error(), 0
	case w.sight.Active:
		return line.Active, "its owner is at work", 0
	}
	return line.Free, "", w.sight.Idle
}
