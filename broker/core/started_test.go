package core

import (
	"testing"

	"gbroker/grid"
)

// A program that was started and has vanished before anybody saw that has been started all the same; one that could not be
// started has not. A job over several sites that may run once rests on that.
func TestVanishedBeforeItsStartWasSeen(t *testing.T) {
	t.Parallel()
	for cause, started := range map[grid.Cause]bool{grid.Disappeared: true, grid.NeverRan: false} {
		c, journal := kept(t, grid.Record{
			Job: jobOf(me, "a", "1"), State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
			Run: grid.Run{Attempt: 1, Local: "7"},
		})
		k := c.live[jobOf(me, "a", "1").ID]
		if k == nil {
			t.Fatal("no job")
		}
		commit(c, journal, c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: c.attempt(k), Phase: grid.Ended, Finished: 6, Cause: cause}}))
		if r := journal[k.rec.Job.ID]; (r.Started > 0) != started || r.End == 0 {
			t.Errorf("%v: started %d, end %v", cause, r.Started, r.End)
		}
	}
}
