package core

import (
	"errors"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/reserve"
	"gbroker/wire"
)

// A look that fails tells nothing of the nodes: what was known of them stays, and is what a change is counted by.
func TestNodesAreKnownOverALookThatFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1", "n2"))
	d.says(wire.Confirm{ID: "r1"})
	d.moves(wire.Change{ID: "r1", Number: 1, Start: 2_000_000, End: 2_600_000, Move: true, Count: 3})
	d.step(Looked{Err: errors.New("it is down")})
	d.says(wire.Change{ID: "r1", Number: 2, Start: 2_000_000, End: 2_600_000, Move: true, Nodes: []grid.NodeName{"n1", "n2"}})
	d.work()
	if r := d.disk["r1"]; r.Cores != 8 || len(r.Nodes) != 2 {
		t.Errorf("it has %d cores on %v", r.Cores, r.Nodes)
	}
}

// The batch system is asked for its list once at a time, however often it is due.
func TestOneListAtATime(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
	d.work()
	m := d.core.reservations
	m.list()
	d.core.kernel.out = nil
	if m.list(); len(d.core.kernel.out) > 0 {
		t.Errorf("asked again: %+v", d.core.kernel.out)
	}
	d.step(ReservationsListed{Err: errors.New("no answer")})
	d.core.kernel.out = nil
	if m.list(); len(d.core.kernel.out) != 1 {
		t.Error("not asked again when it has answered")
	}
}

// A delivery that is reserved for later has its rate when it begins, though nothing else happens then.
func TestADeliveryBeginsByItself(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	k.cfg.Reserving = reserve.Rules{Offered: true, Uplink: 10_000_000}
	m := newReservations(k)
	m.estimator, m.execution, m.gates = o, o, o
	m.take(nil)
	a := steppedAlone(t, k, o, m)
	a.step(Boot{})
	a.step(ReservationsListed{})
	a.step(Message{her, wire.Reserve{ID: "r1", Holder: grid.User{Home: her, Name: "u"}, What: grid.DeliveryReserved, Bandwidth: 1000, From: 1_010_000, Until: 1_070_000, Length: grid.Minute}})
	a.step(Message{her, wire.Confirm{ID: "r1"}})
	r, _ := m.book.Get("r1")
	a.step(Message{her, wire.ReservationAck{ID: "r1", Seq: r.Seq}})
	if due := k.timers.general[bookDue-concerns]; due != 1_010_000 {
		t.Errorf("it is %v, and is looked at again at %v", r.State, due)
	}
}

// Of a reservation only what is later counts: a word of before takes nothing back, but that a part has gone from its reservation.
func TestWordsOfAReservationInOrder(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ has, said, is grid.ReservationState }{
		{grid.Tentative, 0, grid.Tentative}, {grid.Tentative, grid.Confirmed, grid.Confirmed}, {grid.Confirmed, grid.Tentative, grid.Confirmed},
		{grid.Confirmed, grid.Bound, grid.Bound}, {grid.Bound, grid.Confirmed, grid.Confirmed}, {grid.Active, grid.Confirmed, grid.Active},
		{grid.Bound, grid.Released, grid.Released}, {grid.Released, grid.Confirmed, grid.Released}, {grid.Released, grid.Expired, grid.Released},
	} {
		c := newCoallocated(t, 0, nil)
		c.upTo(grid.Confirming)
		p := c.of("b")
		p.Heard = k.has
		c.f.log = nil
		c.m.heardOf(c.m.all[theWhole], p, k.said, "")
		if p.Heard != k.is || (len(c.f.log) > 0) != (k.is != k.has) {
			t.Errorf("%v, and then %v: it is %v, did %v", k.has, k.said, p.Heard, c.f.log)
		}
	}
}

