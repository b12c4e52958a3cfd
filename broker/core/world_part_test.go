package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
)

// partSite is what a site of the world has to run parts of co-allocated jobs: nodes of one core, reservations,
// and a barrier before each start token. It goes on while the broker is down.
type partSite struct {
	s       *site
	beside  map[grid.Kind]map[string]grid.Entity // of its journal
	holds   map[grid.ReservationID]grid.Place    // in the batch system
	told    map[grid.AttemptID]bool              // to go
	begun   map[grid.AttemptID]bool              // that all have begun
	off     Rules
	window  grid.Tick // of its planning; 0 is the usual
	prices  *plan.Pricing
	granted map[string]grid.Amount
}

// forParts gives the sites of a world what they need for parts, and clocks that are apart.
func (w *world) forParts(ahead ...grid.Tick) {
	w.now = 1_800_000_000_000
	for i, s := range w.sites {
		s.ahead = ahead[i]
		s.parts = &partSite{
			s: s, beside: map[grid.Kind]map[string]grid.Entity{grid.KindAllocation: {}, grid.KindReservation: {}, grid.KindBudget: {}},
			holds: map[grid.ReservationID]grid.Place{}, told: map[grid.AttemptID]bool{}, begun: map[grid.AttemptID]bool{},
		}
	}
}

func (p *partSite) config(c Config) Config {
	if p == nil {
		return c
	}
	c.Broken = p.off
	c.Reserves, c.Reserving = true, reserve.Rules{Offered: true}
	c.Coallocating = Coallocating{Grace: grid.Minute, Within: 30 * grid.Second, Lease: 2 * grid.Minute, Rest: grid.Minute, Window: p.window}
	c.Prices, c.Granted = p.prices, p.granted
	for _, e := range p.beside[grid.KindBudget] {
		c.Budgets = append(c.Budgets, *e.(*grid.Budget))
	}
	for _, e := range p.beside[grid.KindAllocation] {
		c.Allocations = append(c.Allocations, *e.(*grid.Allocation))
	}
	for _, e := range p.beside[grid.KindReservation] {
		c.Reservations = append(c.Reservations, *e.(*grid.Reservation))
	}
	return c
}

func (p *partSite) save(c grid.Change) {
	switch {
	case p == nil || p.beside[c.Kind] == nil:
	case c.Record == nil:
		delete(p.beside[c.Kind], c.Key)
	default:
		p.beside[c.Kind][c.Key] = c.Record
		if b, is := c.Record.(*grid.Budget); is && (b.Free() < 0 || b.Granted != b.Free()+b.InLiens()+b.Spent) {
			p.s.w.t.Fatalf("%s: %+v\n%s", p.s.name, *b, p.s.w.story(""))
		}
		if a, is := c.Record.(*grid.Allocation); is {
			p.s.w.logf("%s: allocation %s round %d %v: %s", p.s.name, a.Of, a.Round, a.State, a.Reason)
		}
	}
}

// do is what the batch system and the control files are asked for; answers may be lost.
func (p *partSite) do(e Effect) {
	s := p.s
	failed := s.w.rnd.Float64() < s.w.faults.batchError
	text := map[bool]string{true: "the answer was lost"}[failed]
	switch e := e.(type) {
	case Reserve:
		if p.inWay(e.Reservation.Place()) {
			s.later(50, Reserved{ID: e.Reservation.ID, Err: errors.New("a job runs there"), Kind: grid.Permanent})
			return
		}
		p.holds[e.Reservation.ID] = e.Reservation.Place()
		s.w.after(e.Reservation.Start-s.ahead-s.w.now, s.schedule)
		s.later(50, Reserved{ID: e.Reservation.ID, Place: e.Reservation.Place(), Err: errOf(text), Kind: grid.Temporary})
	case Unreserve:
		delete(p.holds, e.ID)
		s.w.after(1, s.schedule)
		s.later(50, Unreserved{ID: e.ID, Err: errOf(text)})
	case ListReservations:
		ev := ReservationsListed{Err: errOf(text)}
		for id, at := range p.holds {
			ev.All = append(ev.All, HeldReservation{ID: id, Place: at})
		}
		s.later(50, ev)
	case Gather:
		s.meets(e.Sites)
		s.w.after(10, func() {
			if p.told[e.ID] = p.told[e.ID] || !e.Begun; e.Begun {
				p.begun[e.ID] = true
			}
			s.schedule()
		})
	}
}

