package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A broker that was rolled back is told of another branch that its journal lacks. Of what came here in this life, behind all that the branch
// can have in common with this journal, nobody there can have given anything away: it is not in doubt, and is not given up when a member is not heard.
func TestWhatCameSinceIsInNoDoubt(t *testing.T) {
	t.Parallel()
	known := jobOf(me, "a", "1")
	earlier := grid.JournalID{Incarnation: 1, Life: 5, Sequence: 30}
	for name, k := range map[string]struct {
		told  grid.JournalID
		doubt bool
	}{
		"a branch that ended before it came":        {grid.JournalID{Incarnation: 1, Life: 77, Sequence: 40}, false},
		"a branch that had it, of a duplicate, say": {grid.JournalID{Incarnation: 1, Life: 77, Sequence: 42}, true},
		"a branch of an earlier life, however long": {grid.JournalID{Incarnation: 1, Life: 3, Sequence: 90}, false},
		"a branch of a life that this journal has":  {grid.JournalID{Incarnation: 1, Life: 5, Sequence: 90}, false},
		"a branch of another journal of this name":  {grid.JournalID{Incarnation: 9, Life: 77, Sequence: 3}, true},
		"a duplicate that goes on in this life":     {grid.JournalID{Incarnation: 1, Life: 6, Sequence: 99}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := signer(me, "a")
			cfg.Journal = grid.JournalID{Incarnation: 1, Life: 6, Sequence: 40}
			cfg.Lives = []grid.Life{{Number: 5}, {Number: 6, First: 20}}
			c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{waiting(known)})
			begin(c)
			for _, p := range []grid.PeerID{her, him} {
				c.Step(1_000_000, PeerChanged{p, grid.Alive})
				c.Step(1_000_000, Message{p, wire.Seen{}})
			}
			c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{earlier}}})
			theirs := jobOf(her, "b", "2")
			o := offerOf(theirs, 1, 0)
			c.Step(1_000_002, Message{her, o})
			c.Step(1_000_002, shot(1_000_002))
			c.Step(1_000_003, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(theirs, her, 1, me)}})
			own := jobOf(me, "a", "3")
			c.Step(1_000_004, Submit{Token: 1, Job: own, Key: "3"})
			c.recovery.rolledBackTo(him, k.told)
			for _, id := range []grid.JobID{theirs.ID, own.ID} {
				if r := c.job(id).rec; r.Role != grid.Owning || r.Uncertain != k.doubt {
					t.Errorf("%s: %v, in doubt %t", id, r.Role, r.Uncertain)
				}
			}
			if r := c.job(known.ID).rec; !r.Uncertain {
				t.Error("what was in the journal is in no doubt")
			}
		})
	}
}
