package pbstest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"gbroker/grid"
)

// soon bounds one call that is expected to be given up.
const soon = 2 * time.Second

// A submission that was given up counts once, whatever became of it.
func testSubmitGivenUp(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.shell("echo ran >> ran")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Submit(ctx, j) // it may be refused, or done
	s.submit(j)
	s.restart()
	s.submit(j)
	s.onlyOne(j)
	s.release(holder)
	s.end(j)
	s.onceOnly(j)
}

// onlyOne checks that one local job of the attempt waits.
func (s *site) onlyOne(j grid.Submission) {
	s.Helper()
	n := func() (n int) {
		for _, w := range s.snapshot().Waiting {
			if w.Job == j.ID.Job {
				n++
			}
		}
		return n
	}
	s.until("the attempt is in the queue", func() bool { return n() > 0 })
	if n := n(); n != 1 {
		s.Errorf("%d local jobs of one attempt wait", n)
	}
}

// onceOnly waits until the system holds nothing, and checks that the program ran once.
func (s *site) onceOnly(j grid.Submission) {
	s.Helper()
	s.until("nothing waits or runs", func() bool {
		shot, err := s.Snapshot(context.Background())
		return err == nil && len(shot.Running)+len(shot.Waiting) == 0
	})
	if n := s.count(j, "ran"); n != 1 {
		s.Errorf("it ran %d times", n)
	}
}

// The command took effect and its answer was lost: the same attempt again finds it.
func testLostAnswer(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	s.need(s.hand.Deafen != nil, "no answers can be lost")
	for _, restart := range []bool{false, true} {
		j := s.shell("echo ran >> ran")
		end, err := s.hand.Deafen()
		s.did("losing answers", err)
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		if local, err := s.Submit(ctx, j); err == nil {
			t.Errorf("Submit without an answer says %q", local)
		}
		cancel()
		if restart {
			s.stop()
		}
		end()
		if restart {
			s.start()
		}
		s.again(j)
		s.onlyOne(j)
		s.release(holder)
		s.end(j)
		s.onceOnly(j)
		holder = s.submit(s.wholly(s.shell(untilGo)))
		s.awaitFile(holder, "up")
	}
	s.release(holder)
}

// again submits until the system has taken it: after trouble it may be unavailable for a while.
func (s *site) again(j grid.Submission) {
	s.Helper()
	s.jobs = append(s.jobs, j)
	s.until("the attempt is taken", func() bool {
		_, err := s.Submit(context.Background(), j)
		if err != nil && !errors.Is(err, grid.ErrUnavailable) {
			s.Fatalf("Submit after trouble: %v", err)
		}
		return err == nil
	})
}

// A command that takes effect after its attempt was withdrawn, and its control folder was
// thrown away and made again, starts nothing.
func testLateSubmission(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Stall != nil, "no command can be made late")
	withdrawn, remade := s.shell("echo ran >> ran"), s.shell("echo ran >> ran")
	end, err := s.hand.Stall()
	s.did("stalling commands", err)
	for _, j := range []grid.Submission{withdrawn, remade} {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		if local, err := s.Submit(ctx, j); err == nil {
			t.Errorf("Submit without an answer says %q", local)
		}
		cancel()
		ctx, cancel = context.WithTimeout(context.Background(), s.patience)
		if ok, err := s.Withdraw(ctx, j.ID, j.Control); !ok && err == nil {
			t.Error("it has started before it was submitted")
		}
		cancel()
	}
	s.remake(remade)
	end()
	after := s.shell("exit 0")
	s.again(after)
	s.end(after)
	s.until("nothing waits or runs", func() bool {
		shot, err := s.Snapshot(context.Background())
		return err == nil && len(shot.Running)+len(shot.Waiting) == 0
	})
	for _, j := range []grid.Submission{withdrawn, remade} {
		if s.exists(j, "ran") {
			t.Error("a withdrawn attempt ran")
		}
	}
}

// remake throws the control folder of a job away and makes it again.
func (s *site) remake(j grid.Submission) {
	s.Helper()
	s.did("making the control folder again", errors.Join(os.RemoveAll(j.Control), os.MkdirAll(j.Control, 0o755)))
}

// An attempt whose control folder was made again since never starts.
func testControlDirectoryRemade(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.submit(s.shell("echo ran >> ran"))
	s.remake(j)
	s.release(holder)
	s.end(s.submit(s.wholly(s.shell("exit 0"))))
	s.until("nothing waits or runs", func() bool {
		shot := s.snapshot()
		return len(shot.Running)+len(shot.Waiting) == 0
	})
	if s.exists(j, "ran") {
		t.Error("it ran")
	}
}

// While the controller is down nothing is known, least of all that jobs are gone; when it
// is back all is as it was.
func testControllerDown(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	s.need(s.hand.Down != nil && s.hand.Up != nil, "the controller cannot be stopped")
	j := s.submit(s.shell("echo ran >> ran"))
	s.did("stopping the controller", s.hand.Down())
	up := false
	defer func() {
		if !up {
			s.hand.Up()
		}
	}()
	s.troubled(holder, j)
	s.did("starting the controller", s.hand.Up())
	up = true
	s.recovered(holder, j)
}

func testCommandsHang(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	s.need(s.hand.Deafen != nil, "no answers can be lost")
	j := s.submit(s.shell("echo ran >> ran"))
	end, err := s.hand.Deafen()
	s.did("losing answers", err)
	defer end()
	s.troubled(holder, j)
	end()
	s.recovered(holder, j)
}

// troubled checks what is said while the system does not answer.
func (s *site) troubled(holder, j grid.Submission) {
	s.Helper()
	s.until("the snapshot is too old to be told", func() bool {
		_, err := s.Snapshot(context.Background())
		if err != nil && !errors.Is(err, grid.ErrUnavailable) {
			s.Fatalf("Snapshot: %v", err)
		}
		return err != nil
	})
	if p, err := s.Progress(context.Background(), holder.ID, holder.Control); err == nil && p.Phase != grid.Started {
		s.Errorf("what runs is told as %s", p.Phase)
	}
	if p, err := s.Progress(context.Background(), j.ID, j.Control); err == nil && p.Phase != grid.Waiting {
		s.Errorf("what waits is told as %s", p.Phase)
	}
	if all, err := s.Attempts(context.Background()); err == nil && len(all) != 2 {
		s.Errorf("attempts are told as %v", all)
	}
	if _, err := s.Submit(context.Background(), s.shell("exit 0")); !errors.Is(err, grid.ErrUnavailable) {
		s.Errorf("Submit: %v", err)
	}
}

// recovered checks that all is as it was.
func (s *site) recovered(holder, j grid.Submission) {
	s.Helper()
	s.until("the system answers again", func() bool {
		_, err := s.Snapshot(context.Background())
		return err == nil
	})
	if p := s.progress(holder); p.Phase != grid.Started {
		s.Errorf("what runs is %s after the trouble", p.Phase)
	}
	if p := s.progress(j); p.Phase != grid.Waiting {
		s.Errorf("what waits is %s after the trouble", p.Phase)
	}
	s.release(holder)
	if p := s.end(holder); p.Cause != grid.ByItself || p.ExitCode != 0 {
		s.Errorf("what ran ended %+v", p)
	}
	s.end(j)
	s.onceOnly(j)
}