func (p *partSite) snapshot() plan.Snapshot {
	s := p.s
	at := plan.Snapshot{At: s.w.now + s.ahead, Policy: plan.Policy{Kind: plan.EASY}, Site: s.facts()}
	for n := range s.cores {
		at.Nodes = append(at.Nodes, plan.Node{Name: nodeNamed(n), Cores: 1})
	}
	for _, l := range s.local {
		if len(l.nodes) == 0 || l.ended {
			continue
		}
		run := plan.Running{Job: l.s.ID.Job, Start: l.started, End: max(at.At+1, l.started+l.s.Limit)}
		for _, n := range l.nodes {
			run.Shares = append(run.Shares, plan.Share{Node: n, Processes: 1, Cores: 1})
		}
		at.Running = append(at.Running, run)
	}
	for id, place := range p.holds {
		r := plan.Reservation{ID: string(id), Start: place.Start, End: place.End}
		for n := range at.Nodes {
			for _, name := range place.Nodes {
				if at.Nodes[n].Name == name {
					r.Shares = append(r.Shares, plan.Share{Node: n, Processes: 1, Cores: 1})
				}
			}
		}
		at.Reservations = append(at.Reservations, r)
	}
	return at
}

func nodeNamed(n int) grid.NodeName { return grid.NodeName(fmt.Sprint("n", n)) }

// free are nodes that neither a running job has, nor a reservation until then; nil are too few.
func (p *partSite) free(n int, until grid.Tick) (nodes []int) {
	now := p.s.w.now + p.s.ahead
	taken := map[grid.NodeName]bool{}
	for _, at := range p.holds {
		for _, name := range at.Nodes {
			taken[name] = taken[name] || at.Start < until && now < at.End
		}
	}
	for _, l := range p.s.local {
		for _, o := range l.nodes {
			taken[nodeNamed(o)] = taken[nodeNamed(o)] || !l.ended
		}
	}
	for o := 0; o < p.s.cores && len(nodes) < n; o++ {
		if !taken[nodeNamed(o)] {
			nodes = append(nodes, o)
		}
	}
	if len(nodes) < n {
		return nil
	}
	return nodes
}

// inWay tells that a running job is on a node of a place.
func (p *partSite) inWay(at grid.Place) bool {
	for _, l := range p.s.local {
		for _, n := range l.nodes {
			if !l.ended && l.started+l.s.Limit > at.Start && slices.Contains(at.Nodes, nodeNamed(n)) {
				return true
			}
		}
	}
	return false
}

// schedule has parts arrive in their reservations, and begin when they were told to; all else runs on the nodes that are left.
func (p *partSite) schedule() {
	s := p.s
	for _, l := range s.local {
		at, held := p.holds[grid.ReservationID(l.s.Reservation)]
		if l.ended || l.started > 0 || l.deleted || s.tokens[l.s.ID] != "" {
			continue
		}
		now := s.w.now + s.ahead
		if l.s.Reservation == "" {
			if l.nodes = p.free(l.s.Job.Demand.Cores(), now+l.s.Limit); l.nodes != nil {
				s.start(l)
			}
			continue
		}
		if !held || now < at.Start || now >= at.End {
			continue
		}
		if !l.arrived {
			l.arrived = true
			s.word(s.progress(l.s.ID))
		}
		if l.s.Job.Part == nil {
			s.start(l)
		} else if p.told[l.s.ID] {
			s.start(l)
			s.w.after(l.s.Job.Part.Within, func() { p.alone(l) })
		}
	}
}

// alone ends a program that has not heard in time that all have begun.
func (p *partSite) alone(l *localJob) {
	if !p.begun[l.s.ID] {
		p.s.endLocal(l, grid.Alone)
	} else if others := p.s.w.partsOf(l.s.Job.Part); len(others) < len(l.s.Job.Part.Sites) {
		p.s.w.t.Fatalf("S4: %s runs on without the others\n%s", l.s.ID, p.s.w.story(""))
	}
}

// partsOf are the local jobs of a round that have started.
func (w *world) partsOf(of *grid.Part) (list []*localJob) {
	for _, s := range w.sites {
		for _, l := range s.local {
			if o := l.s.Job.Part; o != nil && o.Of == of.Of && o.Round == of.Round && l.started > 0 {
				list = append(list, l)
			}
		}
	}
	return list
}

// started checks S4 in truth: no part takes its token unless all have arrived, in reservations that are held; and no
// other round has begun, of a program that may not run twice.
func (p *partSite) started(l *localJob) {
	of := l.s.Job.Part
	if p == nil || of == nil {
		return
	}
	w, arrived := p.s.w, 0
	for _, s := range w.sites {
		for _, o := range s.local {
			part := o.s.Job.Part
			if part == nil || part.Of != of.Of {
				continue
			}
			if part.Round == of.Round && o.arrived {
				arrived++
			}
			if whole := w.home(of.Of); part.Round != of.Round && o.started > 0 && (whole == nil || !whole.Job.Rerunnable) {
				w.t.Fatalf("%s begins in round %d, and has begun in round %d\n%s", of.Of, of.Round, part.Round, w.story(""))
			}
		}
	}
	if arrived < len(of.Sites) {
		w.t.Fatalf("S4: %s takes its token when %d of %d parts have arrived\n%s", l.s.ID, arrived, len(of.Sites), w.story(""))
	}
}

