package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home gave its owner up, started the job again at a new term, ended it and said so to
// all it knew of; then it is gone, and is forgotten here. Does the old owner start it?
func TestWhatIsClosedAtANewerTermNeverStarts(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.State{grid.Ready, grid.Assigned} {
		j := jobOf(her, "b", "1")
		c := signed(grid.Record{
			Job:       j,
			State:     state,
			Submitted: 999_000,
			Tenure:    grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}},
			Run:       grid.Run{Attempt: 1},
		})
		effects := c.Step(1_000_001, Message{her, wire.Closed{Job: j.ID, Term: 2}})
		effects = append(effects, c.Step(1_000_002, Reconciled{Jobs: []grid.JobID{j.ID}})...)
		at := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Attempt: 1}
		effects = append(effects, c.Step(1_000_003, Withdrawn{ID: at, Done: true})...)
		effects = append(effects, c.Step(1_000_004, Forget{Site: her, Fenced: true})...)
		for _, e := range effects {
			if _, is := e.(Launch); is {
				t.Errorf("%s: it is started", state)
			}
		}
		if k := c.jobs[j.ID]; k != nil && k.rec.Role == grid.Owning {
			t.Errorf("%s: it is still owned here, %s", state, k.rec.State)
		}
	}
	// A word of the term at which it is owned is none of that, nor is another's.
	j := jobOf(her, "b", "1")
	for from, term := range map[int]uint32{0: 1, 1: 2} {
		c := signed(grid.Record{Job: j, State: grid.Ready, Submitted: 999_000, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
		c.Step(1_000_001, Message{[]grid.PeerID{her, him}[from], wire.Closed{Job: j.ID, Term: term}})
		if c.jobs[j.ID].rec.Role != grid.Owning {
			t.Errorf("Closed of term %d by %d ends it", term, from)
		}
	}
}

// A job is committed to its home, which is then forgotten: nobody else can decide about it,
// so it is said on. Committed to another site, the home is told, and decides.
func TestWhatWasCommittedToAForgottenHome(t *testing.T) {
	t.Parallel()
	for _, to := range []grid.PeerID{her, him} {
		j := jobOf(her, "b", "1")
		e := grid.Epoch{Term: 1, Hop: 2}
		c := signed(grid.Record{
			Job:       j,
			State:     grid.Moving,
			Submitted: 999_000,
			Tenure:    grid.Tenure{Role: grid.Tombstone, Owner: to, Epoch: e, Handoff: grid.Handoff{Phase: grid.Committed, To: to, Epoch: e}},
		})
		c.Step(1_000_002, Forget{Site: to, Fenced: true})
		if open := c.jobs[j.ID].rec.Handoff.Phase == grid.Committed; open != (to == her) {
			t.Errorf("committed to %s: the handoff is open: %v", to, open)
		}
	}
}
