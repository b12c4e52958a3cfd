package pbstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
)

// ahead is how much later than now the reservations of these tests begin, so that what should
// stay out has the time to try, and the commands of a system that is slow the time to make them.
func (s *site) ahead() grid.Tick { return max(4*grid.Second, s.kind.Ahead) }

// reserver is the system as one that has reservations; the test is skipped where it is none.
func (s *site) reserver() pbs.Reserver {
	s.Helper()
	r, is := s.System.(pbs.Reserver)
	s.need(is, "there are no reservations")
	if _, err := r.Reservations(context.Background()); err != nil {
		s.need(!errors.Is(err, pbs.ErrNoReservations), "there are no reservations")
		s.Fatalf("Reservations: %v", err)
	}
	return r
}

// reservation is a reservation from a moment after now, for jobs of a limit.
func (s *site) reservation(after, limit grid.Tick, nodes ...grid.NodeName) pbs.Reservation {
	s.Helper()
	start := (s.snapshot().At + after + grid.Second - 1) / grid.Second * grid.Second
	return pbs.Reservation{
		ID: fmt.Sprintf("r%d", ulids.Add(1)), Nodes: nodes,
		Start: start, End: start + max(limit, s.kind.Least) + s.reserver().Slack(),
	}
}

func (s *site) reserve(r pbs.Reservation) pbs.Reservation {
	s.Helper()
	s.did("Reserve", s.reserver().Reserve(context.Background(), r))
	return r
}

// reserveSoon makes a reservation that begins soon, for jobs of a limit: later where the machine was too busy to make it in time.
func (s *site) reserveSoon(limit grid.Tick, nodes ...grid.NodeName) pbs.Reservation {
	s.Helper()
	return s.soon(func(ahead grid.Tick) pbs.Reservation { return s.reservation(ahead, limit, nodes...) })
}

// reserveBriefly makes one that begins soon for no job, so without what its system needs beyond a limit (a minute and a half for Maui).
func (s *site) reserveBriefly(span grid.Tick, nodes ...grid.NodeName) pbs.Reservation {
	s.Helper()
	return s.soon(func(ahead grid.Tick) pbs.Reservation {
		r := s.reservation(ahead, span, nodes...)
		r.End -= s.reserver().Slack()
		return r
	})
}

func (s *site) soon(reservation func(ahead grid.Tick) pbs.Reservation) pbs.Reservation {
	s.Helper()
	for ahead := s.ahead(); ; ahead *= 2 {
		r := reservation(ahead)
		err := s.reserver().Reserve(context.Background(), r)
		if grid.InstantOf(time.Now()) < r.Start || ahead > 5*minute {
			s.did("Reserve", err)
			return r
		}
		s.Logf("a reservation that was to begin in %v was made too late: %v", ahead.Duration(), err)
		if err == nil {
			s.did("Release", s.reserver().Release(context.Background(), r.ID))
		}
	}
}

// kept is the reservation as the system holds it now.
func (s *site) kept(id string) (r pbs.Reservation, there bool) {
	s.Helper()
	all, err := s.reserver().Reservations(context.Background())
	s.did("Reservations", err)
	i := slices.IndexFunc(all, func(r pbs.Reservation) bool { return r.ID == id })
	if i < 0 {
		return r, false
	}
	return all[i], true
}

// same tells whether two reservations hold the same nodes over the same time.
func same(a, b pbs.Reservation) bool {
	slices.Sort(a.Nodes)
	slices.Sort(b.Nodes)
	return a.ID == b.ID && a.Start == b.Start && a.End == b.End && slices.Equal(a.Nodes, b.Nodes)
}

func (s *site) holdsAs(r pbs.Reservation) {
	s.Helper()
	if got, there := s.kept(r.ID); !there || !same(got, r) {
		s.Errorf("reservation %s is held as %+v (%v), asked was %+v", r.ID, got, there, r)
	}
}

