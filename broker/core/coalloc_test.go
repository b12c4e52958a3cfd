package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What the journal has said changes by a save alone, though the parts of it change where they lie.
func TestTheJournalsAllocationIsLeft(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	journal := []grid.Allocation{{Of: theWhole, Parts: []grid.AllocatedPart{{Job: "p", Reservation: "r"}}}}
	c.m.take(journal)
	c.rec().Parts[0].Fate = grid.Completed
	if journal[0].Parts[0].Fate != 0 {
		t.Error("it says what was not saved")
	}
}

// A whole from its slots to its end: each step only after all have said so.
func TestCoallocationAlone(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.want("save PLANNED, Slots>b, Slots>c")
	c.slots("b", 0, 4)
	c.want("")
	c.slots("c", 3*grid.Second, 4)
	c.want("save RESERVING, save RESERVING, Reserve>b")
	if p := c.of("c"); p.Offset != 3*grid.Second || p.Start != c.of("b").Start+3*grid.Second || p.Start%grid.Second != 0 {
		t.Errorf("the part at c starts at %d, the other at %d", p.Start, c.of("b").Start)
	}
	c.pass(grid.Second)
	c.want("Reserve>b")
	c.reserved("b", wire.KindReserve, grid.Tentative)
	c.want("save RESERVING, save RESERVING, Reserve>c")
	c.reserved("c", wire.KindReserve, grid.Tentative)
	c.want("save RESERVING, save CONFIRMING, Confirm>b, Confirm>c")
	c.reserved("c", wire.KindConfirm, grid.Confirmed)
	c.want("save CONFIRMING")
	c.reserved("b", wire.KindConfirm, grid.Confirmed)
	got := c.settled()
	if !strings.HasPrefix(got, "save CONFIRMING, save STAGING, save STAGING, make 1, place 1>b, save STAGING, make 2, place 2>c, save GATHERING") {
		t.Fatal(got)
	}
	c.part("b", func(r *grid.Record) { r.Arrived, r.Hosts = c.f.now, []string{"b0:4"} })
	c.want("save GATHERING")
	c.part("c", func(r *grid.Record) { r.Arrived = c.f.now })
	c.want("save GATHERING, save GO, Gather>b, Gather>c")
	c.part("c", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
	c.want("save GO")
	c.pass(grid.Second)
	c.want("Gather>b")
	c.part("b", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
	c.want("save GO, save BEGUN, begun, Gather>b begun, Gather>c begun")
	for _, at := range []grid.PeerID{"b", "c"} {
		c.part(at, func(r *grid.Record) {
			r.State, r.End, r.HasExit, r.Usage.CPU, r.Outputs = grid.Completed, grid.Completed, true, 5, grid.Manifest{{Path: "out"}}
		})
	}
	c.want("save BEGUN, save OVER, end COMPLETED, Release>b, Release>c")
	c.pass(grid.Second)
	c.want("Release>b, Release>c")
	c.reserved("b", wire.KindRelease, 0)
	c.reserved("c", wire.KindRelease, grid.Released)
	c.want("save OVER, save OVER")
	c.pass(grid.Hour)
	c.want("")
}

// Whatever is missing at start and grace, the round is given up: parts are cancelled, reservations released until
// that is heard, and sites asked again.
func TestRoundGivenUp(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.AllocationState{grid.Confirming, grid.Gathering} {
		c := newCoallocated(t, 0, nil)
		c.upTo(state)
		b, d := c.of("b").Reservation, c.of("c").Reservation
		c.pass(30*grid.Second + c.m.cfg.Grace)
		if got := c.settled(); c.rec().State != grid.Planned || c.rec().Go != 0 || strings.Contains(got, "Gather") {
			t.Fatalf("%v: %v, %s", state, c.rec().State, got)
		}
		for _, p := range []grid.PeerID{"b", "c"} {
			if of := c.of(p); of.Made {
				c.part(p, func(r *grid.Record) { r.State, r.End = grid.Killed, grid.Killed })
			}
		}
		c.pass(grid.Second)
		if got := c.settled(); !strings.Contains(got, "Release>b, Release>c") {
			t.Fatalf("%v: %s", state, got)
		}
		c.pass(grid.Minute)
		if got := c.settled(); !strings.Contains(got, "Slots>b, Slots>c") || !strings.Contains(got, "Release>b, Release>c") {
			t.Fatalf("%v: %s", state, got)
		}
		c.slots("b", 0, 4)
		c.slots("c", 0, 4)
		c.settled()
		if p := c.of("b"); c.rec().Round != 2 || p.Job != c.rec().PartID(3) || p.Reservation == b || p.Reservation == d {
			t.Fatalf("the second round is %+v", p)
		}
	}
}

// A site that refuses is not asked for that again so soon; what was reserved is released.
func TestRefusedReservation(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	c.reserved("b", wire.KindReserve, grid.Tentative)
	c.settled()
	nodes := c.of("c").Nodes
	c.m.onReserved("c", wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: c.of("c").Reservation}, Refusal: forNow("taken")})
	if got := c.settled(); c.rec().State != grid.Planned || !strings.Contains(got, "Release>b") || strings.Contains(got, "Release>c") {
		t.Fatalf("%v: %s", c.rec().State, got)
	}
	c.pass(8 * grid.Second)
	c.settled()
	c.slots("b", 0, 4)
	c.slots("c", 0, 6)
	c.settled()
	if c.rec().State != grid.Reserving || slices.ContainsFunc(c.of("c").Nodes, func(n grid.NodeName) bool { return slices.Contains(nodes, n) }) {
		t.Fatalf("%v: %v again after %v", c.rec().State, c.of("c").Nodes, nodes)
	}
}

