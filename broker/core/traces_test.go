package core

import (
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// Home and runner were both set back. The runner, before it has read its control directories, says
// nothing; then it tells of the attempts that its journal lacks, to the home of those jobs, and to others: they may have had them.
func TestARunnerTellsTraces(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
	c.Step(1_000_000, PeerSite{her, grid.Site{Name: "b"}})
	c.Step(1_000_000, PeerSite{him, grid.Site{Name: "c"}})
	if _, asks := only[Reconcile](c.Step(1_000_000, Boot{})); !asks {
		t.Fatal("it does not look into its control directories")
	}
	ask := Message{her, wire.Recount{}}
	if m := sentTo(c.Step(1_000_001, ask), her); len(m) != 0 {
		t.Errorf("it answers %+v, and does not know", m)
	}
	attempts := []grid.AttemptID{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}, Attempt: 1}, {Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 4}, Attempt: 3}}
	c.Step(1_000_002, Reconciled{Attempts: attempts})
	if m := sentTo(c.Step(1_000_003, ask), her); len(m) != 0 {
		t.Errorf("it answers %+v, and some could not be read", m)
	}
	c.Step(1_000_004, Reconciled{Attempts: attempts, All: true})
	want := wire.Trace{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}}
	if m := sentTo(c.Step(1_000_005, ask), her); len(m) != 1 || len(m[0].(wire.Recounted).Traces) != 1 || m[0].(wire.Recounted).Traces[0] != want {
		t.Errorf("it answers %+v", m)
	}
	if m := sentTo(c.Step(1_000_005, Message{him, wire.Recount{}}), him); len(m) != 1 || !slices.Equal(m[0].(wire.Recounted).Traces, []wire.Trace{want}) {
		t.Errorf("another site hears %+v", m)
	}
}

// The folder of such a job was put aside, and the broker has been started again since. It still knows that it had the job.
func TestWhatWasPutAsideIsATrace(t *testing.T) {
	t.Parallel()
	j, had := jobOf(her, "b", "1"), grid.Epoch{Term: 1, Hop: 9}
	c := signed()
	c.Step(c.now+1, Reconciled{All: true, Aside: []grid.AttemptID{{Job: j.ID, Epoch: had, Attempt: 1}}})
	var traces []wire.Trace
	for _, m := range sentTo(c.Step(c.now+1, Message{her, wire.Recount{}}), her) {
		if r, is := m.(wire.Recounted); is {
			traces = r.Traces
		}
	}
	if len(traces) != 1 || traces[0] != (wire.Trace{Job: j.ID, Epoch: had}) {
		t.Errorf("its home, which was set back, hears of %v", traces)
	}
	if m := sentTo(c.Step(c.now+1, Message{her, wire.Recall{Job: j.ID}}), her); len(m) != 1 || m[0].(wire.Error).Had != had {
		t.Errorf("its home, which asks who had it, hears %+v", m)
	}
	c.Step(c.now+1, Message{her, offerOf(j, had.Hop, 0)})
	if c.Step(c.now+1, shot(c.now+1)); c.jobs[j.ID] != nil {
		t.Error("a late copy of the offer is taken")
	}
}

// The job is offered again, and the offer dies: what is here of the attempts that the journal lacks is not dropped with what was
// brought for it.
func TestATraceOutlivesAnOfferThatDied(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "x", Size: 1, Ranges: make([]grid.Hash, 1)}}
	for name, prepared := range map[string]bool{"before the files were here": false, "after that": true} {
		for traced, want := range map[bool]Effect{true: SetAside{Job: j.ID, Foreign: true}, false: Discard{Job: j.ID}} {
			c := signed()
			if traced {
				c.Step(c.now+1, Reconciled{All: true, Attempts: []grid.AttemptID{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Attempt: 1}}})
			}
			o := offerOf(j, 9, 0)
			c.Step(c.now+1, Message{her, o})
			c.Step(c.now+1, shot(c.now+1))
			if prepared {
				c.Step(c.now+1, Fetched{Job: j.ID, Epoch: o.Handoff.Epoch, Set: InputFiles})
			}
			if is := c.jobs[j.ID] != nil; is != prepared {
				t.Fatalf("%s: PREPARED %t", name, is)
			}
			effects := c.Step(c.now+1, Message{her, wire.Abort{Handoff: o.Handoff}})
			if !slices.Contains(effects, want) {
				t.Errorf("%s, traced %t: %+v", name, traced, effects)
			}
		}
	}
}

