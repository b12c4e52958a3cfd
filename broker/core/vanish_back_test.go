package core

import (
	"testing"

	"gbroker/grid"
)

// A site was put back to when a job of another home ran there. What it finds of that run is nothing: it may have ended since, and its home have
// told that. Before the home has acknowledged a report made since, it does not begin again, also where that is forgotten.
func TestARunThatIsGoneAfterARollback(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"put back": true, "not put back": false} {
		j := jobOf(her, "b", "1")
		j.Rerunnable = true
		c := signed(grid.Record{Job: j, State: grid.Running, Run: grid.Run{Attempt: 1, Started: 900_000}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
		if back {
			c.recovery.rolledBack("a test", grid.JournalID{Sequence: 90})
		}
		id := c.attempt(c.jobs[j.ID])
		c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Ended, Cause: grid.Disappeared, Started: 900_000}})
		if r := c.jobs[j.ID].rec; r.State != grid.Ready || r.Uncertain != back {
			t.Fatalf("%s: it is %s, in doubt %t", name, r.State, r.Uncertain)
		}
		c.Step(c.now+1, Forget{Token: 1, Site: her, Fenced: true})
		heardAll(c)
		if r := c.jobs[j.ID].rec; !r.HomeForgotten || r.Uncertain != back || r.State != grid.Ready {
			t.Errorf("%s: its home is forgotten %t, and it is %s, in doubt %t", name, r.HomeForgotten, r.State, r.Uncertain)
		}
	}
}
