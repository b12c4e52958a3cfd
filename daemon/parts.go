package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// parts runs the parts of a site: the first that ends, with or without an error,
// ends them all.
type parts struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	alive  []string
	errs   []error
}

func newParts(ctx context.Context, cancel context.CancelFunc) *parts {
	return &parts{ctx: ctx, cancel: cancel}
}

func (p *parts) start(name string, run func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alive = append(p.alive, name)
	p.group.Go(func() {
		defer p.cancel()
		err := run(p.ctx)
		if err == nil && p.ctx.Err() == nil {
			err = errors.New("ended by itself")
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alive = slices.DeleteFunc(p.alive, func(n string) bool { return n == name })
		if err != nil && !errors.Is(err, context.Canceled) {
			p.errs = append(p.errs, fmt.Errorf("%s: %w", name, err))
		}
	})
}

// await waits for a part to be ready; false if all is ending instead.
func (p *parts) await(ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// overdue is when a part has had its time to end.
const overdue = 10 * time.Second

// wait waits for all parts to end. Those that are overdue are told once.
func (p *parts) wait(tell func(alive []string)) error {
	late := time.AfterFunc(overdue, func() { tell(p.living()) })
	defer late.Stop()
	p.group.Wait()
	return errors.Join(p.errs...)
}

func (p *parts) living() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.alive)
}