// What both have forgotten is not started as if nothing had been: it is LOST, or starts at a new
// term if it may; unless somebody owns it at a later epoch, or its home knows more.
func TestATraceAtTheHome(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		rerunnable bool
		epoch      grid.Epoch // of the home's record
		role       grid.Role
		owner      grid.PeerID
		report     bool // another reports it as its own, with certificates
		state      grid.State
		again      bool // at a new term
		contact    bool // lost
	}{
		"may run once":            {epoch: grid.Epoch{Term: 1}, role: grid.Owning, owner: me, state: grid.Lost},
		"may run again":           {rerunnable: true, epoch: grid.Epoch{Term: 1}, role: grid.Owning, owner: me, state: grid.Ready, again: true},
		"another has it since":    {epoch: grid.Epoch{Term: 1}, role: grid.Owning, owner: me, report: true, state: grid.Running},
		"with another, once":      {epoch: grid.Epoch{Term: 1, Hop: 2}, role: grid.Watching, owner: him, state: grid.Lost},
		"at a newer term":         {epoch: grid.Epoch{Term: 2}, role: grid.Owning, owner: me, state: grid.Ready},
		"known to be with it":     {epoch: grid.Epoch{Term: 1, Hop: 9}, role: grid.Watching, owner: her, state: grid.Running, contact: true},
		"known to be with others": {epoch: grid.Epoch{Term: 1, Hop: 9}, role: grid.Watching, owner: him, state: grid.Running},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.rerunnable
		state := grid.Ready
		if k.role == grid.Watching {
			state = grid.Running
		}
		c := signed(grid.Record{Job: j, State: state, Tenure: grid.Tenure{Role: k.role, Owner: k.owner, Epoch: k.epoch, Report: 2}})
		c.Step(1_000_001, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		c.Step(1_000_002, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}}, {Job: "a.unheard"}}}})
		if k.report {
			c.Step(1_000_003, Message{him, wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 12}, Number: 1, State: grid.Running, Attempt: 1,
				Certificates: []grid.Certificate{certificate(j, me, 9, her), certificate(j, her, 12, him)}}})
		}
		c.Step(1_000_004, Message{him, wire.Recounted{}})
		if c.recovery.rolled == nil {
			t.Fatalf("%s: it goes on, and not all have answered", name)
		}
		c.Step(1_000_005, Message{it, wire.Recounted{}})
		r := c.jobs[j.ID].rec
		if c.recovery.rolled != nil || r.State != k.state || (r.Epoch.Term > 2 || r.Epoch.Term == 2 && k.epoch.Term == 1) != k.again || (r.ContactLost != 0) != k.contact {
			t.Errorf("%s: %s at %s, contact lost %t: %s", name, r.State, r.Epoch, r.ContactLost != 0, r.Reason)
		}
	}
}

// A job that a directory alone knows comes out of what is remembered when its record does.
func TestATraceEndsWithTheRecord(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Attempt: 1}})
	c.Step(1_000_001, Reconciled{Attempts: []grid.AttemptID{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Attempt: 1}}, All: true})
	for _, m := range sentTo(c.Step(1_000_002, Message{her, wire.Recount{}}), her) {
		if r, is := m.(wire.Recounted); is && len(r.Traces) != 0 {
			t.Errorf("%+v", r.Traces)
		}
	}
}

