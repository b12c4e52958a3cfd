package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A clock that was set back between two lives of a broker puts nothing off: sites are asked again as soon as ever.
func TestAClockSetBackPutsNoRoundOff(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	later := c.f.now + 5*grid.Hour
	c.rec().Next, c.rec().Go, c.rec().Begun = later, later, later
	c.rec().Refused = []grid.RefusedSlot{{Peer: "b", At: c.f.now - 1}, {Peer: "c", At: later}}
	c.m.recover(nil)
	if r := c.rec(); r.Next > c.f.now+c.m.cfg.Rest || r.Go > c.f.now || r.Begun > c.f.now || len(r.Refused) != 1 || r.Refused[0].Peer != "b" {
		t.Errorf("next %d, go %d, begun %d at %d, refused %v", r.Next, r.Go, r.Begun, c.f.now, r.Refused)
	}
}

// Of a round that the journal has lost one part is known again, the first of three: the numbers of the others are not used
// again, as who had them may be silent.
func TestThePartsOfALostRoundHadNumbers(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = true })
	sites := []grid.PartSite{{Name: "bb", Processes: 4}, {Name: "cc", Processes: 4}, {Name: "dd", Processes: 4}}
	j := grid.Job{ID: c.rec().PartID(4), Reservation: "r4", Part: &grid.Part{Of: theWhole, Round: 2, Rank: 0, Sites: sites}}
	c.f.records[j.ID] = &grid.Record{Job: j, State: grid.Completed, Run: grid.Run{End: grid.Completed}}
	c.f.learnt = []*grid.Record{c.f.records[j.ID]}
	c.upTo(grid.Reserving)
	if b, d := c.of("b").Job, c.of("c").Job; b != c.rec().PartID(7) || d != c.rec().PartID(8) {
		t.Errorf("the parts of the next round are %s and %s", b, d)
	}
}

// A part was made by a branch that is lost of a round that this journal has still to confirm: the round is given up, and
// what has begun is seen.
func TestARoundThatWentFurther(t *testing.T) {
	t.Parallel()
	for _, begun := range []grid.Tick{0, 1} {
		c := newCoallocated(t, 0, nil)
		c.upTo(grid.Confirming)
		p := *c.of("c")
		r := &grid.Record{Job: grid.Job{ID: p.Job, Part: &grid.Part{Of: theWhole, Round: 1}}, State: grid.Running, Run: grid.Run{Started: begun}}
		c.f.records[p.Job] = r
		c.m.saved(&r.Job)
		if c.settled(); c.rec().State != grid.GivingUp {
			t.Fatalf("begun at %d: %v", begun, c.rec().State)
		}
		r.State, r.End = grid.Killed, grid.Killed
		c.m.saved(&r.Job)
		if c.settled(); c.f.records[theWhole].State.Terminal() != (begun > 0) {
			t.Errorf("begun at %d: it is %v when the part has ended", begun, c.f.records[theWhole].State)
		}
	}
}

// wholeRecord is a job of this home over several sites, which waits.
func wholeRecord() grid.Record {
	j := jobOf(me, "a", "1")
	j.Walltime = grid.Hour
	j.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 1}
	return grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
}

