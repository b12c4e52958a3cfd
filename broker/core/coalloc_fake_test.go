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
	liens   float64
	busy    bool                          // parts cannot be handed over now
	slow    map[grid.PeerID]*grid.Refusal // of deliveries; nil: none is reserved
	learnt  []*grid.Record                // parts that are known again
	told    []string                      // to the user, and when it is to start
	starts  grid.Tick
	freed   []grid.JobID              // whose liens were lifted
	brings  map[grid.PeerID]grid.Tick // how long files take there
	changed func(*grid.Job)           // what a save of a job brings
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

func (f *fakeWholes) alone(grid.JobID, string)                     { f.did("alone") }
func (f *fakeWholes) renew(grid.JobID)                             { f.did("renew") }
func (f *fakeWholes) begun(grid.JobID)                             { f.did("begun") }
func (f *fakeWholes) sites(grid.JobID) []reachable                 { return f.at }
func (f *fakeWholes) bytes(_ grid.JobID, to grid.PeerID) grid.Tick { return f.brings[to] }
func (f *fakeWholes) part(id grid.JobID) *grid.Record              { return f.records[id] }
func (f *fakeWholes) parts(grid.JobID, int) []*grid.Record {
	list := f.learnt
	f.learnt = nil
	return list
}
func (f *fakeWholes) cancel(id grid.JobID, _ string) { f.did("cancel %s", id[len(theWhole)+1:]) }
func (f *fakeWholes) disown(grid.JobID)              {}
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

func (f *fakeWholes) liftLien(_, part grid.JobID) { f.freed = append(f.freed, part) }

func (f *fakeWholes) tell(_ grid.JobID, why string, start grid.Tick) {
	if f.told = append(f.told, why); start > 0 {
		f.starts = start
	}
}

func (f *fakeWholes) short(*grid.Job, []grid.Amount) (at int, why *grid.Refusal) { return 0, f.poor }

func (f *fakeWholes) placeLien(_ grid.JobID, p *grid.AllocatedPart) *grid.Refusal {
	f.liens += float64(p.Cores) * p.Price
	return f.poor
}

func (f *fakeWholes) beforeRound(grid.JobID) gate               { return f.shut }
func (f *fakeWholes) pursue(grid.JobID)                         { f.did("pursue") }
func (f *fakeWholes) beforeCancel(grid.JobID) gate              { return f.shut }
func (f *fakeWholes) unheard(grid.JobID, grid.State) bool       { return false }
func (f *fakeWholes) beforeConfirming(n, of int) gate           { return f.rules.beforeConfirming(n, of) }
func (f *fakeWholes) beforeGo(n, of int) gate                   { return f.rules.beforeGo(n, of) }
func (f *fakeWholes) beforeAllBegun(n, of int) gate             { return f.rules.beforeAllBegun(n, of) }
func (f *fakeWholes) beforeReleasingAgain() gate                { return f.rules.beforeReleasingAgain() }
func (f *fakeWholes) offset(t grid.Tick) grid.Tick              { return f.rules.offset(t) }
func (f *fakeWholes) beforeSaving(to grid.AllocationState) gate { return f.rules.beforeSaving(to) }
func (f *fakeWholes) makePart(j grid.Job) {
	f.did("make %s", j.ID[len(theWhole)+1:])
	f.records[j.ID] = &grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: "a"}}
}

func (f *fakeWholes) place(id grid.JobID, to grid.PeerID, _ grid.Tick) *grid.Refusal {
	f.did("place %s>%s", id[len(theWhole)+1:], to)
	if f.busy {
		return nil
	}
	f.records[id].Owner, f.records[id].Role, f.records[id].State = to, grid.Watching, grid.Assigned
	f.changed(&f.records[id].Job)
	return nil
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
		now: 1_800_000_000_000, records: map[grid.JobID]*grid.Record{}, rules: gates{kernel: &kernel{cfg: Config{Broken: off}}, recovery: &others{}},
		at: []reachable{{peer: "b", name: "bb"}, {peer: "c", name: "cc"}},
	}
	f.records[theWhole] = &grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: "a"}}
	m := newCoallocation(Coallocating{})
	m.wholes, f.changed = f, m.saved
	m.accepted(theWhole)
	return &coallocated{t, f, m}
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
	c.m.onSlotsReply(from, c.reply(id, from, ahead, nodes))
}

// reply is that answer.
func (c *coallocated) reply(id grid.JobID, from grid.PeerID, ahead grid.Tick, nodes int) wire.SlotsReply {
	m := wire.SlotsReply{
		Of: id, Round: c.f.rounds, Site: grid.Site{Name: grid.SiteName(from + from), Processes: 16, Speed: 1},
		Clock: wire.Clocks{Asked: c.f.now, Received: c.f.now + ahead, Answered: c.f.now + ahead}, Estimate: grid.Estimate{Refusal: forNow("too wide")},
	}
	for n := range nodes {
		m.Slots = append(m.Slots, grid.Slot{Node: grid.NodeName(fmt.Sprint(from, n)), Start: c.f.now + ahead, End: c.f.now + ahead + 8*grid.Hour, Cores: 4})
	}
	return m
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
