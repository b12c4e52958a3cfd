package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The end of a whole is the gravest of its parts'; one that was ended because of another has no say in it, unless all were, or the
// user has wished it.
func TestEndOfAWholeIsThatOfItsParts(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		b, c   grid.State
		wished bool
		want   grid.State
	}{
		{grid.Completed, grid.Completed, false, grid.Completed},
		{grid.Failed, grid.Killed, false, grid.Failed},
		{grid.Completed, grid.Failed, false, grid.Failed},
		{grid.CancelledWalltime, grid.Killed, false, grid.CancelledWalltime},
		{grid.Lost, grid.Failed, false, grid.Lost},
		{grid.Completed, grid.Killed, false, grid.Completed},
		{grid.Completed, grid.Killed, true, grid.Killed},
		{grid.Killed, grid.Killed, false, grid.Killed},
	} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Survive = true })
		c.upTo(grid.Together)
		c.f.records[theWhole].CancelRequested = k.wished
		for p, state := range map[grid.PeerID]grid.State{"b": k.b, "c": k.c} {
			c.part(p, func(r *grid.Record) { r.State, r.End = state, state })
		}
		c.settled()
		r := c.f.records[theWhole]
		if r.State != k.want {
			t.Errorf("%+v: it is %v", k, r.State)
		}
		if bad := k.b != grid.Completed || k.c != grid.Completed; bad != strings.Contains(r.Reason, "part ") {
			t.Errorf("%+v: its reason is %q", k, r.Reason)
		}
	}
}

// What is done for a whole is in its history, with why.
func TestStepsOfAWholeAreTold(t *testing.T) {
	t.Parallel()
	c := signed()
	w := &wholeJobs{kernel: c.kernel}
	for why, events := range map[string]int{"": 0, "all parts have arrived: go": 1} {
		c.kernel.out = nil
		w.save(&grid.Allocation{Of: theWhole, State: grid.Going}, why)
		if s, is := only[Save](c.kernel.out); !is || len(s.Change.Events) != events || events > 0 && s.Change.Events[0].Why != why {
			t.Errorf("%q: %+v", why, s.Change.Events)
		}
	}
}

// A part that was given up for lost has ended the others, and its result comes after all: the job has not gone well.
func TestAPartThatWasLostAndComesBack(t *testing.T) {
	t.Parallel()
	for _, survive := range []bool{false, true} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Survive = survive })
		c.upTo(grid.Together)
		c.part("b", func(r *grid.Record) { r.State, r.End = grid.Lost, grid.Lost })
		c.settled()
		end := grid.Killed
		if survive {
			end = grid.Completed
		}
		c.part("b", func(r *grid.Record) { r.State, r.End, r.HasExit = grid.Completed, grid.Completed, true })
		c.part("c", func(r *grid.Record) { r.State, r.End, r.HasExit = end, end, survive })
		c.settled()
		want := grid.Lost
		if survive {
			want = grid.Completed
		}
		if r := c.f.records[theWhole]; r.State != want {
			t.Errorf("survive %t: it is %v: %s", survive, r.State, r.Reason)
		}
	}
}