// What is left of a part that the journal has lost is a control directory here, a word beside the journal, or a trace at a
// member that has lost it too: it counts as begun until it is known that it did not, and what may not run twice has ended.
func TestAPartThatOnlyTracesTellOf(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	id := partID(whole.Job.ID, 3)
	attempt := grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 2}
	start := func(told ...grid.Record) *Core {
		cfg := signer(me, "a")
		cfg.Allocations = []grid.Allocation{{Of: whole.Job.ID, State: grid.Planned, Round: 1, Last: 2}}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{whole})
		c.SetTold(told, nil)
		begin(c)
		c.Step(1_000_000, PeerChanged{her, grid.Alive})
		c.Step(1_000_000, Message{her, wire.Seen{}})
		return c
	}
	reconciled := func(c *Core, attempts ...grid.AttemptID) []Effect {
		return c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, Attempts: attempts, All: true})
	}
	end := func(c *Core) grid.State { return c.job(whole.Job.ID).rec.State }

	c := start()
	if effects := reconciled(c, attempt); !slices.Contains(effects, Effect(Probe{attempt})) || c.recovery.rolled == nil {
		t.Fatalf("rolled back %t, %v", c.recovery.rolled != nil, effects)
	}
	if r := c.job(id).rec; r.Attempt != 2 || !r.CancelRequested {
		t.Errorf("%+v", r)
	}
	c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: attempt, Phase: grid.Ended, Started: 5}})
	c.Step(1_000_003, Collected{Job: id, Epoch: attempt.Epoch})
	c.Step(1_000_004, Message{her, wire.Recounted{}})
	if end(c) != grid.Failed {
		t.Errorf("its own directory: the whole is %v, the part %v", end(c), c.job(id).rec.State)
	}

	c = start()
	reconciled(c)
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	c.Step(1_000_003, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: id, Epoch: grid.Epoch{Term: 1, Hop: 9}}}}})
	if j := c.job(id); j == nil || j.rec.State != grid.Lost || end(c) != grid.Failed {
		t.Errorf("a trace at a member: the whole is %v", end(c))
	}

	c = start(grid.Record{Job: grid.Job{ID: id}, State: grid.Completed, Ended: 9, Run: grid.Run{Started: 5, End: grid.Completed}, Tenure: grid.Tenure{Owner: me, Role: grid.Owning, Epoch: attempt.Epoch}})
	reconciled(c)
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	c.Step(1_000_003, Message{her, wire.Recounted{}})
	if j := c.job(id); j == nil || j.rec.State != grid.Completed || end(c) != grid.Failed {
		t.Errorf("a word beside the journal: the whole is %v", end(c))
	}
}

// A round that the journal has before GO, as it was put back, may have been told to go by the branch that is lost. Its part was
// with a member that has lost it too: it counts as begun, and the whole runs no second time.
func TestALostBranchMayHaveSaidGo(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	id := partID(whole.Job.ID, 1)
	at := grid.Epoch{Term: 1, Hop: 9}
	for name, k := range map[string]struct {
		state  grid.AllocationState
		made   bool
		record bool // the journal has the part at a site, which is forgotten at last
	}{
		"reserving":                {state: grid.Reserving},
		"confirming":               {state: grid.Confirming},
		"staging":                  {state: grid.Staging},
		"staging, made, no record": {state: grid.Staging, made: true},
		"staging, made":            {state: grid.Staging, made: true, record: true},
		"gathering":                {state: grid.Gathering, made: true, record: true},
	} {
		p := grid.AllocatedPart{Round: 1, Site: "b", Peer: her, Processes: 1, Job: id, Made: k.made, Asked: true, Reservation: "r1", Demand: whole.Job.Demand, Limit: grid.Hour}
		cfg := signer(me, "a")
		cfg.Allocations = []grid.Allocation{{Of: whole.Job.ID, State: k.state, Round: 1, Last: 1, Start: 1_100_000, End: 9_000_000, Parts: []grid.AllocatedPart{p}}}
		records := []grid.Record{whole}
		if k.record {
			j := whole.Job
			j.ID, j.Coallocation, j.Rerunnable = id, nil, false
			j.Part = &grid.Part{Of: whole.Job.ID, Round: 1, Sites: []grid.PartSite{{Name: "b", Processes: 1}}}
			records = append(records, grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}})
		}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, records)
		begin(c)
		c.Step(1_000_000, PeerChanged{her, grid.Alive})
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, All: true})
		c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		c.Step(1_000_003, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: id, Epoch: at}}}})
		if c.recovery.rolled != nil {
			t.Fatalf("%s: it asks on", name)
		}
		asked := false
		for now := grid.Tick(1_001_000); now < 2_000_000; now += 5 * grid.Second {
			for _, m := range sentTo(c.Step(now, Tick{}), her) {
				asked = asked || m.Kind() == wire.KindSlots
			}
		}
		if asked {
			t.Errorf("%s: it is planned again: %v", name, c.wholes.all[whole.Job.ID].rec)
		}
		if k.record {
			c.Step(2_000_000, Forget{Token: 1, Site: her})
		}
		if s := c.job(whole.Job.ID).rec.State; s != grid.Failed {
			t.Errorf("%s: the whole is %v, %v", name, s, c.wholes.all[whole.Job.ID].rec.State)
		}
	}
}

