package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/plan"
)

// keeps is a batch system of which only its reservations and nodes are asked.
type keeps struct {
	pbs.System
	pbs.Reserver
	all  []pbs.Reservation
	shot plan.Snapshot
	err  error
}

func (k *keeps) Reservations(context.Context) ([]pbs.Reservation, error) { return k.all, k.err }
func (k *keeps) Snapshot(context.Context) (plan.Snapshot, error)         { return k.shot, k.err }

// The broker hears of what it holds itself, with those of the nodes that are down; what was made by hand is not its own.
func TestReservationsThatAreHeld(t *testing.T) {
	t.Parallel()
	k := &keeps{
		all:  []pbs.Reservation{{ID: "r1", Nodes: []grid.NodeName{"a", "b", "new"}, Start: 10, End: 20, Others: []string{"7"}}, {ID: handOwner + "x", Nodes: []grid.NodeName{"a"}}},
		shot: plan.Snapshot{Nodes: []plan.Node{{Name: "a"}, {Name: "b", Down: true}}},
	}
	v := &reserver{&site{batch: k}, k}
	got, err := v.Reservations(t.Context())
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if h := got[0]; h.ID != "r1" || h.Place.Start != 10 || h.Place.End != 20 || len(h.Place.Nodes) != 3 || !slices.Equal(h.Down, []grid.NodeName{"b"}) || !slices.Equal(h.Others, []string{"7"}) {
		t.Errorf("%+v", h)
	}
	k.err = grid.ErrUnavailable
	if got, err := v.Reservations(t.Context()); !errors.Is(err, grid.ErrUnavailable) || got != nil {
		t.Errorf("of a system that does not answer: %+v, %v", got, err)
	}
}

// A job goes to the site of its reservation; one that is over, or for another job, takes none.
func TestBoundToAReservation(t *testing.T) {
	t.Parallel()
	s := service{&site{self: "me", facts: grid.Site{Name: "here"}, members: []grid.Member{{Name: "there", Peer: "her"}}}}
	for site, name := range map[grid.PeerID]grid.SiteName{"": "here", "me": "here", "her": "there"} {
		j := grid.Job{}
		if err := s.bind(&j, grid.Reservation{ID: "r1", Site: site, State: grid.Confirmed}); err != nil || j.Reservation != "r1" || !slices.Equal(j.Sites.Only, []grid.SiteName{name}) {
			t.Errorf("of %q: %+v, %v", site, j.Sites, err)
		}
	}
	for _, r := range []grid.Reservation{{State: grid.Released}, {State: grid.Confirmed, For: "a.1"}} {
		j := grid.Job{}
		if err := s.bind(&j, r); !errors.Is(err, grid.ErrInvalid) || j.Reservation != "" {
			t.Errorf("%v for %q: %v", r.State, r.For, err)
		}
	}
}

// What is of this home is not asked for elsewhere.
func TestNothingOfHereIsForwarded(t *testing.T) {
	t.Parallel()
	if known, err := (elsewhere{&site{self: "me"}}).Forward(nil, nil, api.Pass{Home: "me"}); known || err != nil {
		t.Errorf("%v, %v", known, err)
	}
}

// Interfaces for this machine alone have addresses of it alone, and numbers of ports.
func TestLoopback(t *testing.T) {
	t.Parallel()
	for s, is := range map[string]bool{
		"": true, "127.0.0.1:4080": true, "[::1]:1": true, "localhost:65535": true,
		"127.0.0.1": false, "127.0.0.1:http": false, "127.0.0.1:65536": false, "10.0.0.1:80": false, ":80": false, "example.org:80": false,
	} {
		if got, err := loopback(s); (err == nil) != is || is && got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

// A job names a reservation of its user that is free; it goes to no other, and to none that nobody here has.
func TestAJobInAReservation(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	hour := time.Hour.Milliseconds()
	reserve := func(after int64) grid.ReservationID {
		t.Helper()
		h, err := a.Reserve(t.Context(), api.ReservationRequest{Nodes: 1, Cores: 2, From: api.Time(time.Now().UnixMilli() + after), Span: 3600})
		if err != nil || h.State != "CONFIRMED" {
			t.Fatalf("%+v, %v", h, err)
		}
		return h.ID
	}
	first, second := reserve(hour), reserve(3*hour)
	in := func(key string, id grid.ReservationID) error {
		_, err := a.Submit(t.Context(), api.Submission{Key: key, Name: "j.jsdl", Document: documentOf(key, "true", 1), Reservation: id})
		return err
	}
	if err := in("none", "r0"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("in one that nobody has: %v", err)
	}
	if err := in("one", second); err != nil {
		t.Error(err)
	}
	a.soon("the second is for the job", func() bool {
		list, err := a.Reservations(t.Context())
		return err == nil && slices.ContainsFunc(list, func(h api.HeldReservation) bool { return h.ID == second && h.Job != nil }) &&
			slices.ContainsFunc(list, func(h api.HeldReservation) bool { return h.ID == first && h.Job == nil })
	})
	if err := in("one", second); err != nil {
		t.Errorf("handed in again: %v", err)
	}
	if h, err := a.ReleaseReservation(t.Context(), first); err != nil || h.State != "RELEASED" {
		t.Errorf("%+v, %v", h, err)
	}
	if err := in("late", first); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("in one that is over: %v", err)
	}
}

// The embedded system's listing is its own memory; of one that is polled an attempt may be missing for some polls.
func TestGraceOfVanishedAttempts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system  string
		refresh time.Duration
		want    grid.Tick
	}{{Embedded, time.Hour, 10 * grid.Second}, {Pool, time.Hour, 10 * grid.Second}, {Slurm, 10 * time.Second, 2 * grid.Minute}, {Torque, time.Minute, 6 * grid.Minute}} {
		cfg := Config{}
		cfg.Batch.System, cfg.Batch.Refresh = c.system, c.refresh
		if got := cfg.grace(); got != c.want {
			t.Errorf("%s, polled each %v: %v", c.system, c.refresh, got)
		}
	}
}

// What is said of a reservation that takes no job names what has ended it, or the job that has it.
func TestStateOfAReservationInWords(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]grid.Reservation{
		"RELEASED: given up by root": {State: grid.Released, Reason: "given up by root"}, "RELEASED": {State: grid.Released, For: "a.1"},
		"BOUND, of job a.1": {State: grid.Bound, For: "a.1"}, "CONFIRMED": {State: grid.Confirmed, Reason: "x"},
		"LOST: it is gone": {State: grid.ReservationLost, Reason: "it is gone", For: "a.1"},
	} {
		if got := stateInWords(&r); got != want {
			t.Errorf("%q, and not %q", got, want)
		}
	}
}

// A job that may have several sites reserves by itself: it is not guaranteed one.
func TestNoGuaranteeOverSeveralSites(t *testing.T) {
	t.Parallel()
	j := grid.Job{Coallocation: &grid.Coallocation{Sites: 2, PerSite: 1}}
	_, err := service{}.reserved(t.Context(), api.Identity{}, &j, api.NewJob{Guaranteed: true})
	if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "leave out one of the two") || j.Guaranteed != nil {
		t.Errorf("%v, %+v", err, j)
	}
}
