package flows

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
)

// Each change of a workflow is told once it is on disk and can be asked for, to its removal, and what cannot be written is not.
func TestChangesOfWorkflowsAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, b := t.TempDir(), newBroker()
		var mu sync.Mutex
		var states []string
		told := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(states)
		}
		full := false
		k, stop := keeperWith(t, folder, b, func(c *Config) {
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				if full {
					return errors.New("the disk is full")
				}
				return localfs.Replace(path, text, mode)
			}
			c.Changed = func(id api.FlowID, user string, removed bool) {
				state := "removed"
				if !removed {
					var is record
					text, err := os.ReadFile(filepath.Join(folder, string(id)[len("home."):len(id)-len(api.FlowSuffix)], "state.json"))
					if err = errors.Join(err, json.Unmarshal(text, &is)); err != nil || user != bob.Name {
						t.Errorf("told of %s's %s: %v", user, id, err)
					}
					state = is.State
				}
				mu.Lock()
				defer mu.Unlock()
				if n := len(states); n == 0 || states[n-1] != state {
					states = append(states, state)
				}
			}
		})
		id := begin(t, k, diamond())
		await(t, k, id)
		synctest.Wait()
		if got := told(); !slices.Equal(got, []string{coming, running, ended}) {
			t.Errorf("told is %v", got)
		}
		full = true
		if _, err := k.ResumeFlow(t.Context(), bob, id); err == nil || len(told()) != 3 {
			t.Errorf("what is not on disk: %v, %v", err, told())
		}
		full = false
		if err := k.RemoveFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Flow(t.Context(), bob, id); !errors.Is(err, grid.ErrNotFound) || !slices.Equal(told(), []string{coming, running, ended, "removed"}) {
			t.Errorf("in the end told is %v, %v", told(), err)
		}
		stop()
	})
}
