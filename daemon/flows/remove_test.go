package flows

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"testing/synctest"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
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

// What is under way for a workflow as it is removed, a plan or a file that comes, writes nothing into the folder that is being removed.
func TestNothingIsWrittenForWhatIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		removed, written := false, 0
		k, stop := keeperWith(t, t.TempDir(), newBroker(), func(c *Config) {
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				if removed {
					written++
				}
				return localfs.Replace(path, text, mode)
			}
		})
		defer stop()
		id := begin(t, k, diamond())
		await(t, k, id)
		f, err := k.flow(bob, id)
		if err = errors.Join(err, k.RemoveFlow(t.Context(), bob, id)); err != nil {
			t.Fatal(err)
		}
		removed = true
		f.mu.Lock()
		f.keep()
		f.rec.State = coming
		f.mu.Unlock()
		root, err := os.OpenRoot(k.config.Folder)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := f.received(root, "part", api.File{Path: "x"}, ""); !errors.Is(err, grid.ErrInvalid) || written > 0 {
			t.Errorf("%d times written, a file that comes: %v", written, err)
		}
	})
}