// A part of a round that the journal has lost is known again when the next round has come far: that is given up, unless the
// program may run twice.
func TestAPartOfALostRoundComesLate(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = twice })
		c.rec().Round = 1
		c.upTo(grid.Gathering)
		r := &grid.Record{Job: grid.Job{ID: c.rec().PartID(7), Part: &grid.Part{Of: theWhole, Round: 1, Sites: []grid.PartSite{{Name: "bb", Processes: 4}}}}, State: grid.Running, Run: grid.Run{Started: 1}}
		c.f.records[r.Job.ID], c.f.learnt = r, []*grid.Record{r}
		c.m.saved(&r.Job)
		c.settled()
		if went := c.rec().State == grid.Gathering; went != twice {
			t.Errorf("may run twice %t: %v", twice, c.rec().State)
		}
	}
}

// All parts of a round have begun when one of a round that the journal has lost is known again, of the same number or of a later one: that part is
// ended, and the whole ends with the parts that began together, as they do.
func TestAPartOfALostRoundComesWhenAllHaveBegun(t *testing.T) {
	t.Parallel()
	for _, number := range []uint32{1, 2} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = true })
		c.upTo(grid.Together)
		r := &grid.Record{Job: grid.Job{ID: c.rec().PartID(7), Part: &grid.Part{Of: theWhole, Round: number, Sites: []grid.PartSite{{Name: "dd", Processes: 4}}}}, State: grid.Assigned}
		c.f.records[r.Job.ID], c.f.learnt = r, []*grid.Record{r}
		c.m.saved(&r.Job)
		if did := c.settled(); c.rec().State != grid.Together || c.f.records[theWhole].State.Terminal() || !strings.Contains(did, "cancel 7") {
			t.Fatalf("of round %d: %v, the whole is %v: %s", number, c.rec().State, c.f.records[theWhole].State, did)
		}
		for _, at := range []grid.PeerID{"b", "c"} {
			c.part(at, func(r *grid.Record) { r.State, r.End, r.HasExit, r.ExitCode = grid.Completed, grid.Completed, true, 3 })
		}
		if c.settled(); c.f.records[theWhole].State != grid.Completed {
			t.Errorf("of round %d: it is %v", number, c.f.records[theWhole].State)
		}
	}
}

// Of a round that the journal has lost a part is known again that has not come to its end: nothing is planned for what may
// not run twice before it has, whoever else is planned; nor once it has begun.
func TestNoRoundBesideAPartOfALostOne(t *testing.T) {
	t.Parallel()
	for _, begun := range []grid.Tick{0, 1} {
		c := newCoallocated(t, 0, nil)
		r := &grid.Record{Job: grid.Job{ID: c.rec().PartID(4), Part: &grid.Part{Of: theWhole, Round: 2, Sites: []grid.PartSite{{Name: "bb", Processes: 4}}}}, State: grid.Running, Run: grid.Run{Started: begun}}
		c.f.records[r.Job.ID], c.f.learnt = r, []*grid.Record{r}
		other := *c.f.records[theWhole]
		other.Job.ID = "a.01ARZ3NDEKTSV4RRFFQ69G5FAW"
		c.f.records[other.Job.ID] = &other
		c.m.accepted(other.Job.ID)
		if c.settled(); c.m.cycle == nil || c.m.cycle.has(theWhole) || !c.m.cycle.has(other.Job.ID) {
			t.Errorf("begun at %d: planned are %+v", begun, c.m.cycle)
		}
		r.State, r.End = grid.Killed, grid.Killed
		c.m.saved(&r.Job)
		if c.settled(); c.f.records[theWhole].State.Terminal() != (begun > 0) {
			t.Errorf("begun at %d: it is %v when the part has ended", begun, c.f.records[theWhole].State)
		}
	}
}

// A member that lies, or is damaged, tells traces of parts without end, or of a far number: no more is believed than of other
// jobs that nobody can prove, and the numbers of parts do not run out.
func TestTracesOfPartsAreBounded(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	cfg := signer(me, "a")
	cfg.Allocations = []grid.Allocation{{Of: whole.Job.ID, State: grid.Planned, Round: 1, Last: 2}}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{whole})
	begin(c)
	c.Step(1_000_000, PeerChanged{her, grid.Alive})
	c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, All: true})
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	far := partID(whole.Job.ID, grid.MaxSweep-1)
	c.Step(1_000_003, Message{her, wire.Recalled{Job: grid.Job{
		ID: far, Home: me, User: whole.Job.User, Walltime: grid.Hour, Demand: whole.Job.Demand, Program: whole.Job.Program,
		Part: &grid.Part{Of: whole.Job.ID, Round: 2, Sites: []grid.PartSite{{Name: "b", Processes: 1}}},
	}}})
	traces := []wire.Trace{{Job: far, Epoch: grid.Epoch{Term: 1, Hop: 9}}}
	for n := 3; n < 3+2*maxLearnt; n++ {
		traces = append(traces, wire.Trace{Job: partID(whole.Job.ID, n), Epoch: grid.Epoch{Term: 1, Hop: 9}})
	}
	c.Step(1_000_004, Message{her, wire.Recounted{Traces: traces}})
	if c.job(far) != nil || c.wholes.all[whole.Job.ID].rec.Last > 2+maxLearnt {
		t.Errorf("the last number is %d", c.wholes.all[whole.Job.ID].rec.Last)
	}
	if n := len(c.jobs); n > 2+maxLearnt {
		t.Errorf("%d jobs are made", n)
	}
	if s := c.job(whole.Job.ID).rec.State; s != grid.Failed {
		t.Errorf("the whole is %v", s)
	}
}

