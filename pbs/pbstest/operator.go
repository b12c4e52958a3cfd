package pbstest

import (
	"context"
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/plan"
)

// held tells whether the job is shown as waiting and held.
func (s *site) held(j grid.Submission) bool {
	shot := s.snapshot()
	for _, w := range shot.Waiting {
		if w.Job == j.ID.Job {
			return w.Ineligible
		}
	}
	return false
}

// A job on our own hold does not start, whatever room there is, and does when it is released.
func testHolds(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	h, is := s.System.(pbs.Holder)
	s.need(is, "attempts cannot be held")
	j, plain := s.submit(s.shell("echo ran >> ran")), s.submit(s.shell("exit 0"))
	for range 2 {
		s.did("Hold", h.Hold(context.Background(), j.ID, j.Control))
	}
	s.did("Unhold of one that is not held", h.Unhold(context.Background(), plain.ID, plain.Control))
	s.until("the job is shown as held", func() bool { return s.held(j) })
	if _, ok := plan.Build(s.snapshot()).Start(j.ID.Job); ok {
		t.Error("the plan starts a held job")
	}
	s.restart()
	h = s.System.(pbs.Holder)
	s.release(holder)
	s.end(plain)
	s.until("all cores are free", func() bool { return len(s.snapshot().Running) == 0 })
	if p := s.progress(j); p.Phase != grid.Waiting || s.exists(j, "ran") {
		t.Errorf("the held job is %s; it ran: %v", p.Phase, s.exists(j, "ran"))
	}
	s.did("Unhold", h.Unhold(context.Background(), j.ID, j.Control))
	if p := s.end(j); p.Cause != grid.ByItself || s.count(j, "ran") != 1 {
		t.Errorf("ended %+v; it ran %d times", p, s.count(j, "ran"))
	}
	if err := h.Hold(context.Background(), j.ID, j.Control); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("Hold after the end: %v", err)
	}
	// A held job is withdrawn like any.
	holder = s.submit(s.wholly(s.shell(untilGo)))
	s.awaitFile(holder, "up")
	j = s.submit(s.shell("echo ran >> ran"))
	s.did("Hold", h.Hold(context.Background(), j.ID, j.Control))
	if ok, err := s.Withdraw(context.Background(), j.ID, j.Control); !ok || err != nil {
		t.Errorf("Withdraw of a held job: %v, %v", ok, err)
	}
	s.release(holder)
}

// An operator's hold is seen; the job waits on and starts after the release.
func testHeldByOthers(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	s.need(s.hand.Hold != nil && s.hand.Release != nil, "no operator can hold a job")
	j := s.submit(s.shell("echo ran >> ran"))
	s.did("an operator's hold", s.hand.Hold(s.local(j)))
	s.until("the job is shown as held", func() bool { return s.held(j) })
	s.release(holder)
	s.end(holder)
	if p := s.progress(j); p.Phase != grid.Waiting || s.exists(j, "ran") {
		t.Errorf("the held job is %s; it ran: %v", p.Phase, s.exists(j, "ran"))
	}
	s.did("an operator's release", s.hand.Release(s.local(j)))
	if p := s.end(j); p.Cause != grid.ByItself || s.count(j, "ran") != 1 {
		t.Errorf("ended %+v; it ran %d times", p, s.count(j, "ran"))
	}
}

// A waiting job that an operator removed waits no more: its end is told, or nothing is
// known of it; it never ran, and can still be withdrawn for good.
func testRemovedByOthers(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	s.need(s.hand.Delete != nil, "no operator can delete a job")
	j := s.submit(s.shell("echo ran >> ran"))
	s.did("deleting a job", s.hand.Delete(s.local(j)))
	var p grid.Progress
	s.until("the job waits no more", func() bool { p = s.progress(j); return p.Phase != grid.Waiting })
	switch {
	case p.Phase == grid.Unknown: // while its end is written it may be told as waiting once more
		if ok, err := s.Withdraw(context.Background(), j.ID, j.Control); !ok || err != nil {
			t.Errorf("Withdraw of what was removed: %v, %v", ok, err)
		}
	case p.Phase != grid.Ended || p.Cause != grid.NeverRan && p.Cause != grid.Disappeared || p.Detail == "":
		t.Errorf("the removed job is %+v", p)
	}
	s.release(holder)
	s.end(s.submit(s.wholly(s.shell("exit 0"))))
	if s.exists(j, "ran") {
		t.Error("the removed job ran")
	}
}

// A job that may run only once and is put back into the queue by somebody runs only once.
func testRequeuedByOthers(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Requeue != nil, "no operator can requeue a job")
	j := s.submit(s.shell("echo ran >> ran; " + untilGo))
	s.awaitFile(j, "up")
	s.await(j, grid.Started)
	refused := s.hand.Requeue(s.local(j))
	s.release(j)
	p := s.end(j)
	if refused != nil && (p.Cause != grid.ByItself || p.ExitCode != 0) {
		t.Errorf("requeueing was refused (%v), and yet the job ended %+v", refused, p)
	}
	s.until("it is gone from the system", func() bool {
		shot := s.snapshot()
		return len(shot.Running)+len(shot.Waiting) == 0
	})
	if n := s.count(j, "ran"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
