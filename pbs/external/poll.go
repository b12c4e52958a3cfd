package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gbroker/grid"
)

// poller keeps the last good listing. At most one poll is under way; who needs one while
// it is waits for it, and asks again if it began too early.
type poller struct {
	client  Client
	refresh time.Duration
	age     time.Duration

	mu       sync.Mutex
	flight   *flight
	good     *poll // the last that succeeded
	err      error // of the last, nil if it is good
	failures int
	retry    time.Time // not before, after failures
}

// poll is a listing, and when it was asked for.
type poll struct {
	Listing
	begun time.Time
}

// flight is a poll under way.
type flight struct {
	begun time.Time
	done  chan struct{}
	got   *poll
	err   error
}

const (
	firstBackOff = time.Second
	mostBackOff  = time.Minute
)

// fresh is a listing that was asked for at since or later. While polls fail it repeats their
// error until it is time to try again.
func (p *poller) fresh(ctx context.Context, since time.Time) (*poll, error) {
	for {
		p.mu.Lock()
		if p.good != nil && p.err == nil && !p.good.begun.Before(since) {
			defer p.mu.Unlock()
			return p.good, nil
		}
		f := p.flight
		if f == nil {
			if now := time.Now(); p.err != nil && now.Before(p.retry) {
				defer p.mu.Unlock()
				return nil, p.err
			}
			f = &flight{begun: time.Now(), done: make(chan struct{})}
			p.flight = f
			p.mu.Unlock()
			p.fly(ctx, f)
			return f.got, f.err
		}
		p.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: waiting for the batch system's answer: %w", grid.ErrUnavailable, context.Cause(ctx))
		}
		if !f.begun.Before(since) && (f.err == nil || !errors.Is(f.err, context.Canceled)) {
			return f.got, f.err
		}
	}
}

// fly polls, in the name of all who wait.
func (p *poller) fly(ctx context.Context, f *flight) {
	listing, err := p.client.Listing(ctx)
	if err == nil {
		f.got = &poll{listing, f.begun}
	} else {
		f.err = fmt.Errorf("asking the batch system: %w", err)
		if !errors.Is(err, grid.ErrUnavailable) {
			f.err = fmt.Errorf("%w: %w", grid.ErrUnavailable, f.err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = nil
	close(f.done)
	switch {
	case err == nil:
		p.good, p.err, p.failures = f.got, nil, 0
	case ctx.Err() != nil: // the asker has gone; that says nothing of the system
	default:
		p.err = f.err
		p.retry = time.Now().Add(jitter(min(firstBackOff<<min(p.failures, 10), mostBackOff)))
		p.failures++
	}
}

// cached is the last good listing, unless it is too old to be told.
func (p *poller) cached(ctx context.Context) (*poll, error) {
	p.mu.Lock()
	good, err := p.good, p.err
	p.mu.Unlock()
	if good != nil && time.Since(good.begun) <= p.age {
		return good, nil
	}
	if err == nil {
		return p.fresh(ctx, time.Now().Add(-p.age))
	}
	return nil, fmt.Errorf("no estimate, as nothing is known of the batch system now: %w", err)
}

// pause is how long to wait until the next regular poll.
func (p *poller) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return max(time.Until(p.retry), time.Millisecond)
	}
	return jitter(p.refresh)
}

// trouble is why nothing is known now; "" is well.
func (p *poller) trouble() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return ""
	}
	return p.err.Error()
}