// A member tells one trace after the other, each of the highest number that is believed: that makes no room for a higher one.
func TestTracesDoNotUseUpTheNumbers(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	whole.Job.Rerunnable = true
	c := restored(whole, grid.Planned)
	c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, All: true})
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	a := c.wholes.all[whole.Job.ID]
	for n := grid.Tick(0); n < 20; n++ {
		far := partID(whole.Job.ID, a.rec.Last+mostLost)
		c.recovery.traceAt(her, wire.Trace{Job: far, Epoch: grid.Epoch{Term: 1, Hop: 9}})
		c.Step(1_000_003+n, Tick{})
	}
	if a.rec.Last > 2+mostLost {
		t.Errorf("the last number is %d", a.rec.Last)
	}
}

// What one member tells without proof leaves room for what another does: the trace of the one part that began is believed, and
// the whole, which may run once, is over.
func TestLiesLeaveRoomForTheTruth(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	cfg := signer(me, "a")
	cfg.Allocations = []grid.Allocation{{Of: whole.Job.ID, State: grid.Planned, Round: 1, Last: 2}}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "x", Peer: "liar", Send: true}}, []grid.Record{whole})
	begin(c)
	for _, p := range []grid.PeerID{her, "liar"} {
		c.Step(1_000_000, PeerChanged{p, grid.Alive})
	}
	c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, All: true})
	c.Step(1_000_002, Message{"liar", wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	made := grid.Job{Home: me, User: whole.Job.User, Walltime: grid.Hour, Demand: whole.Job.Demand, Program: whole.Job.Program}
	for n := range maxLearnt {
		made.ID = grid.JobID(fmt.Sprintf("a.%026d", 1_000_000+n))
		c.Step(1_000_003, Message{"liar", wire.Recalled{Job: made}})
	}
	if n := len(c.jobs); n < maxLearnt {
		t.Fatalf("only %d jobs were learnt", n)
	}
	c.Step(1_000_004, Message{"liar", wire.Recounted{}})
	c.Step(1_000_005, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: partID(whole.Job.ID, 3), Epoch: grid.Epoch{Term: 1, Hop: 9}}}}})
	if s := c.job(whole.Job.ID).rec.State; s != grid.Failed {
		t.Errorf("the whole is %v", s)
	}
}

// A round in which a part has begun was given up, and the whole is cancelled: a branch of the journal that is lost may have made another round.
// So it ends when all were asked.
func TestACancelledWholeMayHaveALaterRound(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = true })
	c.settled()
	part := &grid.Record{Job: grid.Job{ID: theWhole + ".1", Part: &grid.Part{Of: theWhole, Round: 1}}, State: grid.Killed, Run: grid.Run{Started: 1, End: grid.Killed}}
	c.f.records[part.Job.ID] = part
	c.rec().Round, c.rec().Go = 1, 1
	c.rec().Parts = []grid.AllocatedPart{{Round: 1, Peer: "b", Job: part.Job.ID, Made: true, Begun: true, Fate: grid.Killed}}
	c.f.records[theWhole].CancelRequested, c.f.shut = true, untilAll
	c.m.stale[theWhole] = true
	if c.settled(); c.f.records[theWhole].State.Terminal() {
		t.Fatalf("it is %v before all were asked", c.f.records[theWhole].State)
	}
	c.f.shut = open
	c.pass(2 * grid.Second)
	if c.settled(); c.f.records[theWhole].State != grid.Killed {
		t.Errorf("it is %v when all were asked", c.f.records[theWhole].State)
	}
}
