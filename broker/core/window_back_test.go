package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home whose journal was put back counts fewer jobs of a sweep than it had made, and learns another again from its
// owner. The cancel of the sweep reaches that too, at once, whichever comes first.
func TestTheCancelOfASweepReachesWhatIsLearntAgain(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	like, at := jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 1}
	job := like
	job.ID = group.Job(2)
	recalled := Message{her, wire.Recalled{Job: job, Epoch: at, Owning: true, Certificates: []grid.Certificate{certificate(job, me, 1, her)}}}
	cancel := CancelGroup{Token: 1, Group: group, By: "alice"}
	for name, events := range map[string][]Event{
		"cancelled when it is learnt": {recalled, cancel},
		"learnt when it is cancelled": {cancel, recalled},
	} {
		cfg := signer(me, "a")
		cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 3, Submitted: 5, Template: grid.Hash{1}}}
		cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
		cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
		begin(c)
		c.Step(c.now+1, PeerChanged{her, grid.Alive})
		c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}}) // all are asked, and c says nothing
		asked := false
		for _, ev := range events {
			for _, m := range sentTo(c.Step(c.now+1, ev), her) {
				asked = asked || m.Kind() == wire.KindCancel
			}
		}
		if j := c.job(job.ID); j == nil || !j.rec.CancelRequested || !asked {
			t.Errorf("%s: its owner is told of that: %t", name, asked)
		}
	}
}

// putBack is a home whose journal was put back to before it made the third job of a sweep, which is like that; b and c live, and are asked.
func putBack(like grid.Job) (c *Core, third grid.JobID, fourth grid.JobID) {
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	cfg := signer(me, "a")
	cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 4, AtOnce: 1, Submitted: 5, Template: grid.Hash{1}}}
	cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
	cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
	c = New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
	begin(c)
	for _, p := range []grid.PeerID{her, him} {
		c.Step(c.now+1, PeerChanged{p, grid.Alive})
	}
	c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}}) // this journal was put back
	return c, group.Job(3), group.Job(4)
}

// makesAgain: all have answered, b with traces.
func makesAgain(c *Core, traces ...wire.Trace) {
	c.Step(c.now+1, Message{her, wire.Recounted{Traces: traces}})
	c.Step(c.now+1, Message{him, wire.Recounted{}})
	for range 10 {
		c.Step(c.now+grid.Second, Tick{})
	}
}

// A home lost that it had made a job of a sweep and offered it to b, which was PREPARED and asks. It knows the job by its template: it
// makes that as one of a branch that is lost, when all were asked, and does not give it up.
func TestAJobOfASweepThatWasOnlyOfferedIsMadeAgain(t *testing.T) {
	t.Parallel()
	like := jobOf(me, "a", "1")
	c, third, fourth := putBack(like)
	job := like
	job.ID = third
	c.Step(c.now+1, Message{her, wire.Recalled{Job: job, Epoch: grid.Epoch{Term: 1, Hop: 9}}})
	if j := c.job(third); j != nil {
		t.Fatalf("it is %s (%s), and not all were asked", j.rec.State, j.rec.Reason)
	}
	makesAgain(c)
	if j := c.job(third); j == nil || j.rec.State.Terminal() || !j.recovered || c.job(fourth) != nil {
		t.Errorf("it is not made again, as one of a branch that is lost: %+v", j)
	}
}

// The same, and b has had the job, has lost its journal, and knows it by its control directory alone: it may have run there. What may run
// once is LOST, what may run twice begins at a new term, which no attempt there has.
func TestAJobOfASweepThatWasElsewhereIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, rerunnable := range []bool{false, true} {
		like := jobOf(me, "a", "1")
		like.Rerunnable = rerunnable
		c, third, fourth := putBack(like)
		trace := wire.Trace{Job: third, Epoch: grid.Epoch{Term: 1, Hop: 9}}
		makesAgain(c, trace)
		j := c.job(third)
		switch {
		case j == nil || c.job(fourth) != nil && rerunnable:
			t.Fatalf("rerunnable %t: it is not made again, or more than that", rerunnable)
		case !rerunnable && j.rec.State != grid.Lost, rerunnable && (j.rec.State.Terminal() || j.rec.Epoch.Term <= trace.Epoch.Term || !j.rec.Unfenced):
			t.Errorf("rerunnable %t: it is %s at %s", rerunnable, j.rec.State, j.rec.Epoch)
		}
	}
}