// wide hands in a job of so many processes at a site, which may have several.
func (w *world) wide(s *site, n string, processes int, rerunnable bool, more ...func(*grid.Job)) grid.JobID {
	j := jobOf(s.peer, s.name, n)
	j.Rerunnable, j.Walltime = rerunnable, 5*grid.Minute
	j.Demand.Chunks[0].Count = processes
	j.Coallocation = &grid.Coallocation{Sites: 3, PerSite: 1}
	for _, do := range more {
		do(&j)
	}
	var try func()
	try = func() {
		if _, saved := s.journal[j.ID]; saved {
			return
		}
		if s.up {
			s.step(Submit{Token: 1, Job: j, Key: n})
		}
		w.after(grid.Second, try)
	}
	try()
	return j.ID
}

// left are the reservations that some batch system still holds.
func (w *world) left() (n int) {
	for _, s := range w.sites {
		n += len(s.parts.holds)
	}
	return n
}

// Two sites hold a job that neither can; it runs on both at once, and leaves no reservation.
func TestJobOverTwoSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, faults{}, 1, 4, 4)
	w.forParts(0, 20*grid.Second, -10*grid.Second)
	w.boot()
	id := w.wide(w.sites[0], "1", 6, false)
	w.until("it ends", func() bool { return w.allEnded([]grid.JobID{id}) })
	if r := w.home(id); r.State != grid.Completed || r.Started == 0 {
		t.Fatalf("%v: %s\n%s", r.State, r.Reason, w.story(""))
	}
	if !w.run(w.now+10*grid.Minute, func() bool { return w.left() == 0 }) {
		t.Fatalf("%d reservations are left\n%s", w.left(), w.story(""))
	}
}

// partHistory is one history of wide jobs: homes that want the same nodes, over a network that loses and delays, with
// brokers that crash and clocks that are apart.
func partHistory(t testing.TB, seed uint64, off Rules) {
	w := newWorld(t, seed, faults{loss: 0.05, duplicate: 0.05, delay: 1500, batchError: 0.05, crash: 0.002}, 1, 4, 4)
	w.forParts(0, 30*grid.Second, -30*grid.Second)
	for _, s := range w.sites {
		s.parts.off = off
	}
	w.boot()
	var ids []grid.JobID
	for n := range 3 {
		ids = append(ids, w.wide(w.sites[n%3], fmt.Sprint(n), 5+n%2, n%2 == 0))
	}
	if !w.run(w.now+grid.Day, func() bool { return w.allEnded(ids) }) {
		t.Fatalf("seed %d: not all end\n%s", seed, w.story(""))
	}
	w.faults = faults{}
	if !w.run(w.now+grid.Hour, func() bool { return w.left() == 0 }) {
		t.Fatalf("seed %d: %d reservations are left\n%s", seed, w.left(), w.story(""))
	}
}

// No part begins without the others, nothing runs twice, and all come to their ends.
func TestWideJobsUnderFaults(t *testing.T) {
	t.Parallel()
	for range 10 {
		seed := rand.Uint64()
		if text := failsOf(t, seed, 0); text != "" {
			t.Fatalf("seed %d: %s", seed, text)
		}
	}
}

// caught takes what a history fails of.
type caught struct {
	testing.TB
	text string
}

func (c *caught) Helper() {}

func (c *caught) Fatalf(format string, args ...any) {
	c.text = fmt.Sprintf(format, args...)
	panic(c)
}

// failsOf is what a history fails of with a rule switched off; "" is nothing.
func failsOf(t *testing.T, seed uint64, off Rules) (text string) {
	c := &caught{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(c) {
			panic(r)
		}
		text = c.text
	}()
	partHistory(c, seed, off)
	return ""
}

// Histories notice these rules by the programs that they start. TestRulesOfCoallocation holds the others.
func TestRulesOfPartsAreSeen(t *testing.T) {
	t.Parallel()
	for rule, want := range map[Rules]string{TokenBeforeGo: "S4: ", GoBeforeAllThere: "S4: ", BegunWithoutOthers: "S4: "} {
		seen := false
		for n := 0; n < 60 && !seen; n++ {
			seen = strings.HasPrefix(failsOf(t, rand.Uint64(), rule), want)
		}
		if !seen {
			t.Errorf("rule %b is not missed", rule)
		}
	}
}

// Ten homes that want the nodes of the same two sites do not block each other for ever.
func TestTenHomesTwoSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.Uint64(), faults{delay: 300}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4)
	w.forParts(make([]grid.Tick, len(w.sites))...)
	w.boot()
	var ids []grid.JobID
	for _, s := range w.sites[:10] {
		ids = append(ids, w.wide(s, "1", 7, false))
	}
	if !w.run(w.now+grid.Day, func() bool { return w.allEnded(ids) }) {
		t.Fatalf("not all end\n%s", w.story(""))
	}
	for _, id := range ids {
		if r := w.home(id); r.State != grid.Completed {
			t.Errorf("%s: %v: %s", id, r.State, r.Reason)
		}
	}
}
