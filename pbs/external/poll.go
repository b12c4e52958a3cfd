package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// poller keeps the last good listing. At most one poll is under way; who needs one while
// it is waits for it, and asks again if it began too early.
type poller struct {
	client  Client
	refresh time.Duration
	age     time.Duration

	mu     sync.Mutex
	count  uint64 // polls begun so far
	flight *flight
	good   *poll // the last that succeeded
	cycle  plan.Cycle
	passed passed // of the flight under way: without the lock
	pace
}

// poll is a listing. Polls are counted: what was done when n had begun is seen by the later ones.
type poll struct {
	Listing
	number uint64
	begun  time.Time
	took   time.Duration
}

// flight is a poll under way.
type flight struct {
	poll
	done chan struct{}
	err  error
	left bool // who began it has gone: its error is nobody else's
}

// now is how many polls have begun.
func (p *poller) now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// fresh is a listing that begins from now on.
func (p *poller) fresh(ctx context.Context) (*poll, error) { return p.after(ctx, p.now()) }

// after is a listing that began after the n-th. While polls fail it repeats their error
// until it is time to try again.
func (p *poller) after(ctx context.Context, n uint64) (*poll, error) {
	for {
		p.mu.Lock()
		if p.good != nil && p.err == nil && p.good.number > n {
			defer p.mu.Unlock()
			return p.good, nil
		}
		f := p.flight
		if f == nil {
			if err := p.early(); err != nil {
				defer p.mu.Unlock()
				return nil, err
			}
			p.count++
			f = &flight{poll: poll{number: p.count, begun: time.Now()}, done: make(chan struct{})}
			p.flight = f
			p.mu.Unlock()
			p.fly(ctx, f)
			return f.landed()
		}
		p.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: waiting for the batch system's answer: %w", grid.ErrUnavailable, context.Cause(ctx))
		}
		if f.number > n && !f.left {
			return f.landed()
		}
	}
}

func (f *flight) landed() (*poll, error) {
	if f.err != nil {
		return nil, f.err
	}
	return &f.poll, nil
}

// fly polls, in the name of all who wait.
func (p *poller) fly(ctx context.Context, f *flight) {
	listing, err := p.client.Listing(ctx)
	f.Listing, f.took = listing, time.Since(f.begun)
	if err != nil {
		f.err = fmt.Errorf("asking the batch system: %w", err)
		if !errors.Is(err, grid.ErrUnavailable) {
			f.err = fmt.Errorf("%w: %w", grid.ErrUnavailable, f.err)
		}
	}
	f.left = err != nil && ctx.Err() != nil
	if err == nil { // before others have it
		p.compare(f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = nil
	close(f.done)
	switch {
	case err == nil:
		p.good, p.pace = &f.poll, pace{}
	case f.left: // that says nothing of the system
	default:
		p.failed(f.err)
	}
}

// compare learns from what has changed since the last good listing. That may take a while, and estimates are not to wait for it.
func (p *poller) compare(f *flight) {
	old := p.last()
	if old == nil {
		p.passed.see(nil, &f.Listing, time.Now())
		return
	}
	p.passed.see(&old.Listing, &f.Listing, time.Now())
	ends, starts := endsSince(old.Listing, f.Listing), startsSince(old.Listing, f.Listing)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cycle.See(ends, starts...)
}

// last is the last good listing, however old; nil is none yet.
func (p *poller) last() *poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.good
}

// cached is the last good listing, unless it is too old to be told.
func (p *poller) cached(ctx context.Context) (*poll, error) {
	p.mu.Lock()
	good, err := p.good, p.err
	var last uint64
	if good != nil {
		last = good.number
	}
	p.mu.Unlock()
	if good != nil && time.Since(good.begun) <= p.age {
		if err == nil && good.idle() && time.Since(good.begun) > max(p.refresh/recently, leastPause, recently*good.took) {
			return p.anew(ctx, good), nil
		}
		return good, nil
	}
	if err == nil {
		return p.after(ctx, last)
	}
	return nil, fmt.Errorf("no estimate, as nothing is known of the batch system now: %w", err)
}

// Others submit jobs too, and a listing that is old still shows the nodes idle that these have taken: a start at once would
// be promised that cannot be. One that shows idle cores is believed for a part of the time between two regular polls; it
// is asked for anew, and waited for a little.
// The commands of users and of the daemon itself must not wait for these polls: some systems bear few in a second, and
// some are slow.
const (
	recently   = 5
	leastPause = 2 * time.Second
	aMoment    = time.Second
)

// idle tells that a job might start at once.
func (l *poll) idle() bool {
	free := 0
	for _, n := range l.Nodes {
		if !n.Down {
			free += n.Cores
		}
	}
	for i := range l.Jobs {
		if l.Jobs[i].holds() {
			for _, p := range l.Jobs[i].Places {
				free -= p.Cores
			}
		}
	}
	return free > 0
}

// anew is a listing after good, or good itself where that takes more than a moment.
func (p *poller) anew(ctx context.Context, good *poll) *poll {
	next := make(chan *poll, 1)
	go func() {
		if l, err := p.after(context.WithoutCancel(ctx), good.number); err == nil { // it goes on for the next who asks
			next <- l
		}
		close(next)
	}()
	timer := time.NewTimer(aMoment)
	defer timer.Stop()
	select {
	case l, ok := <-next:
		if ok {
			return l
		}
	case <-timer.C:
	case <-ctx.Done():
	}
	return good
}

// pause is how long to wait until the next regular poll.
func (p *poller) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return max(time.Until(p.next), time.Millisecond)
	}
	return jitter(p.refresh)
}

// trouble is why nothing is known now; nil is well.
func (p *poller) trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