// A job of a sweep is made again of which a trace is left: its control directory is asked for its attempts, and it
// waits for that word no longer than it takes.
func TestASweptJobWithATraceIsReconciled(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	like := jobOf(me, "a", "1")
	cfg := signer(me, "a")
	cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 1, Submitted: 5, Template: grid.Hash{1}}}
	cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
	cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
	c := New(cfg, nil, nil)
	there := grid.AttemptID{Job: group.Job(1), Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	c.Step(1_000_000, Boot{})
	effects := c.Step(1_000_000, Reconciled{All: true, Attempts: []grid.AttemptID{there}})
	for now := grid.Tick(1_001_000); now < 1_010_000; now += grid.Second {
		effects = append(effects, c.Step(now, Tick{})...)
	}
	asks, _ := only[Reconcile](effects)
	if len(asks.Jobs) != 1 || asks.Jobs[0] != there.Job {
		t.Fatalf("asked for are the attempts of %v", asks.Jobs)
	}
	if p, _ := only[Probe](c.Step(1_010_000, Reconciled{Jobs: asks.Jobs, All: true, Attempts: []grid.AttemptID{there}})); p.ID != there {
		t.Errorf("asked after is %v", p.ID)
	}
}

// The journal is lost, and a copy of the offer comes late by which the job had come here: its program has run, or does. The
// home, which has heard nothing of it, would say that the offer was committed. One of a later epoch is another matter.
func TestALateOfferOfWhatHasLeftATrace(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	for hop, prepared := range map[uint32]bool{6: false, 7: false, 8: true} {
		c := signed()
		c.Step(c.now+1, Reconciled{All: true, Attempts: []grid.AttemptID{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Attempt: 1}}})
		c.Step(c.now+1, Message{her, offerOf(j, hop, 0)})
		c.Step(c.now+1, shot(c.now+1))
		if is := c.jobs[j.ID] != nil; is != prepared {
			t.Errorf("offered at hop %d: PREPARED %t", hop, is)
		}
	}
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
	c.Step(1_000_000, Boot{})
	c.Step(c.now+1, PeerChanged{her, grid.Alive})
	for _, read := range []bool{false, true} {
		if read {
			c.Step(c.now+1, Reconciled{All: true})
		}
		refused := false
		for _, e := range c.Step(c.now+1, Message{her, offerOf(j, 7, 0)}) {
			if s, is := e.(Send); is {
				_, refuses := s.Message.(wire.Refuse)
				refused = refused || refuses && s.To == her
			}
		}
		c.Step(c.now+1, shot(c.now+1))
		if is := c.jobs[j.ID] != nil; is != read || refused == read {
			t.Errorf("the control directories were read %t: PREPARED %t, refused %t", read, is, refused)
		}
	}
}

// A site that is not the home of a job was put back to where it had it, and had given it on; who got it has lost its journal, and tells of an
// attempt at a later epoch. It may have run there: it does not start here.
func TestATraceOfAJobOfAnotherHome(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state grid.State
		trace grid.Epoch
		lost  bool
	}{
		"it waits here":          {grid.Ready, grid.Epoch{Term: 1, Hop: 9}, true},
		"it runs here":           {grid.Running, grid.Epoch{Term: 1, Hop: 9}, false},
		"it was there before":    {grid.Ready, grid.Epoch{Term: 1, Hop: 2}, false},
		"its home knows of that": {grid.Ready, grid.Epoch{Term: 2, Hop: 9}, false},
	} {
		r := grid.Record{
			Job: jobOf(him, "c", "1"), State: k.state,
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 5}},
		}
		if k.state == grid.Running {
			r.Run = grid.Run{Attempt: 1, Started: 5}
		}
		c := signed(r)
		c.Step(c.now+1, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		c.Step(c.now+1, Reconciled{All: true})
		for p, traces := range map[grid.PeerID][]wire.Trace{her: {{Job: r.Job.ID, Epoch: k.trace}}, him: nil, it: nil} {
			c.Step(c.now+1, Message{p, wire.Recounted{Traces: traces}})
		}
		if got := c.job(r.Job.ID).rec; (got.End == grid.Lost) != k.lost || c.recovery.rolled != nil {
			t.Errorf("%s: it is %s, end %s: %s; rolled back %t", name, got.State, got.End, got.Reason, c.recovery.rolled != nil)
		}
	}
}

