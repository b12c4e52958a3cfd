package broker

import (
	"context"
	"sync"

	"gbroker/broker/core"
)

// lanes run the slow effects: those of one lane one after another, in order,
// different lanes side by side. A lane lives while it has work.
type lanes struct {
	mu     sync.Mutex
	queue  map[core.WorkKey][]func()
	stops  map[core.WorkKey]context.CancelFunc
	closed bool
	group  sync.WaitGroup
	slots  map[core.WorkKind]chan struct{}
}

// newLanes bounds how many of each kind work at once.
func newLanes() *lanes {
	return &lanes{
		queue: map[core.WorkKey][]func(){},
		stops: map[core.WorkKey]context.CancelFunc{},
		slots: map[core.WorkKind]chan struct{}{
			core.BatchWork: make(chan struct{}, 16), core.FileWork: make(chan struct{}, 8),
			core.FetchWork: make(chan struct{}, 16), core.HintWork: make(chan struct{}, 4),
			core.LookWork: make(chan struct{}, 1),
		},
	}
}

// do queues f on a lane, unless the lanes are closed. f is also run when its ctx is
// done, to end quickly and to say so.
func (l *lanes) do(ctx context.Context, k core.WorkKey, f func(context.Context)) {
	work := func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		l.mu.Lock()
		l.stops[k] = stop
		l.mu.Unlock()
		slot := l.slots[k.Kind]
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-ctx.Done():
		}
		f(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	q, busy := l.queue[k]
	l.queue[k] = append(q, work)
	if !busy {
		l.group.Add(1)
		go l.run(k)
	}
}

// stop ends what runs on a lane now, or waits to; what is queued behind it goes on.
func (l *lanes) stop(k core.WorkKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stops[k]; s != nil {
		s()
	}
}

func (l *lanes) run(k core.WorkKey) {
	defer l.group.Done()
	for {
		l.mu.Lock()
		q := l.queue[k]
		if len(q) == 0 {
			delete(l.queue, k)
			delete(l.stops, k)
			l.mu.Unlock()
			return
		}
		l.queue[k] = q[1:]
		l.mu.Unlock()
		q[0]()
	}
}

// wait closes the lanes and returns when they are empty.
func (l *lanes) wait() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.group.Wait()
}
