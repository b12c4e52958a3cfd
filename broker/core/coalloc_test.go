package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// fakeWholes stands for the rest of Core: it notes what is asked of it, and lets a test say what the parts do.
type fakeWholes struct {
	now     grid.Tick
	records map[grid.JobID]*grid.Record
	at      []reachable
	log     []string
	saved   grid.Allocation
	rules   gates
	kept    keeping
	shut    gate
	rounds  uint64
	said    []wire.Message
	poor    *grid.Refusal // by the budget of the user
	holds   float64
	slow    map[grid.PeerID]*grid.Refusal // of deliveries; nil: none is reserved
	learnt  []*grid.Record                // parts that are known again
	changed func(*grid.Job)               // what a save of a job brings
}

const theWhole = grid.JobID("a.01ARZ3NDEKTSV4RRFFQ69G5FAV")

func (f *fakeWholes) did(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fakeWholes) instant() grid.Tick                { return f.now }
func (f *fakeWholes) retry(int) grid.Tick               { return grid.Second }
func (f *fakeWholes) jitter(grid.Tick) grid.Tick        { return 0 }
func (f *fakeWholes) round() uint64                     { f.rounds++; return f.rounds }
func (f *fakeWholes) newStamp() uint32                  { return uint32(f.now / grid.Second) }
func (f *fakeWholes) again(grid.Tick)                   {}
func (f *fakeWholes) save(a *grid.Allocation, _ string) { f.saved = *a; f.did("save %v", a.State) }
func (f *fakeWholes) drop(grid.JobID)                   { f.did("drop") }
func (f *fakeWholes) say(to grid.PeerID, m wire.Message) {
	more := ""
	if g, is := m.(wire.Gather); is && g.Begun {
		more = " begun"
	}
	f.said = append(f.said, m)
	f.did("%v>%s%s", m.Kind(), to, more)
}

func (f *fakeWholes) whole(id grid.JobID) (*grid.Record, keeping) { return f.records[id], f.kept }
func (f *fakeWholes) tell(grid.JobID, string, grid.Tick)          {}
func (f *fakeWholes) alone(grid.JobID, string)                    { f.did("alone") }
func (f *fakeWholes) begun(grid.JobID)                            { f.did("begun") }
func (f *fakeWholes) sites(grid.JobID) []reachable                { return f.at }
func (f *fakeWholes) bytes(grid.JobID, grid.PeerID) grid.Tick     { return 0 }
func (f *fakeWholes) part(id grid.JobID) *grid.Record             { return f.records[id] }
func (f *fakeWholes) parts(grid.JobID, int) []*grid.Record {
	list := f.learnt
	f.learnt = nil
	return list
}
func (f *fakeWholes) cancel(id grid.JobID, _ string) { f.did("cancel %s", id[len(theWhole)+1:]) }
func (f *fakeWholes) delivered(part grid.JobID) {
	if f.slow != nil {
		f.did("delivered %s", part[len(theWhole)+1:])
	}
}

func (f *fakeWholes) deliver(_, part grid.JobID, to grid.PeerID, _ grid.Tick) *grid.Refusal {
	if f.slow != nil {
		f.did("deliver %s>%s", part[len(theWhole)+1:], to)
	}
	return f.slow[to]
}

func (f *fakeWholes) unhold(grid.JobID, grid.JobID) {}

func (f *fakeWholes) hold(_ grid.JobID, p *grid.AllocatedPart) *grid.Refusal {
	f.holds += float64(p.Cores) * p.Price
	return f.poor
}

func (f *fakeWholes) beforeRound(grid.JobID) gate     { return f.shut }
func (f *fakeWholes) beforeConfirming(n, of int) gate { return f.rules.beforeConfirming(n, of) }
func (f *fakeWholes) beforeGo(n, of int) gate         { return f.rules.beforeGo(n, of) }
func (f *fakeWholes) beforeAllBegun(n, of int) gate   { return f.rules.beforeAllBegun(n, of) }
func (f *fakeWholes) beforeReleasingAgain() gate      { return f.rules.beforeReleasingAgain() }
func (f *fakeWholes) offset(t grid.Tick) grid.Tick    { return f.rules.offset(t) }
func (f *fakeWholes) savesGo() bool                   { return f.rules.savesGo() }
func (f *fakeWholes) makePart(j grid.Job) {
	f.did("make %s", j.ID[len(theWhole)+1:])
	f.records[j.ID] = &grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: "a"}}
}

func (f *fakeWholes) place(id grid.JobID, to grid.PeerID, _ grid.Tick) {
	f.did("place %s>%s", id[len(theWhole)+1:], to)
	f.records[id].Owner, f.records[id].Role, f.records[id].State = to, grid.Watching, grid.Assigned
	f.changed(&f.records[id].Job)
}

func (f *fakeWholes) end(_ grid.JobID, of ending) {
	f.did("end %v", of.state)
	f.records[theWhole].State, f.records[theWhole].Reason = of.state, of.why
}