// Where there are more traces than a word holds, those that its own home has to hear come first.
func TestTracesOfItsOwnHomeComeFirst(t *testing.T) {
	t.Parallel()
	letGo := tombstone()
	letGo.Closed, letGo.End = false, 0
	c := signed(letGo)
	c.Step(c.now+1, PeerSite{her, grid.Site{Name: "b"}})
	for n := range wire.MaxTraces + 1 {
		c.recovery.traces[grid.NewJobID("c", fmt.Sprintf("%026d", n))] = grid.Epoch{Term: 1}
	}
	list := c.recovery.tracesFor(her)
	if len(list) != wire.MaxTraces || list[0].Job != letGo.Job.ID {
		t.Errorf("%d traces, the first of %s", len(list), list[0].Job)
	}
}

// What is left of a job here is of before it came once more, and ran: the journal was put back. Its home hears of that attempt, its folder is put
// aside, and no offer of before counts.
func TestATraceBehindWhatIsLeftOfAJob(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	had := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Attempt: 1}
	for name, left := range map[string]grid.Tenure{
		"declined":  {Role: grid.Declined, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 5}}},
		"handed on": {Role: grid.Tombstone, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 5}, Certificates: []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 5, him)}},
		"let go":    {Role: grid.Tombstone, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 5}},
	} {
		for later, found := range map[bool]grid.AttemptID{true: had, false: {Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 4}, Attempt: 1}} {
			if left.Role == grid.Declined && !later {
				continue // it was never owned
			}
			c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{Job: j, State: grid.Moving, Ended: 999_990, Tenure: left}})
			if _, drops := only[Discard](c.Step(1_000_000, Boot{})); drops {
				t.Errorf("%s: its files go, and nobody has looked into its control directory", name)
			}
			c.Step(c.now+1, PeerChanged{her, grid.Alive})
			c.Step(c.now+1, Message{her, wire.Seen{}})
			effects := c.Step(c.now+1, Reconciled{All: true, Attempts: []grid.AttemptID{found}})
			effects = append(effects, c.Step(c.now+1, Folders{[]grid.JobID{j.ID}})...)
			_, drops := only[Discard](effects)
			if aside, is := only[SetAside](effects); is != later || drops == later || is && aside != (SetAside{Job: j.ID, Foreign: true}) {
				t.Errorf("%s, found %v: dropped %t, put aside %t", name, found, drops, is)
			}
			told := slices.Contains(c.recovery.tracesFor(her), wire.Trace{Job: j.ID, Epoch: found.Epoch})
			if told != later {
				t.Errorf("%s, found %v: its home hears of it: %t", name, found, told)
			}
			c.Step(c.now+1, Message{her, offerOf(j, 6, 0)})
			c.Step(c.now+1, shot(c.now+1))
			if r := c.jobs[j.ID].rec.Role; (r == grid.Prepared) == later {
				t.Errorf("%s, found %v: offered at hop 6 it is %s", name, found, r)
			}
		}
	}
}

// A trace is told also when the job has been offered since, and was not owned by that.
func TestATraceOfAJobThatIsOffered(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	had := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Attempt: 1}
	c := signed()
	c.Step(c.now+1, Reconciled{All: true, Attempts: []grid.AttemptID{had}})
	o := offerOf(j, 9, 0)
	c.Step(c.now+1, Message{her, o})
	c.Step(c.now+1, shot(c.now+1))
	if r := c.jobs[j.ID]; r == nil || r.rec.Role != grid.Prepared {
		t.Fatalf("it is %+v", r)
	}
	var traces []wire.Trace
	for _, m := range sentTo(c.Step(c.now+1, Message{her, wire.Recount{}}), her) {
		if r, is := m.(wire.Recounted); is {
			traces = r.Traces
		}
	}
	if r := c.jobs[j.ID].rec.Role; r != grid.Declined || !slices.Equal(traces, []wire.Trace{{Job: j.ID, Epoch: had.Epoch}}) {
		t.Errorf("it is %s, and its home hears of %v", r, traces)
	}
}
