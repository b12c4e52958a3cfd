package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

const me, her, him = grid.PeerID("peer-a"), grid.PeerID("peer-b"), grid.PeerID("peer-c")

func bare(records ...grid.Record) *Core {
	c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}}, []grid.Member{
		{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, records)
	begin(c)
	return c
}

// begin starts a Core whose control directories have no more than the journal.
func begin(c *Core) {
	if e, asks := only[Reconcile](c.Step(1_000_000, Boot{})); asks {
		c.Step(1_000_000, Reconciled{Jobs: e.Jobs, All: true})
	}
}

func jobOf(home grid.PeerID, site grid.SiteName, n string) grid.Job {
	return grid.Job{ID: grid.NewJobID(site, "0000000000000000000000000"+n), Home: home,
		User: grid.User{Home: home, Name: "alice"}, Walltime: 60000, Program: grid.Program{Executable: "/bin/true"},
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}
}

func shot(now grid.Tick) Looked {
	return Looked{Snapshot: plan.Snapshot{At: now, Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 4}}}}
}

func offerOf(j grid.Job, hop uint32, wait grid.Tick) wire.Offer {
	return wire.Offer{Handoff: wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: hop}, To: me, Digest: wire.JobDigest(j)}, Job: j, Wait: wait}
}

// A member that has nothing to do with a job offers it to its home and commits: it leaves COMPLETED and runs again.
func TestAnEndedJobIsNotOfferedToItsHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := bare(grid.Record{Job: j, State: grid.Completed, Ended: 10, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{End: grid.Completed, Started: 5}})
	o := offerOf(j, 9, 0)
	c.Step(1_000_001, Message{him, o})
	c.Step(1_000_002, shot(1_000_002))
	t.Log(c.jobs[j.ID].rec.Role, c.jobs[j.ID].rec.State)
	for _, e := range c.Step(1_000_003, Message{him, wire.Commit{Handoff: o.Handoff}}) {
		if l, ok := e.(Launch); ok {
			t.Errorf("launched again: %v", l.Submission.ID)
		}
	}
}

// or one that runs elsewhere: it runs twice.
func TestARunningJobIsNotOfferedToItsHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Started: 5}})
	o := offerOf(j, 9, 0)
	c.Step(1_000_001, Message{him, o})
	c.Step(1_000_002, shot(1_000_002))
	for _, e := range c.Step(1_000_003, Message{him, wire.Commit{Handoff: o.Handoff}}) {
		if l, ok := e.(Launch); ok {
			t.Errorf("launched while it runs at its owner: %v", l.Submission.ID)
		}
	}
}

// A member invents a job of a user of this site.
func TestNobodyOffersInTheNameOfAnothersUser(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := bare()
	o := offerOf(j, 1, 0)
	c.Step(1_000_001, Message{him, o})
	c.Step(1_000_002, shot(1_000_002))
	c.Step(1_000_003, Message{him, wire.Commit{Handoff: o.Handoff}})
	if k := c.jobs[j.ID]; k != nil {
		t.Errorf("a job of our user %v, which we never took from that user, is %s %s", k.rec.Job.User, k.rec.Role, k.rec.State)
	}
}

// A member that does not own a job ends it; and a report with no End gives State(0).
func TestOnlyTheOwnerReports(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Started: 5}})
	c.Step(1_000_001, Message{him, wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, Number: 1, State: grid.StageOut, End: grid.Completed}})
	if c.jobs[j.ID].rec.State.Terminal() {
		t.Errorf("ended by a stranger: %s, owner %s", c.jobs[j.ID].rec.State, c.jobs[j.ID].rec.Owner)
	}
	c = bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Started: 5}})
	c.Step(1_000_001, Message{her, wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 1, State: grid.StageOut}})
	if s := c.jobs[j.ID].rec.State; !s.Valid() {
		t.Errorf("its state is %s", s)
	}
}
