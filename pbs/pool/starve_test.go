package pool

import (
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// Jobs with deadlines go first, but not for ever: who waited while others' jobs were on the only computer has a turn when it is empty.
func TestDeadlinesLeaveOthersTheirTurn(t *testing.T) {
	t.Parallel()
	for _, within := range []grid.Tick{0, grid.Day} { // one whose deadline is the later one is in the same place
		s := newStill(t)
		c := s.add("a", line.Computer{})
		s.wait("bert@here", 20*grid.Hour)
		s.pass()
		mine := s.wait("anna@here", within)
		for turn := 1; mine.computer == nil; turn++ {
			if turn > 3 {
				t.Fatalf("with a deadline in %v it had none of %d turns", within.Duration(), turn)
			}
			s.wait("bert@here", 20*grid.Hour)
			s.pass()
			s.end(c)
			s.pass()
		}
	}
}

// A turn that its job does not take is over: the computer does not stand idle for it.
func TestTurnThatIsNotTaken(t *testing.T) {
	t.Parallel()
	s := newStill(t)
	a := s.add("a", line.Computer{})
	s.wait("bert@here", 20*grid.Hour)
	s.pass()
	mine := s.wait("anna@here", 0)
	s.pass()
	mine.Queue = "closed" // the policy of the site does not start it
	next := s.wait("bert@here", 20*grid.Hour)
	s.end(a)
	s.pass()
	if s.pass(); next.computer != a || mine.computer != nil {
		t.Errorf("%v is given the computer, and the other %v", next.computer, mine.computer)
	}
}

// A job with a deadline is given the computer that can start it, though another that suits has cores free: what it asks for besides is in use there, or
// it is kept for another's turn.
func TestDeadlineOnTheComputerThatIsOpen(t *testing.T) {
	t.Parallel()
	gpu := grid.Resource{Name: "gpu", Amount: 1}
	facts := line.Computer{Cores: 4, Resources: map[string]int64{"gpu": 1}}
	t.Run("in use", func(t *testing.T) {
		s := newStill(t)
		a := s.add("a", facts)
		s.give(s.withdrawn(s.wait("anna@here", 0, gpu)), a)
		b := s.add("b", facts)
		mine, next := s.wait("anna@here", 10*grid.Hour, gpu), s.wait("anna@here", 20*grid.Hour, gpu)
		if s.pass(); mine.computer != b || next.computer != nil {
			t.Errorf("they are given %v and %v", mine.computer, next.computer)
		}
	})
	t.Run("kept", func(t *testing.T) {
		s := newStill(t)
		a := s.add("a", facts)
		s.give(s.withdrawn(s.wait("bert@here", 0)), a)
		turn := s.wait("carl@here", 0)
		turn.Demand.Hosts = []string{"a"}
		s.pass() // a is kept for it
		s.add("b", line.Computer{Cores: 4, Speed: 2, Resources: facts.Resources})
		mine := s.wait("bert@here", 10*grid.Hour, gpu)
		if s.pass(); mine.computer == nil || mine.computer.name != "b" || turn.computer != nil {
			t.Errorf("it is given %v", mine.computer)
		}
	})
}

// On a slow computer a job has longer for the walltime that was asked for; a limit of which that is not known stands as it is: it was made longer before.
func TestLimitOnASlowComputer(t *testing.T) {
	t.Parallel()
	s := newStill(t)
	c := s.add("a", line.Computer{})
	c.facts.Speed = 0.5
	e := s.wait("anna@here", 0)
	if got := e.limitOn(c); got != 2*grid.Hour {
		t.Errorf("an hour of the reference may run for %v", got.Duration())
	}
	e.Walltime = 0
	if got := e.limitOn(c); got != grid.Hour {
		t.Errorf("an hour, granted before, is now %v", got.Duration())
	}
}
