package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A journal that was put back has a job as given to b, who has declined it since. In the part that is lost this site may have
// taken it back, and given it to c: so b's word counts only when all were asked, and after any start when those that live
// have said what they saw. The same goes for a job that c gave to b, and of which this site is the home.
func TestNothingIsTakenBackBeforeAllWereAsked(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 9}
	ready := grid.JournalID{Incarnation: 7, Life: 1, Sequence: 40}
	committed := grid.Tenure{Role: grid.Tombstone, Owner: her, Epoch: at, Candidate: ready, Handoff: grid.Handoff{Phase: grid.Committed, To: her, Epoch: at}}
	ours := committed
	ours.Role = grid.Watching
	for home, given := range map[string]grid.Record{
		"elsewhere":       {Job: jobOf(it, "a", "1"), State: grid.Moving, Tenure: committed},
		"here":            {Job: jobOf(me, "a", "1"), State: grid.Moving, Tenure: ours},
		"here, c gave it": watched(jobOf(me, "a", "1"), at),
	} {
		j := given.Job
		declines := Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: her, Digest: wire.JobDigest(j)}, Journal: ready}}
		owns := func(c *Core) bool {
			c.jobs[j.ID].asked = c.now
			c.Step(c.now+1, declines)
			return c.jobs[j.ID].rec.Role == grid.Owning
		}

		c := signed(given)
		c.Step(c.now+1, Reconciled{All: true})
		c.Step(c.now+1, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		if owns(c) {
			t.Errorf("home %s: taken back, and nobody was asked", home)
		}
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(c.now+1, Message{p, wire.Recounted{}})
		}
		if !owns(c) {
			t.Errorf("home %s: never taken back, and all were asked", home)
		}

		c = New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}, []grid.Record{given})
		begin(c)
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(c.now+1, PeerChanged{p, grid.Alive})
			if owns(c) {
				t.Errorf("home %s: taken back, and %s has not said what it saw", home, p)
			}
			c.Step(c.now+1, Message{p, wire.Seen{}})
		}
		if !owns(c) {
			t.Errorf("home %s: never taken back, and all have said what they saw", home)
		}
	}
}

// A home whose journal was put back hears an owner, and has not asked all: another may have the job at a later term. So it
// does not acknowledge what would let that owner start it; what runs, it does.
func TestNoOwnerIsAcknowledgedBeforeAllWereAsked(t *testing.T) {
	t.Parallel()
	for state, at := range map[grid.State]bool{grid.Assigned: false, grid.Running: true} {
		j, epoch := jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 9}
		c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch}})
		number := uint64(0)
		acknowledged := func() (is bool) {
			number++
			m := wire.Report{Job: j.ID, Epoch: epoch, Number: number, State: state, Attempt: 1}
			m.Started.Known = state == grid.Running
			for _, m := range sentTo(c.Step(c.now+1, Message{her, m}), her) {
				is = is || m.Kind() == wire.KindReportAck
			}
			return is
		}
		c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		c.Step(c.now+1, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		if acknowledged() != at {
			t.Errorf("%s: acknowledged %t, and not all were asked", state, !at)
		}
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(c.now+1, Message{p, wire.Recounted{}})
		}
		if !acknowledged() {
			t.Errorf("%s: not acknowledged, and all were asked", state)
		}
	}
}
