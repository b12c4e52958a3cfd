package stage

import (
	"context"
	"sync"

	"gbroker/grid"
)

// maxStreamsOf bounds the streams to one peer of all fetches: it serves more ([maxServedPeer]), so that readers find room, and with the
// first stream of each of four fetches on the common connection, the others have one each of their own.
const maxStreamsOf = 16

// seats share the streams to one peer between the fetches under way from it: all have as many, whatever the number and the size of their
// files. A link gives each connection about as much, so they get about as much of it.
type seats struct {
	mu sync.Mutex
	of map[grid.PeerID]*bench
}

// bench is what is taken of the streams to one peer.
type bench struct {
	taken   map[*pull]int // of each fetch under way
	all     int
	changed chan struct{} // closed when somebody may sit down
}

// share is how many streams each may have. Call with mu held.
func (b *bench) share() int { return max(1, maxStreamsOf/max(1, len(b.taken))) }

func (b *bench) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// join counts a fetch among those that share; the others give up what is more than their part, range by range.
func (s *seats) join(p *pull) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[grid.PeerID]*bench{}
	}
	b := s.of[p.from]
	if b == nil {
		b = &bench{taken: map[*pull]int{}, changed: make(chan struct{})}
		s.of[p.from] = b
	}
	b.taken[p] = 0
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(b.taken, p)
		b.wake()
		if len(b.taken) == 0 {
			delete(s.of, p.from)
		}
	}
}

// sit waits until the fetch may have one more stream; false where it needs none any more.
func (s *seats) sit(ctx context.Context, p *pull) (bool, error) {
	for {
		if !p.wants() {
			return false, nil
		}
		s.mu.Lock()
		b := s.of[p.from]
		if b.taken[p] < b.share() && b.all < max(maxStreamsOf, len(b.taken)) {
			b.taken[p]++
			b.all++
			s.mu.Unlock()
			return true, nil
		}
		changed := b.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// give tells a stream that it ends after what is under way, as its fetch has more than its part.
func (s *seats) give(p *pull) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.of[p.from]
	if b.taken[p] <= b.share() {
		return false
	}
	b.taken[p]--
	return true
}

// most is how many streams a fetch may have now.
func (s *seats) most(p *pull) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[p.from].share()
}

// rise frees the place of a stream; given is one of which the fetch was told to give it up.
func (s *seats) rise(p *pull, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.of[p.from]
	if b.all--; !given {
		b.taken[p]--
	}
	b.wake()
}
