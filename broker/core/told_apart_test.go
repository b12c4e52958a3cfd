package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// What looks alike and is not: each test has the cases that one condition tells apart.

// A late refusal of a round that is over gives nothing up a second time.
func TestALateRefusal(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	of := c.of("b").Reservation
	c.m.abandon(c.m.all[theWhole], "its user holds it")
	c.m.stale[theWhole] = true
	c.settled()
	fails := c.rec().Fails
	c.m.onReserved("b", wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: of}, Refusal: forNow("taken")})
	if got := c.settled(); got != "save PLANNED" || c.rec().Fails != fails || len(c.rec().Refused) > 0 || c.of("b").Heard != grid.Released {
		t.Errorf("it did %s, failed %d times, was refused %v", got, c.rec().Fails, c.rec().Refused)
	}
}

// The slots of a site whose clock is ahead are as long as by this one.
func TestSlotsOfAnotherClock(t *testing.T) {
	t.Parallel()
	for span, chosen := range map[grid.Tick]bool{30 * grid.Minute: false, 3 * grid.Hour: true} {
		c := newCoallocated(t, 0, nil)
		c.settled()
		for _, at := range []grid.PeerID{"b", "c"} {
			m := c.reply(theWhole, at, 5*grid.Hour, 4)
			for i := range m.Slots {
				m.Slots[i].End = m.Slots[i].Start + span
			}
			c.m.onSlotsReply(at, m)
		}
		if c.settled(); (c.rec().State == grid.Reserving) != chosen {
			t.Errorf("slots of %v s: it is %v", span.Seconds(), c.rec().State)
		}
		if chosen && (c.rec().Start > c.f.now+grid.Hour || c.of("b").Start < c.f.now+5*grid.Hour) {
			t.Errorf("it starts in %v s, there in %v s", (c.rec().Start - c.f.now).Seconds(), (c.of("b").Start - c.f.now).Seconds())
		}
	}
}

// A change that a site has answered counts as done only where all is as it was wished.
func TestAChangeIsAsWished(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Reservation)
		done   bool
	}{
		"as wished":     {func(*grid.Reservation) {}, true},
		"another start": {func(r *grid.Reservation) { r.Start++ }, false},
		"another end":   {func(r *grid.Reservation) { r.End++ }, false},
		"fewer nodes":   {func(r *grid.Reservation) { r.Nodes = r.Nodes[:1] }, false},
	} {
		m, a := holder(t, grid.Reservation{ID: "r1", Site: her, State: grid.Confirmed, Start: 1_500_000, End: 2_000_000, Holder: grid.User{Home: me, Name: "alice"}})
		a.want(ChangeRequest{Token: 3, ID: "r1", Start: 1_600_000, Nodes: 2}, "Change>b")
		r := grid.Reservation{ID: "r1", State: grid.Confirmed, Seq: 4, Start: 1_600_000, End: 2_100_000, Nodes: []grid.NodeName{"n1", "n2"}, Holder: grid.User{Home: me, Name: "alice"}}
		k.change(&r)
		answer, is := only[Answer](a.stepper.step(a.now+20, Message{her, wire.Reserved{Of: wire.KindChange, Reservation: r}}))
		if !is || (answer.Err == nil) != k.done || m.all["r1"].Start != r.Start {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

// A reservation that is moved where there are prices has its nodes as before, and the rate of its new time.
func TestAPricedReservationKeepsItsNodes(t *testing.T) {
	t.Parallel()
	p := newPriced(t, &plan.Pricing{Base: 2, Priority: 0.5})
	if m := p.wants("r1", her, "n2", 5*grid.Hour, 0); m.Refusal != nil {
		t.Fatalf("%+v", m.Refusal)
	}
	start := p.c.now + 8*grid.Hour
	p.c.Step(p.c.now, Message{her, wire.Change{ID: "r1", Number: 1, Start: start, End: start + grid.Hour, Move: true}})
	p.c.Step(p.c.now, Looked{Snapshot: plan.Snapshot{At: p.c.now, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}, {Name: "n2", Cores: 4}}}})
	if r, _ := p.c.reservations.book.Get("r1"); !slices.Equal(r.Nodes, []grid.NodeName{"n2"}) || r.Start != start || r.Number != 1 {
		t.Errorf("it has %v from %d on, by wish %d", r.Nodes, r.Start, r.Number)
	}
}

// A job that names a reservation which there is not hears that, and not that it is too long.
func TestAJobOfNoReservation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	j := jobOf(her, "b", "1")
	j.Reservation = "r9"
	if _, why := d.core.reservations.bind(&job{rec: grid.Record{Job: j}}); why == nil || strings.Contains(why.Reason, "too short") {
		t.Errorf("%+v", why)
	}
}

