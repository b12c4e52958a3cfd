package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// asks tells that a place is searched for a job.
func asks(effects []Effect) bool {
	for _, e := range effects {
		if s, is := e.(Send); is {
			if _, is := s.Message.(wire.EstimateRequest); is {
				return true
			}
		}
	}
	return false
}

func (c *Core) handIn(t *testing.T, j grid.Job) []Effect {
	t.Helper()
	effects := c.Step(c.now+1, Submit{Token: 1, Job: j})
	if a, _ := only[Answer](effects); a.Err != nil {
		t.Fatal(a.Err)
	}
	return effects
}

func altered(c *Core, id grid.JobID, to grid.Alteration) (Answer, []Effect) {
	effects := c.Step(c.now+1, Alter{Token: 2, Job: id, To: to, By: "alice"})
	a, _ := only[Answer](effects)
	return a, effects
}

func withTerms(n string, t grid.Terms) grid.Job {
	j := jobOf(me, "a", n)
	j.Terms = t
	return j
}

var yes, no = true, false

// A job is not searched a place for before its instant, also after a restart; its reason says so.
func TestAJobWaitsForItsInstant(t *testing.T) {
	t.Parallel()
	c := signed()
	at := c.now + grid.Hour
	j := withTerms("1", grid.Terms{NotBefore: at})
	if asks(c.handIn(t, j)) {
		t.Fatal("a place is searched for it at once")
	}
	r := c.jobs[j.ID].rec
	if r.State != grid.Ready || !strings.Contains(r.Reason, at.Stamp()) {
		t.Errorf("it is %s, %q", r.State, r.Reason)
	}
	for life := range 2 {
		if life == 1 {
			c = signed(r)
		}
		if asks(c.Step(at-1, Tick{})) {
			t.Errorf("life %d: a place is searched for it too early", life)
		}
		if next, ok := c.Next(); !ok || next > at {
			t.Errorf("life %d: it is looked at only at %d", life, next)
		}
		if !asks(c.Step(at, Tick{})) || c.jobs[j.ID].rec.Reason != "" {
			t.Errorf("life %d: nothing keeps it back, and it waits: %q", life, c.jobs[j.ID].rec.Reason)
		}
	}
}

// What is held while it waits in the local queue is withdrawn, waits, and goes when it is released.
func TestAHeldJobLeavesTheQueue(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	_, effects := altered(c, j.ID, grid.Alteration{Held: &yes})
	w, asked := only[Withdraw](effects)
	if !asked {
		t.Fatalf("it is not withdrawn: %+v", effects)
	}
	if effects = c.Step(c.now+1, Withdrawn{ID: w.ID, Done: true}); asks(effects) {
		t.Error("a place is searched for what is held")
	}
	if r := c.jobs[j.ID].rec; r.State != grid.Ready || !strings.HasPrefix(r.Reason, "held") {
		t.Fatalf("it is %s, %q", r.State, r.Reason)
	}
	if _, effects = altered(c, j.ID, grid.Alteration{Held: &no}); !asks(effects) {
		t.Error("released, it does not go")
	}
}

// It had started: it runs on, and is not held; and what runs is refused.
func TestARunningJobIsNotHeld(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	_, effects := altered(c, j.ID, grid.Alteration{Held: &yes})
	w, _ := only[Withdraw](effects)
	c.Step(c.now+1, Withdrawn{ID: w.ID})
	c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: w.ID, Phase: grid.Started, Started: c.now}})
	if r := c.jobs[j.ID].rec; r.State != grid.Running || r.Job.Terms.Held {
		t.Fatalf("it is %s, held: %v", r.State, r.Job.Terms.Held)
	}
	if a, _ := altered(c, j.ID, grid.Alteration{Held: &yes}); a.Err == nil || !strings.Contains(a.Err.Error(), "only a job that waits is held") {
		t.Errorf("answered %v", a.Err)
	}
	hour := grid.Hour
	if a, _ := altered(c, j.ID, grid.Alteration{Walltime: &hour}); a.Err == nil || !strings.Contains(a.Err.Error(), "only its deadline") {
		t.Errorf("answered %v", a.Err)
	}
}

// The owner elsewhere is asked to give it back; its offer is taken though nothing here could run it,
// and the job waits at home.
func TestAHeldJobComesHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	chain := []grid.Certificate{certificate(j, me, 1, her)}
	epoch := grid.Epoch{Term: 1, Hop: 1}
	home := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Report: 1, Certificates: chain}})
	owner := bareAs(her, "b", grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}, Tenure: grid.Tenure{Role: grid.Owning, Owner: her, Epoch: epoch, Report: 1, Certificates: chain}})
	owner.Step(1_000_001, PeerChanged{me, grid.Alive})
	owner.Step(1_000_001, Message{me, wire.Seen{}})
	_, effects := altered(home, j.ID, grid.Alteration{Held: &yes})
	pass := func(from *Core, effects []Effect, to *Core, as, whom grid.PeerID) (answers []Effect) {
		for _, m := range sentTo(effects, whom) {
			answers = append(answers, to.Step(to.now+1, Message{as, m})...)
			to.Durable(uint64(to.now))
		}
		return answers
	}
	effects = pass(home, effects, owner, me, her) // ReportAck{Back}
	effects = pass(owner, effects, home, her, me) // Offer
	effects = pass(home, effects, owner, me, her) // Ready
	w, asked := only[Withdraw](effects)
	if !asked {
		t.Fatalf("the owner does not withdraw it: %+v", effects)
	}
	effects = owner.Step(owner.now+1, Withdrawn{ID: w.ID, Done: true})
	for range 3 { // Commit, and what is asked about it
		effects = pass(home, pass(owner, effects, home, her, me), owner, me, her)
	}
	if r := home.jobs[j.ID].rec; r.Role != grid.Owning || r.State != grid.Ready || !strings.HasPrefix(r.Reason, "held") {
		t.Errorf("at home it is %s %s, %q", r.Role, r.State, r.Reason)
	}
}

