package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home whose journal was put back makes a round again: the names of its reservations are others than those that a site
// may still have from the first time.
func TestARoundAgainHasOtherReservations(t *testing.T) {
	t.Parallel()
	first, again := newCoallocated(t, 0, nil), newCoallocated(t, 0, nil)
	again.f.now += grid.Minute
	for _, c := range []*coallocated{first, again} {
		c.upTo(grid.Reserving)
	}
	if a, b := first.of("b"), again.of("b"); a.Job != b.Job || a.Reservation == b.Reservation {
		t.Errorf("part %s has %s, and again %s", b.Job, a.Reservation, b.Reservation)
	}
}

// A part of an earlier round has begun, and the home had forgotten it: the whole is over when that part is.
func TestAWholeEndsAfterTheLastOfItsParts(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.settled()
	c.m.all[theWhole].rec.Round = 2
	c.m.all[theWhole].rec.Parts = []grid.AllocatedPart{{Round: 1, Peer: "b", Job: theWhole + ".1", Made: true, Begun: true}}
	r := &grid.Record{Job: grid.Job{ID: theWhole + ".1", Part: &grid.Part{Of: theWhole, Round: 1}}, State: grid.Running, Run: grid.Run{Started: 1}}
	c.f.records[r.Job.ID] = r
	c.m.saved(&r.Job)
	if c.settled(); c.rec().State != grid.Planned || c.f.records[theWhole].State.Terminal() {
		t.Fatalf("it is %v while a part runs", c.f.records[theWhole].State)
	}
	r.State, r.End = grid.Killed, grid.Killed
	c.m.saved(&r.Job)
	c.f.shut = untilAll
	if c.settled(); c.f.records[theWhole].State.Terminal() {
		t.Fatal("it ends before all were asked: another part may run")
	}
	c.f.shut = open
	c.pass(grid.Second)
	if c.settled(); c.f.records[theWhole].State != grid.Failed {
		t.Errorf("it is %v when the part has ended", c.f.records[theWhole].State)
	}
}

// Two parts that the journal has lost come back, the later one first: both are taken up, and what has ended is not.
func TestPartsComeBackInAnyOrder(t *testing.T) {
	t.Parallel()
	part := func(n int, state grid.State) grid.Record {
		j := jobOf(me, "a", "1")
		j.ID = partID(theWhole, n)
		j.Part = &grid.Part{Of: theWhole, Round: 1}
		return grid.Record{Job: j, State: state, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
	}
	c := signed(part(2, grid.Completed), part(3, grid.Running), part(4, grid.Running))
	var got []int
	for _, r := range (&wholeJobs{kernel: c.kernel}).parts(theWhole, 3) {
		got = append(got, r.Job.ID.PartNumber())
	}
	if !slices.Equal(got, []int{3, 4}) {
		t.Errorf("after the third: %v", got)
	}
}

// A home whose journal was put back to before a whole was handed in learns its parts again, and nobody sees to them: one
// that waits at its site is cancelled, and what runs ends by itself.
func TestPartsWithoutTheirWholeAreCancelled(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state   grid.State
		since   bool
		cancels bool
	}{
		"it waits":                             {grid.Assigned, false, true},
		"it runs":                              {grid.Running, true, false},
		"it runs, and nobody knows since when": {grid.Running, false, false},
	} {
		part, at := jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 1}
		whole := part.ID
		part.ID = partID(whole, 1)
		part.Part = &grid.Part{Of: whole, Round: 1, Sites: []grid.PartSite{{Name: "b", Processes: 1}}}
		c := signed()
		c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		proof := []grid.Certificate{certificate(part, me, 1, her)}
		c.Step(c.now+1, Message{her, wire.Recalled{Job: part, Epoch: at, Owning: true, Certificates: proof}})
		if c.jobs[part.ID].rec.CancelRequested {
			t.Errorf("%s: it is to be cancelled, and its owner was not heard", name)
		}
		report := wire.Report{Job: part.ID, Epoch: at, Number: 1, State: k.state, Attempt: 1, Certificates: proof, Version: wire.JobDigest(part)}
		report.Started.Known = k.since
		cancels := false
		for _, m := range sentTo(c.Step(c.now+1, Message{her, report}), her) {
			cancels = cancels || m.Kind() == wire.KindCancel
		}
		if cancels != k.cancels {
			t.Errorf("%s: its end is asked for: %t", name, cancels)
		}
	}
}
