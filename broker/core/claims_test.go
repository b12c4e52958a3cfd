package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// oldResult is the end of a run that b had of a job of this home before it was given to another.
func oldResult(j grid.Job) wire.Report {
	return wire.Report{
		Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 4, State: grid.StageOut, End: grid.Completed, HasExit: true,
		Started: wire.Ago{Span: 50, Known: true}, Finished: wire.Ago{Span: 10, Known: true}, Outputs: grid.Manifest{{Path: "out", Size: 1}},
	}
}

// A site that was forgotten brings a result while the job waits to start again here: the start token decides whose run counts. What
// has not started is taken back for the result; what has, goes on, and the result is kept at the site that has it.
func TestTheStartTokenDecidesOfAClaim(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name  string
		token Withdrawn
		taken bool
	}{
		{"it never starts", Withdrawn{Done: true}, true},
		{"it has started", Withdrawn{}, false},
		{"nobody can tell", Withdrawn{Err: errors.New("torn"), Damaged: true}, false},
	} {
		j := jobOf(me, "a", "1")
		at := grid.Epoch{Term: 2}
		c := signed(grid.Record{
			Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "l"},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
		})
		w, asked := only[Withdraw](c.Step(1_000_001, Message{her, oldResult(j)}))
		if !asked {
			t.Fatalf("%s: the token is not asked for", k.name)
		}
		k.token.ID = w.ID
		effects := c.Step(1_000_002, k.token)
		f, fetched := only[Fetch](effects)
		kept := false
		for _, m := range sentTo(effects, her) {
			s, is := m.(wire.Superseded)
			kept = kept || is && s.Keep && s.Of == oldResult(j).Epoch && s.Epoch == at && s.Owner == me
		}
		r := c.job(j.ID).rec
		if fetched != k.taken || kept == k.taken || k.taken && (f.From != her || r.Owner != her || r.Adopted != oldResult(j).Epoch || r.Epoch != at) || !k.taken && r.Owner != me {
			t.Errorf("%s: fetched %t, kept there %t: %+v", k.name, fetched, kept, r.Tenure)
		}
		if k.taken {
			continue
		}
		for _, m := range sentTo(c.Step(1_000_003, Withdrawn{ID: w.ID}), her) {
			if m.Kind() == wire.KindSuperseded {
				t.Errorf("%s: it is told twice", k.name)
			}
		}
		again := c.job(j.ID) // that start is lost, and a word of hers is late
		again.rec.State, again.rec.Run = grid.Ready, grid.Run{}
		effects = c.Step(1_000_004, Message{her, oldResult(j)})
		s, kept := sentTo(effects, her)[0].(wire.Superseded)
		if _, fetched := only[Fetch](effects); fetched || !kept || !s.Keep || again.rec.Role != grid.Owning {
			t.Errorf("%s: she may have let it go, and it is %s (%+v)", k.name, again.rec.Role, effects)
		}
	}
}

// One claims a job that has ended, at an epoch that its home does not know: it is closed where that has ended too; what is left of it
// is not started, but where the job was given up for lost what runs may end.
func TestAClaimOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 7}
	for _, k := range []struct {
		end, state grid.State
		want       wire.Message
	}{
		{grid.Completed, grid.StageOut, wire.ReportAck{Closed: true, Epoch: at, Number: 9}},
		{grid.Completed, grid.Running, wire.Superseded{Of: at, Epoch: grid.Epoch{Term: 2}, Answers: 9}},
		{grid.Lost, grid.Running, wire.Superseded{Of: at, Epoch: at, Answers: 9}},
	} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{
			Job: j, State: k.end, Ended: 900_000, Run: grid.Run{End: k.end, Started: 5, Finished: 6},
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}},
		})
		m := wire.Report{Job: j.ID, Epoch: at, Number: 9, State: k.state, Started: wire.Ago{Span: 5, Known: true}}
		if k.state == grid.StageOut {
			m.End = grid.Completed
		}
		switch w := k.want.(type) {
		case wire.ReportAck:
			w.Job = j.ID
			k.want = w
		case wire.Superseded:
			w.Job = j.ID
			k.want = w
		}
		if got := sentTo(c.Step(1_000_001, Message{him, m}), him); len(got) != 1 || got[0] != k.want {
			t.Errorf("%v, claimed in %v: %+v, want %+v", k.end, k.state, got, k.want)
		}
	}
}