// A deadline ends a job that waits, is held or runs, at its owner.
func TestADeadlineEndsAJob(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]grid.Record{
		"held":     {State: grid.Ready},
		"waiting":  {State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}},
		"running":  {State: grid.Running, Run: grid.Run{Attempt: 1, Local: "17", Started: 1_000_000}},
		"for them": {State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := r
			r.Job = withTerms("1", grid.Terms{Deadline: 1_000_000 + grid.Hour, Held: name == "held"})
			if name == "for them" {
				r.Job = jobOf(her, "b", "1")
				r.Job.Terms.Deadline = 1_000_000 + grid.Hour
			}
			r.Tenure = grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
			c := signed(r)
			c.Step(1_000_000+grid.Hour-1, Tick{})
			if c.jobs[r.Job.ID].rec.CancelRequested {
				t.Fatal("too early")
			}
			effects := c.Step(1_000_000+grid.Hour, Tick{})
			c.jobs[r.Job.ID].rec.Job.Terms.Deadline = c.now + grid.Day // or the clock was set back since
			if w, is := only[Withdraw](effects); is {
				c.Step(c.now+1, Withdrawn{ID: w.ID, Done: true})
			}
			if k, is := only[Kill](effects); is {
				effects = c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: k.ID, Phase: grid.Ended, Cause: grid.ByRequest, Started: 1_000_000, Finished: c.now}})
				c.Step(c.now+1, Collected{Job: r.Job.ID, Epoch: r.Epoch})
			}
			if got := c.jobs[r.Job.ID].rec; got.End != grid.CancelledDeadline || got.State != grid.CancelledDeadline && got.State != grid.StageOut {
				t.Errorf("it is %s, its end %s", got.State, got.End)
			}
		})
	}
}

// A new version is made at home alone, when the job has no place, and is what is asked about then.
func TestAnAlteredJobIsANewVersion(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	before := c.jobs[j.ID].sum()
	walltime, processes := 7*grid.Minute, 3
	_, effects := altered(c, j.ID, grid.Alteration{Walltime: &walltime, Processes: &processes})
	w, _ := only[Withdraw](effects)
	if c.jobs[j.ID].rec.Job.Walltime != j.Walltime {
		t.Fatal("altered while it may start")
	}
	effects = c.Step(c.now+1, Withdrawn{ID: w.ID, Done: true})
	got := c.jobs[j.ID]
	if got.rec.Job.Walltime != walltime || got.rec.Job.Demand.Processes() != 3 || got.sum() == before || got.rec.Altered != nil {
		t.Fatalf("it is %+v", got.rec.Job)
	}
	for _, e := range effects {
		if s, is := e.(Send); is {
			if q, is := s.Message.(wire.EstimateRequest); is && q.Questions[0].Walltime != walltime {
				t.Errorf("asked about %v", q.Questions[0].Walltime)
			}
		}
	}
	if !asks(effects) {
		t.Error("no place is searched for it")
	}
}

// A change that does not fit the version which was learned since is over, and the user is told why.
func TestAChangeThatFitsNoMore(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	processes := 3
	_, effects := altered(c, j.ID, grid.Alteration{Processes: &processes})
	w, _ := only[Withdraw](effects)
	of := c.jobs[j.ID].rec.Job
	of.Demand.Chunks = []grid.Chunk{{Count: 2, Processes: 2, Cores: 2}}
	c.jobs[j.ID].takeVersion(of)
	effects = c.Step(c.now+1, Withdrawn{ID: w.ID, Done: true})
	if got := c.jobs[j.ID].rec; got.Altered != nil || got.Job.Demand.Processes() != 4 {
		t.Errorf("it is %+v", got)
	}
	told := func(e grid.Event) bool { return strings.HasPrefix(e.Why, "it cannot be altered any more (") }
	if !slices.ContainsFunc(effects, func(e Effect) bool { s, is := e.(Save); return is && slices.ContainsFunc(s.Change.Events, told) }) {
		t.Errorf("nobody is told: %+v", effects)
	}
}

// A place is searched only for a job of this home that waits here, and whose end is not wanted.
func TestWhoIsDue(t *testing.T) {
	t.Parallel()
	own := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
	for name, k := range map[string]struct {
		change func(*grid.Record)
		due    bool
	}{
		"it waits here":    {func(*grid.Record) {}, true},
		"of another home":  {func(r *grid.Record) { r.Job = jobOf(her, "b", "1") }, false},
		"another has it":   {func(r *grid.Record) { r.Role, r.Owner = grid.Watching, her }, false},
		"it was placed":    {func(r *grid.Record) { r.State = grid.Assigned }, false},
		"it is not wanted": {func(r *grid.Record) { r.CancelRequested = true }, false},
	} {
		r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Ready, Tenure: own}
		k.change(&r)
		o := &others{}
		m, _ := termsAlone(t, o, r)
		o.take()
		m.due(m.jobs[r.Job.ID])
		if got := strings.Contains(strings.Join(o.take(), " "), "undecide"); got != k.due {
			t.Errorf("%s: a place is searched: %t", name, got)
		}
	}
}
