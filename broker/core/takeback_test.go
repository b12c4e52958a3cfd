package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A journal that was put back has a job as given to b, who has declined it since. In the part that is lost this site may have
// taken it back, and given it to c: so b's word counts only when all were asked, and after any start when those that live
// have said what they saw.
func TestNothingIsTakenBackBeforeAllWereAsked(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 9}
	ready := grid.JournalID{Incarnation: 7, Life: 1, Sequence: 40}
	for _, home := range []grid.PeerID{me, it} {
		j := jobOf(home, "a", "1")
		given := grid.Record{
			Job: j, State: grid.Moving,
			Tenure: grid.Tenure{Role: grid.Tombstone, Owner: her, Epoch: at, Candidate: ready, Handoff: grid.Handoff{Phase: grid.Committed, To: her, Epoch: at}},
		}
		if home == me {
			given.Role = grid.Watching
		}
		declines := Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: her, Digest: wire.JobDigest(j)}, Journal: ready}}
		owns := func(c *Core) bool {
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
