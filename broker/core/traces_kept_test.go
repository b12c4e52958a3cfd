package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A member has told of a job that it had and has forgotten, is removed then, and the home is started anew before all have answered: the job
// may have run there.
func TestATraceOfOneThatIsNoMemberAnyMore(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(ready(j))
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	c.Step(c.now+1, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}}}}})
	left := []grid.Member{{Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}
	cfg := signer(me, "a")
	cfg.State = *lastState(c.Step(c.now+1, MembersChanged{left}), &grid.SiteState{})
	c = New(cfg, left, []grid.Record{c.job(j.ID).rec})
	begin(c)
	heardAll(c)
	if r := c.peek(j.ID).rec; r.State != grid.Lost {
		t.Errorf("it is %s (%s), waited for: %v", r.State, r.Reason, c.recovery.waitedFor())
	}
}

// comingSweep is a home whose journal was put back to before the files of a sweep had come, and which then had made its third job.
func comingSweep(state grid.SiteState) (*Core, grid.GroupID) {
	like, files := jobOf(me, "a", "1"), grid.Manifest{{Path: "in", Size: 5}}
	like.Inputs = files
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	cfg := signer(me, "a")
	cfg.State = state
	cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 4, Submitted: 5, Template: grid.Hash{1}, Coming: []int{0}}}
	cfg.Templates = []grid.Template{{Group: group, Document: "sweep", Inputs: files}}
	cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
	return New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil), group
}

// begins and has its neighbours speak.
func beginHeard(c *Core, attempts ...grid.AttemptID) {
	c.Step(1_000_000, Boot{})
	c.Step(1_000_000, Reconciled{All: true, Attempts: attempts})
	for _, p := range []grid.PeerID{her, him} {
		c.Step(c.now+1, PeerChanged{p, grid.Alive})
		c.Step(c.now+1, Message{p, wire.Seen{}})
	}
}

// A member had a job of a sweep, and has forgotten it too. Its turn comes only after the next start of the home.
func TestATraceOfASweepOverAStart(t *testing.T) {
	t.Parallel()
	c, group := comingSweep(grid.SiteState{})
	beginHeard(c)
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	c.Step(c.now+1, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: group.Job(3), Epoch: grid.Epoch{Term: 1, Hop: 9}}}}})
	state := *lastState(c.Step(c.now+1, Message{him, wire.Recounted{}}), &grid.SiteState{})
	if c.recovery.recounting() {
		t.Fatalf("waited for: %v", c.recovery.waitedFor())
	}
	c, _ = comingSweep(state)
	beginHeard(c)
	c.Step(c.now+1, Uploaded{Token: 2, Job: group.Template(), Inputs: grid.Manifest{{Path: "in", Size: 5}}})
	pass(c, 10*grid.Second)
	if j := c.peek(group.Job(3)); j == nil || j.rec.State != grid.Lost {
		t.Errorf("it has a record: %t, and is to start", j != nil)
	}
}