// coallocated is a machine with one whole over the sites b and c, of four nodes with four cores each.
type coallocated struct {
	*testing.T
	f *fakeWholes
	m *coallocation
}

func newCoallocated(t *testing.T, off Rules, job func(*grid.Job)) *coallocated {
	j := grid.Job{
		ID: theWhole, Home: "a", User: grid.User{Home: "a", Name: "u"}, Walltime: grid.Hour,
		Demand:       grid.Demand{Chunks: []grid.Chunk{{Count: 6, Processes: 4, Cores: 4}}},
		Coallocation: &grid.Coallocation{Sites: 2, PerSite: 1},
	}
	if job != nil {
		job(&j)
	}
	f := &fakeWholes{
		now: 1_800_000_000_000, records: map[grid.JobID]*grid.Record{}, rules: gates{kernel: &kernel{cfg: Config{Broken: off}}},
		at: []reachable{{peer: "b", name: "bb"}, {peer: "c", name: "cc"}},
	}
	f.records[theWhole] = &grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: "a"}}
	m := newCoallocation(Coallocating{})
	m.wholes, f.changed = f, m.saved
	m.accepted(theWhole)
	return &coallocated{t, f, m}
}

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

// settled is what was done since.
func (c *coallocated) settled() string {
	c.m.settle()
	c.f.did("")
	text := strings.TrimSuffix(strings.Join(c.f.log, ", "), ", ")
	c.f.log = nil
	return text
}

func (c *coallocated) want(want string) {
	c.Helper()
	if got := c.settled(); got != want {
		c.Fatalf("in %v it did\n%s\nnot\n%s", c.rec().State, got, want)
	}
}

func (c *coallocated) rec() *grid.Allocation { return &c.m.all[theWhole].rec }

// pass lets time go by.
func (c *coallocated) pass(span grid.Tick) {
	c.f.now += span
	c.m.dueNow()
}

// slots answers for a site whose clock is so far ahead.
func (c *coallocated) slots(from grid.PeerID, ahead grid.Tick, nodes int) {
	c.slotsOf(theWhole, from, ahead, nodes)
}

func (c *coallocated) slotsOf(id grid.JobID, from grid.PeerID, ahead grid.Tick, nodes int) {
	m := wire.SlotsReply{
		Of: id, Round: c.f.rounds, Site: grid.Site{Name: grid.SiteName(from + from), Processes: 16, Speed: 1},
		Clock: wire.Clocks{Asked: c.f.now, Received: c.f.now + ahead, Answered: c.f.now + ahead}, Estimate: grid.Estimate{Refusal: forNow("too wide")},
	}
	for n := range nodes {
		m.Slots = append(m.Slots, grid.Slot{Node: grid.NodeName(fmt.Sprint(from, n)), Start: c.f.now + ahead, End: c.f.now + ahead + 8*grid.Hour, Cores: 4})
	}
	c.m.onSlotsReply(from, m)
}

// of is the reservation at a site in the present round.
func (c *coallocated) of(p grid.PeerID) *grid.AllocatedPart {
	list := c.m.all[theWhole].current()
	return list[slices.IndexFunc(list, func(x *grid.AllocatedPart) bool { return x.Peer == p })]
}

func (c *coallocated) reserved(from grid.PeerID, of wire.Kind, state grid.ReservationState) {
	c.m.onReserved(from, wire.Reserved{Of: of, Reservation: grid.Reservation{ID: c.of(from).Reservation, State: state}})
}

// part changes the record of the part at a site.
func (c *coallocated) part(at grid.PeerID, change func(r *grid.Record)) {
	r := c.f.records[c.of(at).Job]
	change(r)
	c.m.saved(&r.Job)
}

// upTo takes a whole to a state of its first round.
func (c *coallocated) upTo(state grid.AllocationState) {
	c.Helper()
	step := func(do func()) {
		do()
		c.settled()
	}
	step(func() {})
	step(func() { c.slots("b", 0, 4); c.slots("c", 0, 4) })
	for at := c.rec().State; at < state; at = c.rec().State {
		switch at {
		case grid.Reserving:
			step(func() { c.reserved("b", wire.KindReserve, grid.Tentative) })
			step(func() { c.reserved("c", wire.KindReserve, grid.Tentative) })
		case grid.Confirming:
			step(func() {
				c.reserved("b", wire.KindConfirm, grid.Confirmed)
				c.reserved("c", wire.KindConfirm, grid.Confirmed)
			})
		case grid.Gathering:
			step(func() {
				c.part("b", func(r *grid.Record) { r.Arrived = c.f.now })
				c.part("c", func(r *grid.Record) { r.Arrived = c.f.now })
			})
		case grid.Going:
			step(func() {
				c.part("b", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
				c.part("c", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
			})
		default:
			c.Fatalf("it stays in %v: %s", at, c.rec().Reason)
		}
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
