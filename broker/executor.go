package broker

import (
	"context"
	"sync"

	"gbroker/broker/core"
)

// executor is a keyed serial executor: what has one key is done one after another, in order;
// what has different keys side by side, within the bound of its kind.
type executor struct {
	mu     sync.Mutex
	queue  map[core.WorkKey][]func()
	stops  map[core.WorkKey]context.CancelFunc
	closed bool
	group  sync.WaitGroup
	slots  map[core.WorkKind]chan struct{}
}

// newExecutor bounds how many of each kind work at once. Notices are many, as they wait to be told together.
func newExecutor() *executor {
	return &executor{
		queue: map[core.WorkKey][]func(){},
		stops: map[core.WorkKey]context.CancelFunc{},
		slots: map[core.WorkKind]chan struct{}{
			core.BatchWork: make(chan struct{}, 16), core.FileWork: make(chan struct{}, 8),
			core.FetchWork: make(chan struct{}, 16), core.HintWork: make(chan struct{}, 4),
			core.LookWork: make(chan struct{}, 1), core.ReserveWork: make(chan struct{}, 1), core.WeighWork: make(chan struct{}, 16), core.NoticeWork: make(chan struct{}, 4096),
			core.ServeWork: make(chan struct{}, 32),
		},
	}
}

// do queues f under a key, within the bound of a kind, unless the executor is closed. f is also run when its ctx is
// done, to end quickly and to say so.
func (l *executor) do(ctx context.Context, k core.WorkKey, bound core.WorkKind, f func(context.Context)) {
	work := func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		l.mu.Lock()
		l.stops[k] = stop
		l.mu.Unlock()
		slot := l.slots[bound]
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

// stop ends what runs under a key now, or waits to; what is queued behind it goes on.
func (l *executor) stop(k core.WorkKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stops[k]; s != nil {
		s()
	}
}

func (l *executor) run(k core.WorkKey) {
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

// wait closes the executor and returns when nothing is left to do.
func (l *executor) wait() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.group.Wait()
}
