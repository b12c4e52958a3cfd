package openpbs

import (
	"context"
	"sync"
	"time"
)

// Reserved ports rest for a minute after each command and there are about 460 of them:
// burst and perSecond keep below that for any minute.
const (
	burst     = 16
	perSecond = 7
)

// pace lets commands begin no faster than the ports come back: a bucket of tickets.
type pace struct {
	mu    sync.Mutex
	every time.Duration // a ticket comes back; 0 is no limit
	full  time.Time     // when the bucket is full again
}

// wait takes a ticket, or gives up when ctx is done.
func (p *pace) wait(ctx context.Context) error {
	if p.every == 0 {
		return ctx.Err()
	}
	delay := p.take(time.Now())
	if delay <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// take takes a ticket and tells how long to wait until it may be used.
func (p *pace) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(p.every)
	return p.full.Sub(now) - burst*p.every
}
