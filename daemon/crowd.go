package daemon

import (
	"context"
	"sync"
)

// crowd lets so many at once do something for each of its keys, such as users; the others wait, up to a number, in no order.
type crowd struct {
	most    int // at once, for each key
	waiting int // with those that wait; 0 is any number

	mu   sync.Mutex
	keys map[string]*queue
}

// queue is the crowd of one key; here counts who is in, and who waits.
type queue struct {
	in   chan struct{}
	here int
}

func newCrowd(most, waiting int) *crowd {
	return &crowd{most: most, waiting: waiting, keys: map[string]*queue{}}
}

// enter waits for a place, which leave gives back. It is errBusy where too many wait for that key, or the context's error.
func (c *crowd) enter(ctx context.Context, key string) (leave func(), err error) {
	q, err := c.join(key)
	if err != nil {
		return nil, err
	}
	select {
	case q.in <- struct{}{}:
		return func() { <-q.in; c.part(key, q) }, nil
	case <-ctx.Done():
		c.part(key, q)
		return nil, ctx.Err()
	}
}

func (c *crowd) join(key string) (*queue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.keys[key]
	if q == nil {
		q = &queue{in: make(chan struct{}, c.most)}
		c.keys[key] = q
	}
	if c.waiting > 0 && q.here == c.waiting {
		return nil, errBusy
	}
	q.here++
	return q, nil
}

// part forgets a key with the last who is there.
func (c *crowd) part(key string, q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.here--; q.here == 0 {
		delete(c.keys, key)
	}
}
