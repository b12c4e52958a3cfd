package pool

import (
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// submitted is a job that a computer has, and may ask the start token of.
func (s *still) submitted(c *computer) *entry {
	e := s.withdrawn(s.wait("anna@here", 0))
	e.Control, e.Work = s.TempDir(), s.TempDir()
	if err := control.WriteSubmit(e.Control, e.id); err != nil {
		s.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[e.id] = e
	s.give(e, c)
	return e
}

// A computer may register again while it is given a start token.
func TestGrantBesideARegistration(t *testing.T) {
	t.Parallel()
	s := newStill(t)
	c := s.add("a", line.Computer{})
	done := make(chan error)
	go func() {
		var err error
		for range 20 {
			if _, wrong := s.grantOf(c); wrong != nil {
				err = wrong
			}
		}
		done <- err
	}()
	for over := false; !over; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			over = true
		default:
			if err := s.register("a", line.Register{Version: line.Version, Computer: line.Computer{Cores: 1, Speed: 0.5}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (s *still) grantOf(c *computer) (*entry, error) {
	e := s.submitted(c)
	_, err := s.grant(c, e.tag, line.Nonce())
	return e, err
}

// A job that is taken from its computer while the token is being given is nobody's: a pool that is started again finds no grant of it.
func TestGrantThatComesTooLate(t *testing.T) {
	t.Parallel()
	s := newStill(t)
	c := s.add("a", line.Computer{})
	late := 0
	for begun := time.Now(); late == 0 && time.Since(begun) < 20*time.Second; {
		e := s.submitted(c)
		done := make(chan line.Granted)
		go func() {
			g, err := s.grant(c, e.tag, line.Nonce())
			if err != nil {
				t.Error(err)
			}
			done <- g
		}()
		var g line.Granted
		for over := false; !over; { // until its grant is written
			_, there, _ := control.ReadGrant(e.Control, e.id)
			select {
			case g = <-done:
				over = true
			default:
				if over = there; there {
					s.mu.Lock()
					if e.stint == "" {
						s.take(e)
					}
					s.mu.Unlock()
					g = <-done
				}
			}
		}
		if g.Granted {
			continue // it was quicker
		}
		late++
		if _, there, err := control.ReadGrant(e.Control, e.id); there || err != nil {
			t.Errorf("a grant that nobody heard of lies there: %v", err)
		}
	}
	if late == 0 {
		t.Error("no grant came too late")
	}
}

// How a job ended beside what was foreseen is kept where it ended by itself, and only there.
func TestEndsBesideForecastsAreKept(t *testing.T) {
	t.Parallel()
	for cause, want := range map[string]int{line.ByItself: 1, line.ByWalltime: 0} {
		s := newStill(t)
		c := s.add("a", line.Computer{})
		s.config.Changed = func(grid.AttemptID) {}
		e, err := s.grantOf(c)
		if err != nil {
			t.Fatal(err)
		}
		now := control.Now()
		e.began, e.started, e.foreseen = now-grid.Hour, now-grid.Hour, now+grid.Hour
		if err := s.ended(c, e.tag, line.End{Stint: e.stint, Cause: cause}); err != nil {
			t.Fatal(err)
		}
		if len(s.errors) != want || want == 1 && (s.errors[0].factor < 0.49 || s.errors[0].factor > 0.51) {
			t.Errorf("%s after half the time: %v", cause, s.errors)
		}
	}
}
