package pool

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// Who is taken by a plan that was made before has a place in it: the next is not promised the same.
func TestAdmittedByOnePlan(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1}})
	take := func() error {
		_, err := s.Submit(t.Context(), handed(t, 3*grid.Hour)) // of which an hour on half of a computer takes two
		return err
	}
	if err := take(); err != nil {
		t.Fatal(err)
	}
	s.admission.until = time.Now().Add(time.Hour)
	if err := take(); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "the earliest end is") {
		t.Errorf("a second on the same computer: %v", err)
	}
	s.admission.until = time.Time{}
	if err := take(); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a third, by a plan of its own: %v", err)
	}
}

// The pool is not held while it plans for a job that is handed in.
func TestPlansBesideThePool(t *testing.T) {
	t.Parallel()
	s := queued(t, 20, 1000, 10*grid.Hour)
	over := make(chan error)
	s.admission.Lock() // one is being admitted, for as long as this test likes
	go func() {
		_, err := s.Submit(t.Context(), handed(t, 100*grid.Hour))
		over <- err
	}()
	if _, err := s.Submit(t.Context(), handed(t, 0)); err != nil {
		t.Errorf("a job without a deadline: %v", err)
	}
	if _, err := s.Attempts(t.Context()); err != nil {
		t.Error(err)
	}
	s.admission.Unlock()
	if err := <-over; err != nil {
		t.Errorf("a job with a deadline: %v", err)
	}
}
