package pool

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	desks "gbroker/pool"
)

// admission is by what plan jobs with deadlines are taken, one at a time. To plan a long queue takes long: the pool does not wait for it, and the plan is good for
// as long again as it took, with what was taken since.
type admission struct {
	sync.Mutex
	until          time.Time
	at             grid.Tick
	offers         offers
	planned, empty *desks.Planned // of what waits, and of the pool without any job
	job            desks.Job      // asked for last, and where it would run
	place          desks.Place
}

// renew plans anew what is too old; s.admission is locked.
func (s *System) renew() *admission {
	a, begun := &s.admission, time.Now()
	if begun.Before(a.until) {
		return a
	}
	s.mu.Lock()
	sorted := s.sorted()
	a.at, a.offers = control.Now(), offersOf(sorted)
	computers := s.desks(a.at, sorted, false)
	_, waiting := s.dated(a.offers)
	s.mu.Unlock()
	a.planned = s.config.Rule.Plan(a.at, computers, waiting)
	a.empty = s.config.Rule.Plan(a.at, emptied(computers), nil)
	now := time.Now()
	a.until = now.Add(now.Sub(begun))
	return a
}

// emptied are computers without what they run.
func emptied(computers []desks.Computer) []desks.Computer {
	out := slices.Clone(computers)
	for i := range out {
		c := &out[i]
		c.PerCore, c.Free, c.Tenant = make([]grid.Tick, c.Cores), 0, ""
	}
	return out
}

// late says why a job would not end by its deadline: for good, or for as long as others are before it. s.admission is locked.
func (s *System) late(e *entry) error {
	a := s.renew()
	a.job = s.asked(e, a.offers)
	place, err := a.planned.Admit(&a.job)
	a.place = place
	var r *desks.Refusal
	if !errors.As(err, &r) {
		return err
	}
	kind := grid.ErrInvalid
	if _, err := a.empty.Admit(&a.job); err == nil {
		kind = grid.ErrUnavailable
	}
	return fmt.Errorf("%w: %w", kind, r)
}

// take keeps the place of the job that was asked for last.
func (a *admission) take() { a.planned.Take(&a.job, a.place) }