// A user hears why a site is out of the question.
func TestWhyASiteIsNotWanted(t *testing.T) {
	t.Parallel()
	c := signed()
	for name, k := range map[string]struct {
		reservation grid.ReservationID
		sites       grid.Choice
		at          grid.PeerID
		why         string
	}{
		"wanted":                     {"", grid.Choice{Only: []grid.SiteName{"b"}}, her, ""},
		"not wanted":                 {"", grid.Choice{Not: []grid.SiteName{"b"}}, her, unwantedSite},
		"wanted here alone":          {"", grid.Choice{Only: []grid.SiteName{"a"}}, her, unwantedSite},
		"wanted elsewhere":           {"", grid.Choice{Only: []grid.SiteName{"c"}}, her, unwantedSite},
		"wanted at no site of these": {"", grid.Choice{Only: []grid.SiteName{"z"}}, her, "its user wants it at z, which is not known here"},
		"bound to another":           {"r1", grid.Choice{Only: []grid.SiteName{"c"}}, her, "bound to reservation r1 at c"},
		"bound, and not wanted":      {"r1", grid.Choice{Not: []grid.SiteName{"b"}}, her, unwantedSite},
		"bound there":                {"r1", grid.Choice{Only: []grid.SiteName{"b"}}, her, ""},
	} {
		j := jobOf(me, "a", "1")
		j.Reservation, j.Sites = k.reservation, k.sites
		why := c.search.unwanted(&job{rec: grid.Record{Job: j}}, k.at)
		if (why == nil) != (k.why == "") || why != nil && why.Reason != k.why {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// Only what ran at another site, to an end that is known, is paid for.
func TestWhatIsPaidFor(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Record)
		spent  bool
		lien   bool
	}{
		"ran there":         {func(*grid.Record) {}, true, false},
		"ran here":          {func(r *grid.Record) { r.Owner = me }, false, false},
		"never ran":         {func(r *grid.Record) { r.State, r.Started, r.Finished = grid.Killed, 0, 0 }, false, false},
		"never ran, failed": {func(r *grid.Record) { r.State, r.Started = grid.Failed, 0 }, false, false},
		"still runs":        {func(r *grid.Record) { r.State, r.Finished = grid.Running, 0 }, false, true},
	} {
		o := &others{}
		j := jobOf(me, "a", "1")
		kern := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		m := newBudgets(kern)
		m.changed(BudgetsChanged{Granted: map[string]grid.Amount{"alice": 1_000_000}})
		if why := m.lienFor(kern.jobs[j.ID], &grid.Candidate{Peer: her, Price: 1}); why != nil {
			t.Fatal(why)
		}
		r := &kern.jobs[j.ID].rec
		r.Role, r.Owner, r.State, r.End, r.Started, r.Finished = grid.Watching, her, grid.Completed, grid.Completed, kern.now, kern.now+36*grid.Second
		k.change(r)
		m.jobSaved(kern.jobs[j.ID])
		if is, _ := m.book.Get("alice"); (is.Spent > 0) != k.spent || (is.InLiens() > 0) != k.lien {
			t.Errorf("%s: spent %v, in liens %v", name, is.Spent, is.InLiens())
		}
	}
}

// What was superseded before it ran leaves nothing here; a result of it is kept.
func TestWhatASupersededJobLeaves(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 1}
	for name, k := range map[string]struct {
		change func(*grid.Record)
		keep   bool
		leaves bool
	}{
		"it waits":            {func(*grid.Record) {}, false, true},
		"it has a result":     {func(r *grid.Record) { r.State, r.End, r.Started, r.Attempt = grid.StageOut, grid.Completed, 5, 1 }, true, false},
		"it ended without it": {func(r *grid.Record) { r.State, r.End, r.Attempt = grid.StageOut, grid.Failed, 1 }, false, true},
	} {
		j := jobOf(her, "b", "1")
		r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Certificates: []grid.Certificate{certificate(j, her, 1, me)}}}
		k.change(&r)
		c := signed(r)
		d, dropped := only[Discard](c.Step(c.now+1, Message{her, wire.Superseded{Job: j.ID, Of: at, Epoch: grid.Epoch{Term: 2}, Keep: k.keep}}))
		if got := c.job(j.ID).rec; got.Role != grid.Tombstone || dropped != k.leaves || dropped && d.Job != j.ID || got.Kept == k.leaves {
			t.Errorf("%s: it is %s, dropped %t, kept %t", name, got.Role, dropped, got.Kept)
		}
	}
}

