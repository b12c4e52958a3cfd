package agent

import (
	"context"
	"sync"
)

// tenants lets the jobs of one user at a time onto this computer, from before anything of them is fetched until nothing of them is left:
// all run under one account, and could else read and change each other's files.
type tenants struct {
	mu    sync.Mutex
	who   string
	count int
	gone  chan struct{} // closed when the last has left
}

// enter waits until nobody else's jobs are here.
func (t *tenants) enter(ctx context.Context, who string) error {
	for {
		t.mu.Lock()
		if t.count == 0 {
			t.who, t.gone = who, make(chan struct{})
		}
		if t.who == who {
			t.count++
			t.mu.Unlock()
			return nil
		}
		gone := t.gone
		t.mu.Unlock()
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *tenants) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count--; t.count == 0 {
		close(t.gone)
	}
}