func (s *site) gone(id string) bool {
	_, there := s.kept(id)
	return !there
}

// bound is a job of a whole node that is bound to a reservation.
func (s *site) bound(r pbs.Reservation, nodes int, script string) grid.Submission {
	s.Helper()
	j := s.shell(script)
	j.Job.Demand, j.Reservation = s.whole(nodes), r.ID
	j.Limit = r.End - r.Start - s.reserver().Slack()
	return j
}

// Rules 1 and 5: the job that a reservation is for starts on its nodes, at its start; jobs
// of ours that are not bound to it stay out of all of it, also of nodes that its job leaves
// free; when its job has ended it is released.
func testReservedForOneJob(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	r := s.reserveSoon(10*minute, s.nodes[0].Name, s.nodes[1].Name)
	s.holdsAs(r)
	j := s.submit(s.bound(r, 1, untilGo))
	long := s.submit(s.wholly(s.shell("exit 0"))) // an hour on all nodes: it would run into it
	beside := func(nodes int) grid.Submission {
		o := s.shell("exit 0")
		o.Job.Demand, o.Limit = s.whole(nodes), minute // so that it delays nobody
		return s.submit(o)
	}
	s.end(beside(len(s.nodes) - 2))
	s.awaitFile(j, "up")
	p := s.await(j, grid.Started)
	if p.Started < r.Start-s.fuzz() || p.Started >= r.End {
		t.Errorf("it started at %d, the reservation is from %d to %d", p.Started, r.Start, r.End)
	}
	if _, names := s.where(j); len(names) != 1 || !slices.Contains(r.Nodes, names[0]) {
		t.Errorf("it runs on %v, reserved are %v", names, r.Nodes)
	}
	wide := beside(len(s.nodes) - 1)
	s.end(beside(len(s.nodes) - 2))
	for _, o := range []grid.Submission{long, wide} {
		if p := s.progress(o); p.Phase != grid.Waiting {
			t.Errorf("a job that is not bound to it is %s", p.Phase)
		}
	}
	s.release(j)
	s.end(j)
	s.until("the reservation ends with its job", func() bool { return s.gone(r.ID) })
	s.end(long)
	s.end(wide)
}

// Rules 1 and 3: jobs of others stay out of all nodes of it too.
func testReservedForOurs(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	s.need(s.hand.Submit != nil, "no jobs of others can be submitted")
	var names []grid.NodeName
	for _, n := range s.nodes {
		names = append(names, n.Name)
	}
	r := s.reserveSoon(10*minute, names...)
	theirs := s.foreign(Foreign{Other: true, Name: "theirs", Nodes: 1, Limit: grid.Hour})
	account := s.foreign(Foreign{Name: "byhand", Nodes: 1, Limit: grid.Hour})
	j := s.submit(s.bound(r, len(names), untilGo))
	s.awaitFile(j, "up")
	if theirs.exists("up") || account.exists("up") {
		t.Error("jobs of others ran on reserved nodes")
	}
	s.release(j)
	s.end(j)
	s.did("Release", s.reserver().Release(context.Background(), r.ID))
	for _, o := range []*stranger{theirs, account} {
		s.until("their job runs afterwards", func() bool { return o.exists("up") })
		o.release()
		o.await()
	}
}

