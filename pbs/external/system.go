package external

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs"

	"go.uber.org/zap"
)

// System is a batch system that is reached by a Client.
type System struct {
	config Config
	log    *zap.Logger
	poller *poller
	wake   chan struct{} // poll now

	mu       sync.Mutex
	entries  map[grid.AttemptID]*entry
	reserved map[string]*kept
	busy     map[string]chan struct{} // who works on an attempt or a reservation; closed when it is done
}

var (
	_ pbs.System   = (*System)(nil)
	_ pbs.Reserver = (*System)(nil)
	_ pbs.Holder   = (*System)(nil)
	_ pbs.Poller   = (*System)(nil)
)

// New opens the system over its spool. It asks the batch system nothing yet.
func New(config Config) (*System, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &System{
		config: config, log: config.Logger, wake: make(chan struct{}, 1),
		poller:  &poller{client: config.Client, refresh: config.Refresh, age: config.Age},
		entries: make(map[grid.AttemptID]*entry), reserved: make(map[string]*kept), busy: make(map[string]chan struct{}),
	}
	if err := os.MkdirAll(config.Spool, 0o700); err != nil {
		return nil, fmt.Errorf("making the spool of the batch system's side: %w", err)
	}
	return s, s.load()
}

// Least time between two polls that changes ask for.
const breath = 500 * time.Millisecond

// tendEvery is how often the control files of attempts are looked at.
const tendEvery = time.Second

// cleanEvery is how often attempts are forgotten whose control directory is gone.
const cleanEvery = 10 * time.Minute

// Run polls and tends until ctx is done.
func (s *System) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { s.follow(ctx) })
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	cleaning := time.NewTicker(cleanEvery)
	defer cleaning.Stop()
	s.resume()
	s.clean()
	for {
		s.tend()
		select {
		case <-tick.C:
		case <-cleaning.C:
			s.clean()
		case <-ctx.Done():
			return nil
		}
	}
}

// follow polls, and settles what each poll shows.
func (s *System) follow(ctx context.Context) {
	swept := false
	for ctx.Err() == nil {
		begun := time.Now()
		got, err := s.poller.fresh(ctx)
		switch {
		case err == nil:
			s.settle(ctx, got)
			if !swept {
				swept = s.sweepReservations(ctx)
			}
		case ctx.Err() == nil:
			s.log.Warn("nothing is known of the batch system", zap.Error(err))
		}
		timer := time.NewTimer(s.poller.pause())
		select {
		case <-timer.C:
		case <-s.wake:
			pause(ctx, breath-time.Since(begun))
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Poll asks for a poll now.
func (s *System) Poll() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Trouble is why nothing is known of the batch system now; nil is well.
func (s *System) Trouble() error { return s.poller.trouble() }

// alone waits until nobody else works on a thing, and works on it until the function that
// it gives is called.
func (s *System) alone(ctx context.Context, thing string) (done func(), err error) {
	for {
		done, other := s.begin(thing)
		if done != nil {
			return done, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: waiting for what is under way with %s: %w", grid.ErrUnavailable, thing, context.Cause(ctx))
		}
	}
}

// begin works on a thing, or gives what is closed when another has done so.
func (s *System) begin(thing string) (done func(), other <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if busy := s.busy[thing]; busy != nil {
		return nil, busy
	}
	mine := make(chan struct{})
	s.busy[thing] = mine
	return func() {
		s.mu.Lock()
		delete(s.busy, thing)
		s.mu.Unlock()
		close(mine)
	}, nil
}

func (s *System) entry(at grid.AttemptID) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[at]
}

// change changes an entry, and saves it.
func (s *System) change(e *entry, how func(*entry)) error {
	s.mu.Lock()
	how(e)
	s.mu.Unlock()
	return s.save(e)
}

// all lists the entries, oldest first.
func (s *System) all() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*entry, 0, len(s.entries))
	for _, e := range s.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return int(a.Submitted - b.Submitted) })
	return list
}

// view is an entry as it stands now.
func (s *System) view(e *entry) entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *e
}
