package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What counts absence starts again after a stall: nothing is given up because nobody
// listened.
func TestAbsenceDoesNotCountOverAStall(t *testing.T) {
	t.Parallel()
	const jump = 8 * grid.Day
	offered, prepared, watched, upload := jobOf(me, "a", "1"), jobOf(her, "b", "2"), jobOf(me, "a", "3"), jobOf(me, "a", "4")
	records := []grid.Record{
		{Job: offered, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}},
		{Job: prepared, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}}},
		{Job: watched, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}},
		{Job: upload, State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}},
	}
	for _, told := range []bool{true, false} {
		c := bare(records...)
		c.Step(1_000_001, PeerChanged{her, grid.Alive})
		c.ownership.makeOffer(c.jobs[offered.ID], her, 0, 0)
		c.Step(1_000_002, Message{her, wire.Accept{Handoff: c.ownership.handoffID(c.jobs[offered.ID])}})
		now := grid.Tick(1_000_003) + jump
		if told {
			c.Step(now, Stall{jump})
		}
		c.Step(now, Tick{})
		kept := map[string]bool{
			"the offer":          c.jobs[offered.ID].rec.Handoff.Phase == grid.Offering,
			"the prepared job":   c.jobs[prepared.ID].rec.Role == grid.Prepared,
			"the owner's word":   c.jobs[watched.ID].rec.ContactLost == 0,
			"the files to come":  c.jobs[upload.ID].rec.State == grid.StageIn,
			"the home of others": true,
		}
		for what, ok := range kept {
			if told && !ok {
				t.Errorf("%s was given up over a stall", what)
			}
			if !told && ok && what != "the home of others" {
				t.Errorf("%s is not given up after eight days: the test tests nothing", what)
			}
		}
	}
}

// Files that this broker brings by itself, from a group or a whole, are no absence of a user: a stall does not put them off, right after
// a start or between two tries.
func TestFilesThatAreBroughtHereAreNotPutOffByAStall(t *testing.T) {
	t.Parallel()
	part := jobOf(me, "a", "1")
	part.Part = &grid.Part{Of: "a.whole"}
	started := bare(grid.Record{Job: part, State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	tried, e := sweeping(1)
	one := e.Group.ID.Job(1)
	tried.Step(tried.now+1, e)
	tried.Step(tried.now+1, Uploaded{Token: 2, Job: e.Group.ID.Template(), Inputs: e.Template.Inputs})
	tried.Step(tried.now+1, Furnished{Job: one, Err: errors.New("the disk is full")})
	for id, c := range map[grid.JobID]*Core{part.ID: started, one: tried} {
		due := c.jobs[id].due[onUpload]
		c.Step(c.now, Stall{grid.Hour})
		if list := furnishes(c.Step(due, Tick{})); len(list) != 1 || list[0].Job != id {
			t.Errorf("%s: after a stall it brings %v", id, list)
		}
	}
}

// A job that is to start again as its site was forgotten waits for those who may have got it from there: that they were silent
// counts only while this broker listened.
func TestWhoMayHaveItIsHeardAfterAStall(t *testing.T) {
	t.Parallel()
	r := watching(her, nil)
	c := bare(r)
	c.cfg.Digest = grid.Minute
	for _, m := range c.members {
		m.heard, m.told = true, true
	}
	c.Step(1_000_001, Forget{Token: 1, Site: her, Fenced: true, By: "root"})
	j := c.jobs[r.Job.ID]
	if got := c.gates.beforeStart(j); got != untilReported {
		t.Fatalf("forgotten: %s", got)
	}
	now := grid.Tick(1_000_002) + grid.Hour
	c.Step(now, Stall{grid.Hour})
	if got := c.gates.beforeStart(j); got != untilReported {
		t.Errorf("after a stall: %s", got)
	}
	c.Step(now+silence*c.cfg.Digest, Tick{})
	if got := c.gates.beforeStart(j); got != untilReported {
		t.Errorf("after the silence of those who were listened to: %s", got)
	}
	c.Step(now+silence*c.cfg.Digest, Message{him, wire.Error{Of: wire.KindRecall, Job: r.Job.ID, At: j.rec.Epoch}})
	if got := c.gates.beforeStart(j); got == untilReported {
		t.Errorf("after the word of those who may have it: %s", got)
	}
}

// After a stall, or a start, the home of a job may have given it to another.
func TestAfterAStallTheHomeIsAsked(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 2}, Run: grid.Run{Local: "l", Attempt: 1}})
	c.Step(1_000_001, Message{her, wire.ReportAck{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 2}})
	if c.gates.beforeStart(c.jobs[j.ID]) != untilHome {
		t.Error("an acknowledgement that was said before the start counts")
	}
	last := c.jobs[j.ID].rec.Report
	c.Step(1_000_001, Message{her, wire.ReportAck{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: last}})
	if why := c.gates.beforeStart(c.jobs[j.ID]); why != open {
		t.Fatalf("its home was just heard: %s", why)
	}
	reported := false
	for _, m := range sent(c.Step(1_000_002, Stall{grid.Hour})) {
		_, is := m.(wire.Report)
		reported = reported || is
	}
	if !reported || c.gates.beforeStart(c.jobs[j.ID]) == open {
		t.Errorf("reported %t, must ask %q", reported, c.gates.beforeStart(c.jobs[j.ID]))
	}
	tellNothingSeen(c)
	ack := wire.ReportAck{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: last}
	if c.Step(1_000_003, Message{her, ack}); c.gates.beforeStart(c.jobs[j.ID]) == open {
		t.Error("an acknowledgement that was said before the stall counts")
	}
	ack.Number++
	if c.Step(1_000_004, Message{her, ack}); c.gates.beforeStart(c.jobs[j.ID]) != open {
		t.Error("one that was said since does not count")
	}
}