// The same reservation again changes nothing, also after a restart.
func testReservedAgain(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	r := s.reservation(grid.Hour, grid.Hour, s.nodes[0].Name, s.nodes[2].Name)
	for range 2 {
		s.reserve(r)
		s.reserve(r)
		s.holdsAs(r)
		if all, err := s.reserver().Reservations(context.Background()); err != nil || len(all) != 1 {
			t.Errorf("reservations: %+v, %v", all, err)
		}
		s.restart()
	}
	if shot := s.snapshot(); len(shot.Reservations) != 1 || shot.Reservations[0].Start != r.Start || len(shot.Reservations[0].Shares) != 2 {
		t.Errorf("the plan sees %+v", shot.Reservations)
	}
	other := r
	other.End += grid.Hour
	if err := s.reserver().Reserve(context.Background(), other); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("another reservation of the same name: %v", err)
	}
	s.holdsAs(r)
	for range 2 {
		s.did("Release", s.reserver().Release(context.Background(), r.ID))
	}
	if !s.gone(r.ID) {
		t.Error("a reservation that was released is there")
	}
	s.did("Release of one that never was", s.reserver().Release(context.Background(), "nosuch"))
	if shot := s.snapshot(); len(shot.Reservations) != 0 {
		s.until("the plan sees it no more", func() bool { return len(s.snapshot().Reservations) == 0 })
	}
}

// Rule 2: none overlaps another, nor a job that may still run then.
func testReservationsNeverOverlap(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	a, b := s.nodes[0].Name, s.nodes[1].Name
	r := s.reserve(s.reservation(2*grid.Hour, grid.Hour, a, b))
	for name, change := range map[string]func(*pbs.Reservation){
		"the same":          func(*pbs.Reservation) {},
		"one of its nodes":  func(o *pbs.Reservation) { o.Nodes = []grid.NodeName{b, s.nodes[2].Name} },
		"inside":            func(o *pbs.Reservation) { o.Start, o.End = r.Start+10*minute, r.End-10*minute },
		"around":            func(o *pbs.Reservation) { o.Start, o.End = r.Start-minute, r.End+minute },
		"its last second":   func(o *pbs.Reservation) { o.Start, o.End = r.End-grid.Second, r.End+grid.Hour },
		"no such node":      func(o *pbs.Reservation) { o.Nodes = []grid.NodeName{"nosuchnode"} },
		"no node":           func(o *pbs.Reservation) { o.Nodes = nil },
		"a node twice":      func(o *pbs.Reservation) { o.Nodes = []grid.NodeName{s.nodes[2].Name, s.nodes[2].Name} },
		"an end at first":   func(o *pbs.Reservation) { o.Nodes, o.End = []grid.NodeName{s.nodes[2].Name}, o.Start },
		"an end long past":  func(o *pbs.Reservation) { o.Nodes, o.Start, o.End = []grid.NodeName{s.nodes[2].Name}, 1000, 61_000 },
		"no name":           func(o *pbs.Reservation) { o.Nodes, o.ID = []grid.NodeName{s.nodes[2].Name}, "" },
		"a name with space": func(o *pbs.Reservation) { o.Nodes, o.ID = []grid.NodeName{s.nodes[2].Name}, "a b" },
	} {
		o := r
		o.ID = fmt.Sprintf("r%d", ulids.Add(1))
		change(&o)
		if err := s.reserver().Reserve(context.Background(), o); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if !s.gone(o.ID) {
			t.Errorf("%s: something was left behind", name)
		}
	}
	next := r
	next.ID, next.Start, next.End = fmt.Sprintf("r%d", ulids.Add(1)), r.End, r.End+grid.Hour
	s.reserve(next) // they touch, and do not overlap
	s.holdsAs(r)
	holder := s.submit(s.wholly(s.shell(untilGo))) // an hour
	s.awaitFile(holder, "up")
	s.until("the job is seen running", func() bool { return len(s.snapshot().Running) == 1 })
	soon := s.reservation(minute, minute, a)
	if err := s.reserver().Reserve(context.Background(), soon); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("over a job that may still run: %v", err)
	}
	if !s.gone(soon.ID) {
		t.Error("over a job that may still run: something was left behind")
	}
	s.release(holder)
	for _, o := range []pbs.Reservation{r, next} {
		s.did("Release", s.reserver().Release(context.Background(), o.ID))
	}
}