// What a site has refused may be free soon after: a job that has ended may be in its list for a moment. Where nothing else is left it is
// asked for again.
func TestRefusedForAMoment(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	c.reserved("b", wire.KindReserve, grid.Tentative)
	c.settled()
	nodes := len(c.of("c").Nodes)
	c.m.onReserved("c", wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: c.of("c").Reservation}, Refusal: forNow("taken")})
	c.settled()
	for _, state := range []grid.AllocationState{grid.Planned, grid.Reserving} {
		c.pass(8 * grid.Second)
		c.settled()
		c.slots("b", 0, 4)
		c.slots("c", 0, nodes)
		c.settled()
		if c.rec().State != state {
			t.Fatalf("%v where %v should be", c.rec().State, state)
		}
		c.pass(12 * grid.Second)
	}
}

// After GO a round is followed by another only if no part has begun, or the program may run twice.
func TestBegunInVain(t *testing.T) {
	t.Parallel()
	for _, rerunnable := range []bool{false, true} {
		for _, begun := range []bool{false, true} {
			c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = rerunnable })
			c.upTo(grid.Going)
			if begun {
				c.part("b", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
			}
			c.part("c", func(r *grid.Record) { r.State, r.End = grid.Failed, grid.Failed })
			got := c.settled()
			if c.rec().State != grid.GivingUp && !rerunnable || rerunnable && c.rec().State != grid.Planned || !strings.Contains(got, "cancel 1") {
				t.Fatalf("rerunnable %t, begun %t: %v: %s", rerunnable, begun, c.rec().State, got)
			}
			c.part("b", func(r *grid.Record) { r.State, r.End = grid.Killed, grid.Killed })
			c.settled()
			want := grid.Planned
			if begun && !rerunnable {
				want = grid.Over
			}
			if c.f.saved.Go == 0 { // what leaves with that save may tell a part to go
				t.Errorf("rerunnable %t, begun %t: it is not on disk that it went", rerunnable, begun)
			}
			if c.rec().State != want || want == grid.Over && c.f.records[theWhole].State != grid.Failed {
				t.Fatalf("rerunnable %t, begun %t: %v, %v", rerunnable, begun, c.rec().State, c.f.records[theWhole].State)
			}
		}
	}
}

// A part that this journal did not know, and that has begun, keeps its program from another round.
func TestLearntPartHasBegun(t *testing.T) {
	t.Parallel()
	for _, rerunnable := range []bool{false, true} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = rerunnable })
		j := grid.Job{ID: c.rec().PartID(3), Reservation: "r3", Part: &grid.Part{Of: theWhole, Round: 2, Sites: []grid.PartSite{{Name: "bb", Processes: 4}}}}
		c.f.records[j.ID] = &grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: "b"}, Run: grid.Run{Started: 1}}
		c.f.learnt = []*grid.Record{c.f.records[j.ID]}
		got := c.settled()
		if c.rec().State != grid.Planned || !strings.Contains(got, "cancel 3") || c.rec().Round != 3 || c.rec().Last != 3 {
			t.Errorf("rerunnable %t: %v in round %d: %s", rerunnable, c.rec().State, c.rec().Round, got)
		}
		c.f.records[j.ID].State = grid.Killed
		c.m.saved(&j)
		if c.settled(); (c.rec().State == grid.Over) == rerunnable {
			t.Errorf("rerunnable %t: %v when it has ended", rerunnable, c.rec().State)
		}
	}
}