// The owner of a job that was given up for lost ends it without a result: that is acknowledged, and it stays lost.
func TestALostJobGainsNoEndWithoutAResult(t *testing.T) {
	t.Parallel()
	for end, gains := range map[grid.State]bool{grid.Failed: false, grid.Completed: true} {
		j := jobOf(me, "a", "1")
		m := oldResult(j)
		m.End = end
		c := signed(grid.Record{
			Job: j, State: grid.Lost, Ended: 900_000, Run: grid.Run{End: grid.Lost}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: m.Epoch},
		})
		effects := c.Step(1_000_001, Message{her, m})
		closed := false
		for _, a := range sentTo(effects, her) {
			ack, is := a.(wire.ReportAck)
			closed = closed || is && ack.Closed && ack.Number == m.Number
		}
		_, fetched := only[Fetch](effects)
		if r := c.job(j.ID).rec; r.State != grid.Lost || closed == gains || fetched != gains || !gains && (r.End != grid.Lost || r.Report != 0) {
			t.Errorf("it ended %v: closed %t, fetched %t, it is %v, %v", end, closed, fetched, r.State, r.End)
		}
	}
}

// The end of a superseded run is asked for until it is seen: the batch system may not have heard the first time. Its home hears
// no wish to cancel of that.
func TestASupersededRunIsKilledUntilItEnds(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{
		Job: j, State: grid.Running, Run: grid.Run{Attempt: 1, Local: "l", Started: 900_000},
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
	})
	kills := 0
	count := func(effects []Effect) {
		for _, e := range effects {
			if _, is := e.(Kill); is {
				kills++
			}
		}
	}
	count(c.Step(1_000_001, Message{her, wire.Superseded{Job: j.ID, Of: at, Epoch: grid.Epoch{Term: 2}}}))
	if kills != 1 {
		t.Fatalf("killed %d times", kills)
	}
	for now := grid.Tick(1_000_001); now < 1_000_001+5*grid.Minute; {
		now, _ = c.Next()
		count(c.Step(now, Tick{}))
	}
	if r := c.job(j.ID).rec; kills < 3 || r.State != grid.Running || r.CancelRequested {
		t.Errorf("killed %d times, it is %v, cancelled %t", kills, r.State, r.CancelRequested)
	}
}

// A job that its user has cancelled still runs when its deadline passes: the wish stays that of its user.
func TestADeadlineAfterACancel(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{true, false} {
		r := runningHere(func(r *grid.Record) { r.Job.Terms.Deadline = 1_000_100 })
		c := signed(r)
		if cancelled {
			c.Step(1_000_001, CancelRequest{Token: 1, Job: r.Job.ID, By: "alice"})
		}
		c.Step(1_000_100, Tick{})
		if k := c.job(r.Job.ID); !k.rec.CancelRequested || k.rec.Overdue == cancelled || k.rec.Wished() != cancelled {
			t.Errorf("cancelled %t: its end is wanted: %t, by its deadline: %t", cancelled, k.rec.CancelRequested, k.rec.Overdue)
		}
	}
}

// A wish to cancel reaches an owner that is about to hand the job on: what waits in its batch system is taken back first.
func TestACancelOfAJobThatMovesOn(t *testing.T) {
	t.Parallel()
	c, j, _ := offering(grid.Offering)
	w, asked := only[Withdraw](c.Step(c.now+1, Message{her, wire.Cancel{Job: j.rec.Job.ID, Epoch: j.rec.Epoch}}))
	if !asked || j.rec.State == grid.StageOut {
		t.Fatalf("its attempt is taken back: %t; it is %v", asked, j.rec.State)
	}
	effects := c.Step(c.now+1, Withdrawn{ID: w.ID, Done: true})
	aborted := false
	for _, m := range sentTo(effects, him) {
		aborted = aborted || m.Kind() == wire.KindAbort
	}
	if j.rec.State != grid.StageOut || j.rec.End != grid.Killed || !aborted || j.rec.Handoff.Phase != grid.NoHandoff {
		t.Errorf("it is %v, %v; the candidate is told %t", j.rec.State, j.rec.End, aborted)
	}
}

// These rules are what holds: each is seen to be gone where it is switched off.
func TestRulesOfCancels(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 3}
	for off, want := range map[Rules]bool{0: true, CancelFenced: false} {
		j := jobOf(her, "b", "1")
		cfg := signer(me, "a")
		cfg.Broken = off
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
			Job: j, State: grid.Running, Run: grid.Run{Attempt: 1, Local: "l", Started: 900_000}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at},
		}})
		begin(c)
		c.Step(1_000_001, Message{her, wire.Cancel{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
		if got := c.job(j.ID).rec.CancelRequested; got != want {
			t.Errorf("rules off %b: a wish that was said at an older epoch counts: %t", off, got)
		}
	}
	for off, want := range map[Rules]grid.State{0: grid.Running, CancelledToldEarly: grid.Killed} {
		cfg := signer(me, "a")
		cfg.Broken = off
		j := jobOf(me, "a", "1")
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
			Job: j, State: grid.Running, Run: grid.Run{Started: 900_000}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at},
		}})
		begin(c)
		c.Step(1_000_001, CancelRequest{Token: 1, Job: j.ID, By: "alice"})
		if got := c.job(j.ID).rec.State; got != want {
			t.Errorf("rules off %b: cancelled it is %v", off, got)
		}
	}
}
