package flows

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// The name of a file that has come is durable before the workflow has it, with those of the folders on the way.
func TestWhatHasComeIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		var order []string
		k, stop := keeperWith(t, folder, newBroker(), func(c *Config) {
			c.Sync = func(path string) error {
				order = append(order, path)
				return localfs.Sync(path)
			}
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				order = append(order, path)
				return localfs.Replace(path, text, mode)
			}
		})
		defer stop()
		s := diamond()
		s.Files = append(s.Files, api.File{Path: "a/text", Size: 1})
		f, _, err := k.SubmitFlow(t.Context(), bob, s)
		if err != nil {
			t.Fatal(err)
		}
		order = nil
		if err := k.UploadFlow(t.Context(), bob, f.ID, "a/text", strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		own := k.folder(f.ID)
		if want := []string{own + "/in/a", own + "/in", own + "/state.json"}; !slices.Equal(order, want) {
			t.Errorf("%v", order)
		}
	})
}

// What is no folder of a workflow, as lost+found of a file system of its own, is left alone.
func TestWhatIsNoWorkflowStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		other, left := filepath.Join(folder, "lost+found"), filepath.Join(folder, "01ABCDEFGHJKMNPQRS00000000")
		if err := errors.Join(os.Mkdir(other, 0o700), os.Mkdir(left, 0o700)); err != nil {
			t.Fatal(err)
		}
		_, stop := keeper(t, folder, newBroker())
		stop()
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Error("what is left of a workflow is not removed:", err)
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