// The jobs of a user are asked about in the order of their priorities, in the turns that they had.
func TestQuestionsGoByPriority(t *testing.T) {
	t.Parallel()
	var records []grid.Record
	for n, priority := range []int{0, 5, 9} {
		j := jobOf(me, "a", fmt.Sprint(n+1))
		j.Terms.Priority = priority
		records = append(records, grid.Record{Job: j, State: grid.Ready, Submitted: grid.Tick(n + 1), Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	}
	c := signed(records...)
	asked := ""
	for len(asked) == 0 && c.now < 1_000_000+grid.Minute {
		at, _ := c.Next()
		for _, m := range sentTo(c.Step(at, Tick{}), her) {
			if m, is := m.(wire.EstimateRequest); is {
				for _, q := range m.Questions {
					asked += string(q.Job)[len(q.Job)-1:]
				}
			}
		}
	}
	if asked != "321" {
		t.Errorf("asked in the order %q", asked)
	}
}

// Nobody can take a job, which waits; a member that comes back is asked about it at once.
func TestAMemberThatComesBackIsAsked(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Demand.Chunks[0].Cores = 64
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	var asks int
	step := func(now grid.Tick, ev Event) {
		for _, e := range c.Step(now, ev) {
			s, is := e.(Send)
			if ask, asked := s.Message.(wire.EstimateRequest); is && asked {
				asks++
				c.Step(now, Message{s.To, wire.EstimateReply{Round: ask.Round, Site: grid.Site{Speed: 1}, Answers: []wire.Answer{{Job: j.ID, Estimate: grid.Estimate{Refusal: forNow("busy")}}}}})
			}
		}
	}
	for c.now < 1_000_000+grid.Minute {
		at, _ := c.Next()
		step(at, Tick{})
		step(c.now, shot(c.now))
	}
	if asks == 0 || c.search.round != nil {
		t.Fatalf("%d questions, a round is under way: %t", asks, c.search.round != nil)
	}
	asks = 0
	step(c.now+1, PeerChanged{him, grid.Doubtful})
	if asks > 0 {
		t.Fatal("asked as one is in doubt")
	}
	if step(c.now+1, PeerChanged{him, grid.Alive}); asks == 0 {
		t.Error("nobody is asked when one has come back")
	}
}

// An attempt that is to be cancelled is taken back, while others are still asked whether it has run elsewhere: it waits at hand, and its user is told its
// end when that is known.
func TestACancelThatWaitsForOthers(t *testing.T) {
	t.Parallel()
	r := runningHere(func(r *grid.Record) {
		r.State, r.Started, r.CancelRequested, r.Uncertain = grid.Assigned, 0, true, true
	})
	c := signed(r)
	j := c.job(r.Job.ID)
	c.recovery.rolled = &rollback{waiting: map[grid.PeerID]bool{her: true}}
	j.withdrawing = c.attempt(j)
	effects := c.Step(c.now+1, Withdrawn{ID: c.attempt(j), Done: true})
	saved := slices.ContainsFunc(savesOf(effects, r.Job.ID), func(ch grid.Change) bool {
		return len(ch.Events) > 0 && strings.Contains(ch.Events[0].Why, "to be cancelled")
	})
	if j.rec.State != grid.Ready || j.rec.Local != "" || !saved {
		t.Errorf("it is %v, %q; saved %t", j.rec.State, j.rec.Local, saved)
	}
}

// A home that was put back learns from the owner which version of a job it has given away, and takes it for the job's.
func TestAHomeTakesTheVersionThatIsOut(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	out := j
	out.Name = "the version that is out"
	chain := []grid.Certificate{certificate(out, me, 5, her)}
	for name, k := range map[string]struct {
		told  func(*wire.Recalled)
		taken bool
	}{
		"as it was given away":    {func(*wire.Recalled) {}, true},
		"another one":             {func(m *wire.Recalled) { m.Job.Name = "what she would like" }, false},
		"of another user":         {func(m *wire.Recalled) { m.Job.User.Name = "bob" }, false},
		"only prepared":           {func(m *wire.Recalled) { m.Owning = false }, false},
		"without a proof of that": {func(m *wire.Recalled) { m.Certificates = nil }, false},
	} {
		altered := grid.Alteration{}
		c := signed(grid.Record{
			Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 1}}, AtHome: grid.AtHome{Altered: &altered},
		})
		recalls := slices.ContainsFunc(sentTo(c.Step(c.now+1, Message{her, wire.Report{
			Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, Number: 1, State: grid.Assigned, Certificates: chain, Version: wire.JobDigest(out),
		}}), her), func(m wire.Message) bool { return m.Kind() == wire.KindRecall })
		m := wire.Recalled{Job: out, Epoch: grid.Epoch{Term: 1, Hop: 5}, Owning: true, Certificates: chain}
		k.told(&m)
		c.Step(c.now+1, Message{her, m})
		if r := c.job(j.ID).rec; !recalls || (r.Job.Name == out.Name) != k.taken || (r.Altered == nil) != k.taken {
			t.Errorf("%s: asked for %t, it is %q, altered %t", name, recalls, r.Job.Name, r.Altered != nil)
		}
	}
}
