package core

import (
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What a home knows of a run is of that which is reported: the first word of an owner, and each of another attempt, begins it anew.
func TestAReportOfAnotherRun(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		heard   uint64 // the number of the last report
		attempt uint32
		kept    bool
	}{
		"the first word": {0, 1, false}, "one more of it": {1, 1, true}, "a later one": {7, 1, true}, "of the next attempt": {7, 2, false},
	} {
		o := &others{}
		r := watched(jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 2})
		r.Report, r.Run = k.heard, grid.Run{Attempt: 1, Started: 999_500}
		kern := kernelOf(o, r)
		m := &home{kernel: kern, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}
		j := kern.jobs[r.Job.ID]
		m.apply(j, her, wire.Report{Job: r.Job.ID, Number: k.heard + 1, State: grid.Running, Attempt: k.attempt, Started: wire.Ago{Span: 400, Known: true}})
		if want := map[bool]grid.Tick{true: 999_500, false: kern.now - 400}[k.kept]; j.rec.Started != want {
			t.Errorf("%s: %+v", name, j.rec.Run)
		}
	}
}

// A site takes as many offers at once as it has room for.
func TestHowManyOffersASiteTakes(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[int]uint32{0: maxTake, maxAccepted - maxTake: maxTake, maxAccepted - 3: 3, maxAccepted: 0, maxAccepted + 1: 0} {
		k := kernelOf(&others{})
		m := &estimator{kernel: k, execution: &others{}, home: &others{}, ownership: &others{}, search: &others{}}
		for n := range accepted {
			k.accepted[grid.NewJobID("b", string(rune('A'+n)))] = &acceptance{}
		}
		s := shot(k.now).Snapshot
		if got := m.answer(planOf(k, k.now), s, pendingEstimate{from: her}).Take; got != want {
			t.Errorf("with %d accepted it takes %d, not %d", accepted, got, want)
		}
	}
}

// The next Core of a host hears the last word of each peer, and no earlier one.
func TestWhatAHostRemembers(t *testing.T) {
	t.Parallel()
	h := &Host{}
	for _, live := range []grid.Liveness{grid.Dead, grid.Alive} {
		for _, p := range []grid.PeerID{him, her} {
			h.remember(PeerSite{Peer: p})
			h.remember(LinkChanged{Peer: p, Link: grid.Link{RTT: grid.Tick(live)}})
			h.remember(PeerJournal{Peer: p})
			h.remember(PeerChanged{p, live})
		}
		h.remember(Tick{})
	}
	want := []Event{
		PeerSite{Peer: her}, LinkChanged{Peer: her, Link: grid.Link{RTT: grid.Tick(grid.Alive)}}, PeerJournal{Peer: her}, PeerChanged{her, grid.Alive},
		PeerSite{Peer: him}, LinkChanged{Peer: him, Link: grid.Link{RTT: grid.Tick(grid.Alive)}}, PeerJournal{Peer: him}, PeerChanged{him, grid.Alive},
	}
	if got := h.remembered(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// The reservations of the batch system are listed so often, and not more often.
func TestHowOftenReservationsAreListed(t *testing.T) {
	t.Parallel()
	for since, lists := range map[grid.Tick]bool{0: false, listEvery - 1: false, listEvery: true, listEvery + 1: true} {
		d := newDesk(t, 1)
		d.work()
		m := d.core.reservations
		m.listed, m.listing, m.out = m.now-since, false, nil
		m.due()
		if _, did := only[ListReservations](m.out); did != lists {
			t.Errorf("%d after the last list: %v", since, did)
		}
	}
}

// Leases are renewed of a round that is confirmed and goes on, and of parts that have not begun.
func TestWhichLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	for state := grid.Reserving; state <= grid.GivingUp; state++ {
		for _, begun := range []bool{false, true} {
			c, a, _ := withPart(t, state, grid.AllocatedPart{Made: true, Heard: grid.Confirmed, Begun: begun})
			c.m.renew(a)
			if got, want := len(c.f.said) > 0, !begun && state >= grid.Staging && state <= grid.Together; got != want {
				t.Errorf("%v, begun: %v: renewed: %v", state, begun, got)
			}
		}
	}
}

// A job of a group that is removed goes once, and after its end.
func TestWhichJobsOfAGroupAreRemoved(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state   grid.State
		removed bool
		goes    bool
	}{"it runs": {grid.Running, false, false}, "it has ended": {grid.Completed, false, true}, "it was removed": {grid.Completed, true, false}} {
		o := &others{}
		kern := kernelOf(o, grid.Record{Job: jobOf(me, "a", "1"), State: k.state, Ended: 999_000, Submitted: 999_000, AtHome: grid.AtHome{Removed: k.removed}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her}})
		m := memberJobs{&home{kernel: kern, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}}
		m.removeJob(jobOf(me, "a", "1").ID)
		if m.removeJob("a.unknown"); (len(kern.out) > 0) != k.goes {
			t.Errorf("%s: %v", name, kern.out)
		}
	}
}

// What a member of which nothing is known would answer is not foreseen: at the least nothing, at the most it has not been asked.
func TestWhatAnUnknownMemberWouldAnswer(t *testing.T) {
	t.Parallel()
	m := &search{kernel: kernelOf(&others{})}
	j := &job{rec: grid.Record{Job: jobOf(me, "a", "1")}}
	if least, most := m.waits(j, &member{}); least != (grid.Estimate{}) || most.Refusal == nil || most.Refusal.Reason != notAsked {
		t.Errorf("it has told no speed: %+v, %+v", least, most)
	}
}
