package flows

import (
	"errors"
	"testing"
	"testing/synctest"

	"gbroker/api"
	"gbroker/grid"
)

// A workflow is removed by its user when it has ended, for good; its jobs stay.
func TestRemove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, folder := newBroker(), t.TempDir()
		k, stop := keeper(t, folder, b)
		id := begin(t, k, diamond())
		if err := k.RemoveFlow(t.Context(), bob, id); !errors.Is(err, grid.ErrNotYet) {
			t.Error("one that runs:", err)
		}
		await(t, k, id)
		if err := k.RemoveFlow(t.Context(), api.Identity{Name: "eve"}, id); !errors.Is(err, grid.ErrForbidden) {
			t.Error("that of another user:", err)
		}
		if err := k.RemoveFlow(t.Context(), bob, id); err != nil {
			t.Error("one that has ended:", err)
		}
		if err := k.RemoveFlow(t.Context(), bob, id); !errors.Is(err, grid.ErrNotFound) {
			t.Error("once more:", err)
		}
		stop()
		k, stop = keeper(t, folder, b)
		defer stop()
		if list, err := k.Flows(t.Context(), bob); err != nil || len(list) > 0 || len(b.jobs) != 4 {
			t.Errorf("%d workflows and %d jobs are there after a restart (%v)", len(list), len(b.jobs), err)
		}
	})
}
