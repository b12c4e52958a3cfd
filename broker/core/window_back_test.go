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

// A home lost that it had made a job of a sweep and offered it to b, which was PREPARED and asks. It knows the job by its template: it
// makes that as one of a branch that is lost, when all were asked, and does not give it up.
func TestAJobOfASweepThatWasOnlyOfferedIsMadeAgain(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	like, at := jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 9}
	job := like
	job.ID = group.Job(3)
	cfg := signer(me, "a")
	cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 4, AtOnce: 1, Submitted: 5, Template: grid.Hash{1}}}
	cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
	cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
	begin(c)
	for _, p := range []grid.PeerID{her, him} {
		c.Step(c.now+1, PeerChanged{p, grid.Alive})
	}
	c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}}) // this journal was put back
	c.Step(c.now+1, Message{her, wire.Recalled{Job: job, Epoch: at}})
	if j := c.job(job.ID); j != nil {
		t.Fatalf("it is %s (%s), and not all were asked", j.rec.State, j.rec.Reason)
	}
	for _, p := range []grid.PeerID{her, him} {
		c.Step(c.now+1, Message{p, wire.Recounted{}})
	}
	for range 10 {
		c.Step(c.now+grid.Second, Tick{})
	}
	if j := c.job(job.ID); j == nil || j.rec.State.Terminal() || !j.recovered || c.job(group.Job(4)) != nil {
		t.Errorf("it is not made again, as one of a branch that is lost: %+v", j)
	}
}