// What asks for more than cores is not answered by what a site told of cores.
func TestWhatIsPlain(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Demand)
		whole  bool
		plain  bool
	}{
		"cores":                     {func(*grid.Demand) {}, false, true},
		"two kinds of pieces":       {func(d *grid.Demand) { d.Chunks = append(d.Chunks, grid.Chunk{Count: 1, Processes: 1, Cores: 1}) }, false, false},
		"memory":                    {func(d *grid.Demand) { d.Chunks[0].Memory = 1 }, false, false},
		"a resource":                {func(d *grid.Demand) { d.Chunks[0].Resources = []grid.Resource{{}} }, false, false},
		"pieces of two cores":       {func(d *grid.Demand) { d.Chunks[0].Cores = 2 }, false, false},
		"so, where there is a node": {func(d *grid.Demand) { d.Chunks[0].Cores = 2 }, true, true},
		"an architecture":           {func(d *grid.Demand) { d.Architecture = "x86_64" }, false, false},
		"a system":                  {func(d *grid.Demand) { d.System = "LINUX" }, false, false},
		"a property":                {func(d *grid.Demand) { d.Properties = []string{"fast"} }, false, false},
		"whole nodes":               {func(d *grid.Demand) { d.Exclusive = true }, false, false},
		"nodes of their own":        {func(d *grid.Demand) { d.DistinctNodes = true }, false, false},
		"a host":                    {func(d *grid.Demand) { d.Hosts = []string{"n1"} }, false, false},
		"disk":                      {func(d *grid.Demand) { d.Disk = 1 }, false, false},
	} {
		d := grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1, Cores: 1}}}
		k.change(&d)
		if got := isPlain(&d, k.whole); got != k.plain {
			t.Errorf("%s: plain %t", name, got)
		}
	}
}

// A handoff has all members told soon how far the journal is; one that is due sooner stays so.
func TestHowFarTheJournalIsIsToldSoon(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct{ due, want grid.Tick }{"nothing is due": {0, 200}, "it is due later": {5000, 200}, "it is due sooner": {50, 50}} {
		o := &others{}
		kern := kernelOf(o)
		m := newRecovery(kern)
		if k.due > 0 {
			kern.armGeneral(growthDue, k.due)
		}
		m.growthSoon()
		if due := kern.timers.general[growthDue-concerns] - kern.now; due != k.want {
			t.Errorf("%s: told in %d ms", name, due)
		}
	}
}

// A whole begins no sooner at a site than its files can be there, and not at all where a site has refused.
func TestFilesAreThereBeforeAWholeBegins(t *testing.T) {
	t.Parallel()
	for _, takes := range []grid.Tick{0, grid.Hour} {
		c := newCoallocated(t, 0, nil)
		c.f.brings = map[grid.PeerID]grid.Tick{"c": takes}
		c.settled()
		c.slots("b", 0, 4)
		c.slots("c", 0, 4)
		if c.settled(); c.rec().State != grid.Reserving || c.rec().Start < c.f.now+takes || takes == 0 && c.rec().Start > c.f.now+grid.Hour {
			t.Errorf("its files take %v s: it is %v, and starts in %v s", takes.Seconds(), c.rec().State, (c.rec().Start - c.f.now).Seconds())
		}
	}
}

// A directory that cannot be read is no news of a job whose directory was read.
func TestADamagedDirectoryThatWasRead(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{false, true} {
		r := runningHere(func(r *grid.Record) { r.State, r.Started, r.Attempt, r.Local = grid.Ready, 0, 0, "" })
		c := signed(r)
		j := c.job(r.Job.ID)
		j.reconciled = read
		c.Step(c.now+1, Reconciled{Damaged: []grid.JobID{r.Job.ID, "a.unknown"}})
		if (j.damaged != 0) == read {
			t.Errorf("read %t: damaged since %d", read, j.damaged)
		}
	}
}

// The document of a job that cannot be read again ends this life, and starts nothing by half of it.
func TestADocumentThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c, journal := kept(t, longRecord(1, me, grid.Ready))
	id := longRecord(1, me, grid.Ready).Job.ID
	j := c.job(id)
	delete(journal, id)
	j.brief = 100
	if c.whole(j); c.failed == nil {
		t.Error("it goes on")
	}
	if effects := c.Step(c.now+1, Tick{}); !slices.ContainsFunc(effects, func(e Effect) bool { _, is := e.(Fail); return is }) {
		t.Errorf("it does %+v", effects)
	}
}