// A search that was under way waits for its answers anew.
func TestASearchOutlivesAStall(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := bare()
	c.Step(1_003_000, PeerChanged{her, grid.Alive})
	c.Step(1_003_001, PeerChanged{him, grid.Dead})
	c.Step(1_003_001, Message{her, wire.Seen{}})
	c.Step(1_003_002, Submit{Token: 1, Job: j})
	if c.search.round == nil {
		t.Fatal("no search")
	}
	c.Step(1_003_003, shot(1_003_003))
	c.Step(1_003_003+grid.Minute, Stall{grid.Minute})
	c.Step(1_003_003+grid.Minute, Tick{})
	if c.search.round == nil {
		t.Error("decided without the answers that wait to be read")
	}
}

// An offer whose candidate was heard has a whole lease after a stall; one that was not answered is said again soon. What else is under way
// has its own time.
func TestAnOfferHasItsTimeAfterAStall(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		phase grid.HandoffPhase
		heard bool
		in    func(Config) grid.Tick
	}{
		"heard":        {grid.Offering, true, func(c Config) grid.Tick { return c.Lease }},
		"not answered": {grid.Offering, false, func(c Config) grid.Tick { return c.Retry }},
		"withdrawing":  {grid.Withdrawing, true, func(Config) grid.Tick { return 6 }},
	} {
		c, j, _ := offering(k.phase)
		if !k.heard {
			j.heard = 0
		}
		c.kernel.arm(j, onHandoff, 7)
		c.Step(c.now+1, Stall{grid.Hour})
		if in := j.due[onHandoff] - c.now; in != k.in(c.cfg) {
			t.Errorf("%s: looked after in %d ms, want %d", name, in, k.in(c.cfg))
		}
	}
}

// Over a stall another broker with a copy of the journal may have given a job away. So what was here is given to nobody before those who
// live have said again what they saw; where one of them saw another branch, not before all were asked.
func TestAfterAStallTheMembersSayAnewWhatTheySaw(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		saw   wire.Seen
		hands bool
	}{
		"nothing of a copy":        {wire.Seen{}, true},
		"the journal of that copy": {wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}, false},
	} {
		c := signed()
		c.Step(c.now+1, Submit{Token: 1, Job: jobOf(me, "a", "1")})
		j := c.sorted()[0]
		c.ownership.makeOffer(j, her, 0, 0)
		ready := Message{her, wire.Ready{Handoff: c.ownership.handoffID(j)}}
		asked := 0
		for _, m := range sent(c.Step(c.now+grid.Hour, Stall{grid.Hour})) {
			if s, is := m.(wire.Seen); is && s.WantsReply && s.Question == 1 {
				asked++
			}
		}
		if asked != 3 {
			t.Errorf("%s: %d members asked what they saw, want 3", name, asked)
		}
		for _, p := range []grid.PeerID{her, him} {
			if c.Step(c.now+1, Message{p, wire.Seen{Answers: 1}}); committed(c.Step(c.now+1, ready)) {
				t.Errorf("%s: given away before all who live have answered", name)
			}
		}
		if c.Step(c.now+1, Message{it, wire.Seen{}}); committed(c.Step(c.now+1, ready)) {
			t.Errorf("%s: given away by a word of before the stall", name)
		}
		k.saw.Answers = 1
		c.Step(c.now+1, Message{it, k.saw})
		if got := committed(c.Step(c.now+1, ready)); got != k.hands {
			t.Errorf("%s: given away %t, want %t", name, got, k.hands)
		}
	}
}

// Who lives and does not answer is waited for as long as after a start; what came since the stall does not wait.
func TestAfterAStallWhoIsSilentIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	c := signed(grid.Record{Job: jobOf(me, "a", "1"), State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.Step(c.now+grid.Hour, Stall{grid.Hour})
	c.Step(c.now+1, Submit{Token: 1, Job: jobOf(me, "a", "2")})
	before, since := c.sorted()[0], c.sorted()[1]
	if got := c.gates.beforeStart(before); got != untilNeighbours {
		t.Errorf("what was here: %s", got)
	}
	if got := c.gates.beforeStart(since); got != open {
		t.Errorf("what came since: %s", got)
	}
	c.Step(c.now+2*unspoken*c.cfg.EstimateDeadline, Tick{})
	if got := c.gates.beforeStart(before); got != open {
		t.Errorf("long after: %s", got)
	}
}

// Whoever is asked says which question he answers.
func TestSeenNamesTheQuestion(t *testing.T) {
	t.Parallel()
	c := signed()
	out := sent(c.Step(c.now+1, Message{her, wire.Seen{WantsReply: true, Question: 3}}))
	for _, m := range out {
		if s, is := m.(wire.Seen); is && s.Answers == 3 {
			return
		}
	}
	t.Errorf("it says %v", out)
}

// The jobs of a group that a copy of this journal may have made meanwhile enter when the members have said what they saw.
func TestAGroupWaitsAfterAStall(t *testing.T) {
	t.Parallel()
	c := signed()
	g := c.groups.add(grid.Group{ID: "g"})
	if got := c.gates.beforeEntering(g.recovered); got != open {
		t.Fatalf("before: %s", got)
	}
	c.Step(c.now+grid.Hour, Stall{grid.Hour})
	if got := c.gates.beforeEntering(g.recovered); got != untilNeighbours {
		t.Errorf("after the stall: %s", got)
	}
}

// tellNothingSeen has all members say that they saw no other branch of the journal.
func tellNothingSeen(c *Core) {
	for _, p := range c.neighbours() {
		c.Step(c.now, Message{p, wire.Seen{Answers: c.recovery.stalls}})
	}
}
