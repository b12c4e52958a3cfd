package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// parts runs the parts of a site: the first that ends, with or without an error,
// ends them all.
type parts struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	errs   []error
}

func newParts(ctx context.Context, cancel context.CancelFunc) *parts {
	return &parts{ctx: ctx, cancel: cancel}
}

func (p *parts) start(name string, run func(context.Context) error) {
	p.group.Go(func() {
		defer p.cancel()
		err := run(p.ctx)
		if err == nil && p.ctx.Err() == nil {
			err = errors.New("ended by itself")
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			p.mu.Lock()
			defer p.mu.Unlock()
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

func (p *parts) wait() error {
	p.group.Wait()
	return errors.Join(p.errs...)
}
