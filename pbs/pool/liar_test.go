package pool

import (
	"context"
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	desks "gbroker/pool"
)

// A computer that was removed while it waits for orders hears of no job any more.
func TestRemovedWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		s := newStill(t)
		c := s.add("a", line.Computer{})
		if err := s.saveComputer("a", registered{Computer: *c.facts}); err != nil {
			t.Fatal(err)
		}
		type answer struct {
			line.Orders
			err error
		}
		heard := make(chan answer, 1)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.mu.Lock()
		version := c.version
		s.mu.Unlock()
		go func() {
			o, err := s.await(ctx, "a", "session", version)
			heard <- answer{o, err}
		}()
		if removed {
			if err := Revoke(s.config.Spool, "a"); err != nil {
				t.Fatal(err)
			}
		}
		s.submitted(c)
		got := <-heard
		if removed != errors.Is(got.err, grid.ErrForbidden) || removed != (len(got.Jobs) == 0) {
			t.Errorf("removed: %v; it hears %+v, %v", removed, got.Orders, got.err)
		}
	}
}

// However many jobs a computer says to have ended, and however late, what is told of jobs at others stays as it was.
func TestLiarAboutTimes(t *testing.T) {
	t.Parallel()
	s := newStill(t)
	ends := func(name string, times int, factor float64) {
		c := s.computerOf(name)
		for range times {
			e := &entry{computer: c, began: 1, foreseen: 1 + grid.Hour}
			s.noteEnd(e, e.began+grid.Tick(factor*float64(grid.Hour)))
		}
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		ends(name, 20, 1)
	}
	latest := func() grid.Tick {
		return desks.Sure(desks.Place{Start: 0, End: grid.Hour}, 0, factors(s.errors)).Latest
	}
	before := latest()
	ends("liar", 1000, 900)
	if after := latest(); before != grid.Hour || after != before || len(s.errors) > keptErrors {
		t.Errorf("nine of ten jobs were told to end within %v, and then within %v, by %d ends", before, after, len(s.errors))
	}
	ends("a", 20, 2)
	if n := len(s.errors); n > keptErrors || s.errors[n-1] != (misjudged{"a", 2}) || s.errors[n-keptOfOne].factor != 2 || s.errors[n-keptOfOne-1].factor == 2 {
		t.Errorf("the newest of a computer count: %v", s.errors[n-keptOfOne-1:])
	}
}

// What a computer says of instants that it cannot know is kept between the start of its job, as the pool saw it, and now.
func TestInstantsOfALiar(t *testing.T) {
	t.Parallel()
	const most = 1 << 62
	for _, ago := range []int64{-most, -1, 0, 1000 * int64(grid.Hour), most} {
		s := newStill(t)
		s.config.Changed = func(grid.AttemptID) {}
		c := s.add("a", line.Computer{})
		e, err := s.grantOf(c)
		if err != nil {
			t.Fatal(err)
		}
		from := e.started
		if err := s.began(c, e.tag, line.Began{Stint: e.stint, Ago: ago}); err != nil {
			t.Fatal(err)
		}
		if run, there, err := control.ReadRun(e.Control, e.id); err != nil || !there || run.At < from || run.At > control.Now() {
			t.Errorf("it began %d ms ago: %v, %v; the pool gave it away at %v", ago, run.At, err, from)
		}
		if err := s.ended(c, e.tag, line.End{Stint: e.stint, Cause: line.ByItself, Ended: ago}); err != nil {
			t.Fatal(err)
		}
		if end, there, err := control.ReadEnd(e.Control, e.id); err != nil || !there || end.At < from || end.At > control.Now() {
			t.Errorf("it ended %d ms ago: %v, %v; the pool gave it away at %v", ago, end.At, err, from)
		}
	}
}