// The site of a part is fenced off: a part does not begin again by itself, and the job that it is a part of ends.
func TestAPartAtAFencedSite(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	whole.State = grid.Running
	job := func(n int) grid.Job {
		j := whole.Job
		j.ID, j.Coallocation = partID(whole.Job.ID, n), nil
		j.Part = &grid.Part{Of: whole.Job.ID, Round: 1, Rank: n - 1, Sites: []grid.PartSite{{Name: "b", Processes: 1}, {Name: "c", Processes: 1}}}
		return j
	}
	for _, at := range []grid.AllocationState{grid.Going, grid.Together} {
		cfg := signer(me, "a")
		a := grid.Allocation{Of: whole.Job.ID, State: at, Round: 1, Last: 2, Start: 900_000, Go: 950_000, Begun: 950_000}
		records := []grid.Record{whole}
		for n, p := range []grid.PeerID{her, him} {
			a.Parts = append(a.Parts, grid.AllocatedPart{Round: 1, Rank: n, Site: job(1).Part.Sites[n].Name, Peer: p, Job: partID(whole.Job.ID, n+1), Made: true, Begun: true})
			records = append(records, grid.Record{Job: job(n + 1), State: grid.Running, Run: grid.Run{Started: 960_000}, Tenure: grid.Tenure{Role: grid.Watching, Owner: p, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
		}
		cfg.Allocations = []grid.Allocation{a}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, records)
		begin(c)
		c.Step(1_000_001, Forget{Token: 1, Site: her, Fenced: true})
		if r := c.job(partID(whole.Job.ID, 1)).rec; r.State != grid.Lost {
			t.Errorf("%v: the part is %v with %s", at, r.State, r.Owner)
		}
		c.Step(1_000_002, Forget{Token: 2, Site: him, Fenced: true})
		if r := c.job(whole.Job.ID).rec; r.State != grid.Lost {
			t.Errorf("%v: the job is %v: %s", at, r.State, r.Reason)
		}
	}
}

// A site that falls silent before GO keeps nobody waiting until the start: its reservation is gone when its lease is over, and
// the round with it. One that answers, and one that has said a word, are waited for.
func TestASilentSiteEndsTheRound(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.AllocationState{grid.Confirming, grid.Gathering} {
		c := newCoallocated(t, 0, nil)
		c.upTo(grid.Reserving)
		c.rec().Start, c.rec().End = c.f.now+5*grid.Hour, c.f.now+7*grid.Hour
		c.upTo(state)
		for range 4 * c.m.cfg.Lease / grid.Minute {
			for _, at := range []grid.PeerID{"b", "c"} {
				c.reserved(at, wire.KindConfirm, c.of(at).Heard)
			}
			c.pass(grid.Minute)
			c.settled()
		}
		if c.rec().State != state {
			t.Fatalf("both answer in %v, and it is %v: %s", state, c.rec().State, c.rec().Reason)
		}
		for range 2 * c.m.cfg.Lease / grid.Minute {
			c.reserved("b", wire.KindConfirm, c.of("b").Heard)
			p := c.of("c")
			c.m.onReservationWord("c", wire.ReservationWord{Reservation: grid.Reservation{ID: p.Reservation, State: p.Heard, Start: p.Start, End: p.End}})
			c.pass(grid.Minute)
			c.settled()
		}
		if c.rec().State != state {
			t.Fatalf("c has said a word that nobody asked for in %v, and it is %v: %s", state, c.rec().State, c.rec().Reason)
		}
		for range c.m.cfg.Lease/grid.Minute + 1 {
			c.reserved("b", wire.KindConfirm, c.of("b").Heard)
			c.pass(grid.Minute)
			c.settled()
		}
		if c.rec().State == state || !strings.Contains(c.rec().Reason, "cc") {
			t.Errorf("c is silent in %v, and it is %v: %s", state, c.rec().State, c.rec().Reason)
		}
	}
}

// A whole that one site may have given on before its term was raised runs by parts, and all of them are killed at their sites, which nobody wished
// here: it is told KILLED when all have said that nothing of it is with them, as any job is.
func TestAWholeWhoseSuccessorsWereNotHeardIsNotKilled(t *testing.T) {
	t.Parallel()
	for _, end := range []grid.State{grid.Killed, grid.CancelledDeadline, grid.Failed} {
		whole := wholeRecord()
		whole.State, whole.Job.Rerunnable, whole.Epoch.Term = grid.Running, true, 2
		a := grid.Allocation{Of: whole.Job.ID, State: grid.Together, Round: 1, Last: 2, Start: 900_000, Go: 950_000, Begun: 950_000}
		records := []grid.Record{whole}
		for n, p := range []grid.PeerID{her, him} {
			part := partOf(n+1, end, grid.Tenure{Role: grid.Watching, Owner: p, Epoch: grid.Epoch{Term: 1, Hop: 1}})
			part.Job.ID, part.Job.Part.Of, part.End, part.Started = partID(whole.Job.ID, n+1), whole.Job.ID, end, 960_000
			a.Parts = append(a.Parts, grid.AllocatedPart{Round: 1, Rank: n, Peer: p, Job: part.Job.ID, Made: true, Begun: true})
			records = append(records, part)
		}
		cfg := signer(me, "a")
		cfg.Allocations = []grid.Allocation{a}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, records)
		begin(c)
		for _, p := range []grid.PeerID{her, him} {
			c.Step(c.now, PeerChanged{p, grid.Alive})
		}
		hear(c, her)
		r := &c.job(whole.Job.ID).rec
		if waits := end != grid.Failed; r.State.Terminal() == waits || waits && !strings.Contains(r.Why(), "gbroker forget c") {
			t.Errorf("c was not heard, and it is %s: %s; want it to wait: %t", r.State, r.Why(), waits)
		}
		if hear(c, him); r.State != end {
			t.Errorf("all were heard, and it is %s: %s; want %s", r.State, r.Why(), end)
		}
	}
}