// A reservation is shortened, lengthened and moved; where that cannot be, it stays.
func testReservationChanges(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	a, b := s.nodes[0].Name, s.nodes[1].Name
	r := s.reserve(s.reservation(2*grid.Hour, grid.Hour, a))
	other := s.reserve(s.reservation(6*grid.Hour, grid.Hour, a))
	for _, c := range []struct {
		name   string
		change func(*pbs.Reservation)
		bad    bool
	}{
		{"shorter", func(o *pbs.Reservation) { o.End -= 10 * minute }, false},
		{"longer", func(o *pbs.Reservation) { o.End += 20 * minute }, false},
		{"later", func(o *pbs.Reservation) { o.Start += grid.Hour; o.End += grid.Hour }, false},
		{"over another", func(o *pbs.Reservation) { o.Start, o.End = other.Start, other.End }, true},
		{"no such node", func(o *pbs.Reservation) { o.Nodes = []grid.NodeName{"nosuchnode"} }, true},
		{"other nodes", func(o *pbs.Reservation) { o.Nodes = []grid.NodeName{b} }, false},
	} {
		o := r
		c.change(&o)
		err := s.reserver().Change(context.Background(), o)
		switch {
		case c.bad && !errors.Is(err, grid.ErrInvalid):
			t.Errorf("%s: %v", c.name, err)
		case !c.bad && err == nil:
			r = o
		case !c.bad && !errors.Is(err, grid.ErrInvalid): // some systems cannot, and say so
			t.Errorf("%s: %v", c.name, err)
		}
		s.holdsAs(r)
		s.holdsAs(other)
	}
	unknown := r
	unknown.ID = "nosuch"
	if err := s.reserver().Change(context.Background(), unknown); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a change of none: %v", err)
	}
	for _, o := range []pbs.Reservation{r, other} {
		s.did("Release", s.reserver().Release(context.Background(), o.ID))
	}
}

// Rule 5: without its job a reservation ends by itself; what was bound to it then never
// starts outside of it. Jobs that run in one that is released go on.
func testReservationEnds(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	r := s.reserveBriefly(3*grid.Second, s.nodes[0].Name)
	running := s.reserveSoon(10*minute, s.nodes[1].Name)
	j := s.submit(s.bound(running, 1, untilGo))
	s.awaitFile(j, "up")
	s.did("Release", s.reserver().Release(context.Background(), running.ID))
	if p := s.progress(j); p.Phase != grid.Started {
		t.Errorf("the job in a released reservation is %s", p.Phase)
	}
	s.release(j)
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("the job in a released reservation ended %+v", p)
	}
	s.until("the reservation without a job ends", func() bool { return s.gone(r.ID) })
	late := s.shell("echo ran >> ran")
	late.Job.Demand, late.Reservation = s.whole(1), r.ID
	s.jobs = append(s.jobs, late)
	if _, err := s.Submit(context.Background(), late); err == nil {
		s.end(s.submit(s.wholly(s.shell("exit 0"))))
		if ok, err := s.Withdraw(context.Background(), late.ID, late.Control); !ok || err != nil {
			t.Errorf("Withdraw: %v, %v", ok, err)
		}
	} else if !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("Submit to a reservation that is gone: %v", err)
	}
	if s.exists(late, "ran") {
		t.Error("a job ran whose reservation was gone")
	}
}

// A reservation on a node that is down is refused.
func testReservationOnDownNode(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.reserver()
	s.need(s.hand.Drain != nil && s.hand.Undrain != nil, "no node can be drained")
	name := s.nodes[1].Name
	s.did("draining a node", s.hand.Drain(name))
	s.until("the node is shown as down", func() bool {
		for _, n := range s.snapshot().Nodes {
			if n.Name == name && n.Down {
				return true
			}
		}
		return false
	})
	r := s.reservation(grid.Hour, grid.Hour, s.nodes[0].Name, name)
	if err := s.reserver().Reserve(context.Background(), r); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("Reserve on a node that is down: %v", err)
	}
	if !s.gone(r.ID) {
		t.Error("something was left behind")
	}
	s.did("undraining a node", s.hand.Undrain(name))
}