// A restart at each step goes on: what the state asks for is said again, and nothing that comes later.
func TestCoallocationRestarted(t *testing.T) {
	t.Parallel()
	for state, want := range map[grid.AllocationState]string{
		grid.Reserving: "Reserve>b", grid.Confirming: "Confirm>b, Confirm>c", grid.Gathering: "Confirm>b, Confirm>c",
		grid.Going: "Gather>b, Gather>c, Confirm>b, Confirm>c", grid.Together: "Gather>b begun, Gather>c begun",
	} {
		c := newCoallocated(t, 0, nil)
		c.upTo(state)
		m := newCoallocation(Coallocating{})
		m.wholes, c.f.changed = c.f, m.saved
		m.take([]grid.Allocation{c.f.saved})
		c.m = m
		if got := c.settled(); got != want || c.rec().State != state {
			t.Errorf("%v: %s, then %v; not %s", state, got, c.rec().State, want)
		}
	}
}

// The user's wish to cancel reaches all parts; the whole ends when they have.
func TestCoallocationCancelled(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.AllocationState{grid.Reserving, grid.Gathering, grid.Together} {
		c := newCoallocated(t, 0, nil)
		c.upTo(state)
		c.f.records[theWhole].CancelRequested = true
		c.m.stale[theWhole] = true
		got := c.settled()
		if state >= grid.Gathering {
			if !strings.Contains(got, "cancel 1, cancel 2") || c.rec().State == grid.Over {
				t.Fatalf("%v: %s", state, got)
			}
			for _, p := range []grid.PeerID{"b", "c"} {
				c.part(p, func(r *grid.Record) { r.State, r.End = grid.Killed, grid.Killed })
			}
			got = c.settled()
		}
		if c.rec().State != grid.Over || c.f.records[theWhole].State != grid.Killed || !strings.Contains(got, "Release>b") {
			t.Errorf("%v: %v, %v: %s", state, c.rec().State, c.f.records[theWhole].State, got)
		}
	}
}

// A part that fails ends the others, unless the job says otherwise; its end is the whole's.
func TestPartFails(t *testing.T) {
	t.Parallel()
	for _, survive := range []bool{false, true} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Survive = survive })
		c.upTo(grid.Together)
		c.part("c", func(r *grid.Record) { r.State, r.End, r.HasExit, r.ExitCode = grid.Completed, grid.Completed, true, 3 })
		if got := c.settled(); strings.Contains(got, "cancel 1") == survive {
			t.Errorf("survive %t: %s", survive, got)
		}
		c.part("b", func(r *grid.Record) {
			if r.State, r.End = grid.Killed, grid.Killed; survive {
				r.State, r.End, r.HasExit = grid.Completed, grid.Completed, true
			}
		})
		if got := c.settled(); !strings.Contains(got, "end COMPLETED") {
			t.Errorf("survive %t: %s", survive, got)
		}
	}
}

// Each rule, switched off, is seen at its step.
func TestRulesOfCoallocation(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, ConfirmBeforeAllTentative, nil)
	c.upTo(grid.Reserving)
	c.reserved("b", wire.KindReserve, grid.Tentative)
	if got := c.settled(); !strings.Contains(got, "Confirm>b") {
		t.Error(got)
	}
	c = newCoallocated(t, GoBeforeAllThere, nil)
	c.upTo(grid.Gathering)
	c.part("b", func(r *grid.Record) { r.Arrived = c.f.now })
	if got := c.settled(); !strings.Contains(got, "Gather>b") {
		t.Error(got)
	}
	c = newCoallocated(t, GoUnsaved, nil)
	c.upTo(grid.Going)
	if c.f.saved.State != grid.Gathering {
		t.Errorf("GO is on disk: %v", c.f.saved.State)
	}
	c = newCoallocated(t, BegunWithoutOthers, nil)
	c.upTo(grid.Going)
	c.part("b", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
	if got := c.settled(); !strings.Contains(got, "Gather>b begun") {
		t.Error(got)
	}
	c = newCoallocated(t, ReleaseNotRepeated, nil)
	c.upTo(grid.Confirming)
	c.pass(c.m.cfg.Grace + grid.Minute)
	c.settled()
	c.pass(grid.Minute)
	if got := c.settled(); strings.Contains(got, "Release") {
		t.Error(got)
	}
	c = newCoallocated(t, ClockOffsetIgnored, nil)
	c.settled()
	c.slots("b", grid.Minute, 4)
	c.slots("c", 0, 4)
	c.settled()
	if c.of("b").Offset != 0 {
		t.Errorf("its clock is %v ahead", c.of("b").Offset)
	}
}
