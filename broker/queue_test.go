package broker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"gbroker/broker/core"
	"gbroker/grid"
)

// slowPeers are hands to which no file comes until the test ends.
type slowPeers struct {
	*hands
	come chan struct{}
}

func (s slowPeers) Fetch(context.Context, grid.PeerID, grid.JobID, core.FileSet, grid.Manifest, grid.User, []grid.Grant) error {
	<-s.come
	return nil
}

// Many wait for files of others. The folder of a job that was here before is cleared, and the job comes again and is launched: it is
// cleared before that, as it would take the control directory of what runs, and it waits for none of those.
func TestWhatComesAgainIsClearedBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHands()
		s := slowPeers{h, make(chan struct{})}
		h.b.ports.Stager = s
		job := jobOf(me, "a", "1")
		for i := range 64 {
			h.b.dispatch(t.Context(), core.Fetch{Job: grid.JobID(fmt.Sprint("j", i)), Files: grid.Manifest{{Path: "x"}}}, 0)
		}
		synctest.Wait()
		h.b.dispatch(t.Context(), core.Discard{Job: job.ID}, 0)
		h.b.dispatch(t.Context(), core.Launch{Submission: grid.Submission{ID: grid.AttemptID{Job: job.ID, Attempt: 1}, Job: job}}, 0)
		synctest.Wait()
		h.mu.Lock()
		got := slices.Clone(h.calls)
		h.mu.Unlock()
		if want := []string{"Discard:false", "Bring:", "Prepare:false"}; len(got) < 3 || !slices.Equal(got[:3], want) {
			t.Errorf("asked were %q, want %q first", got, want)
		}
		close(s.come)
		h.b.executor.wait()
	})
}
