package daemon

import (
	"context"
	"sync"
)

// limiter lets so many at once do something for each of its keys, such as users; the others wait, up to a number, in no order.
type limiter struct {
	most    int // at once, for each key
	waiting int // with those that wait; 0 is any number

	mu   sync.Mutex
	keys map[string]*queue
}

// queue is of one key; here counts who is in, and who waits.
type queue struct {
	in   chan struct{}
	here int
}

func newLimiter(most, waiting int) *limiter {
	return &limiter{most: most, waiting: waiting, keys: map[string]*queue{}}
}

// enter waits for a place, which leave gives back. It is errBusy where too many wait for that key, or the context's error.
func (l *limiter) enter(ctx context.Context, key string) (leave func(), err error) {
	q, err := l.join(key)
	if err != nil {
		return nil, err
	}
	select {
	case q.in <- struct{}{}:
		return func() { <-q.in; l.part(key, q) }, nil
	case <-ctx.Done():
		l.part(key, q)
		return nil, ctx.Err()
	}
}

func (l *limiter) join(key string) (*queue, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.keys[key]
	if q == nil {
		q = &queue{in: make(chan struct{}, l.most)}
		l.keys[key] = q
	}
	if l.waiting > 0 && q.here == l.waiting {
		return nil, errBusy
	}
	q.here++
	return q, nil
}

// part forgets a key with the last who is there.
func (l *limiter) part(key string, q *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.here--; q.here == 0 {
		delete(l.keys, key)
	}
}
