package flows

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
)

// The clock of the home is set by hours: no period is lost or doubled, the instances begin as they would have, and the ages are right. Set
// back while no process runs, the schedule goes on at once.
func TestClockIsSet(t *testing.T) { clockIsSet(t, time.Hour) }

func TestLargeClockIsSet(t *testing.T) {
	clockIsSet(t, -time.Hour, 20*time.Second, -20*time.Second, 400*24*time.Hour)
}

func clockIsSet(t *testing.T, spans ...time.Duration) {
	t.Parallel()
	for _, by := range spans {
		for _, down := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var off atomic.Int64
				set := func(c *Config) {
					c.Now = func() grid.Tick { return grid.InstantOf(time.Now()) + grid.Tick(off.Load()) }
				}
				folder, b := t.TempDir(), newBroker()
				k, stop := keeperWith(t, folder, b, set)
				began := time.Now()
				id := begin(t, k, again(12, 5))
				time.Sleep(18 * time.Second) //house:allow sleep: virtual time
				if down {
					stop()
				}
				off.Store(by.Milliseconds())
				if down {
					k, stop = keeperWith(t, folder, b, set)
				}
				p := await(t, k, id).Periods
				stop()
				switch took := time.Since(began); {
				case down && by > 0: // as if so much time had gone by
					if p.Done+p.Missed != 12 {
						t.Errorf("down, by %v: the periods are %+v", by, p)
					}
				case p.Done != 12 || p.Missed+p.Failed != 0 || took < 55*time.Second || took > 67*time.Second:
					t.Errorf("by %v (down: %v): %v, the periods are %+v", by, down, took, p)
				case !down && (p.AgeMostS > 7 || p.AgeP50S < 6 || p.Late > 0):
					t.Errorf("by %v: the ages are %+v", by, p)
				}
			})
		}
	}
}

// What was handed in is on disk once, not in each instance.
func TestInstanceHasNoDocuments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, b := t.TempDir(), newBroker()
		k, stop := keeper(t, folder, b)
		defer func() { stop() }()
		id := begin(t, k, again(3, 2))
		time.Sleep(5 * time.Second) //house:allow sleep: virtual time
		stop()
		list, err := filepath.Glob(filepath.Join(folder, "*", "spec.json"))
		if err != nil || len(list) < 3 {
			t.Fatalf("%d folders (%v)", len(list), err)
		}
		with := 0
		for _, file := range list {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "JobDefinition") {
				with++
			}
		}
		if with != 1 {
			t.Errorf("%d of %d folders have the documents", with, len(list))
		}
		k, stop = keeper(t, folder, b)
		if p := await(t, k, id).Periods; p.Done != 3 || b.begun["end"] != 3 {
			t.Errorf("the periods are %+v, begun %v", p, b.begun)
		}
	})
}

// A workflow is not refused because the process ended while it was judged, and no other site is known yet when the next one begins; what no site sustains is.
func TestJudgedAfterRestart(t *testing.T) {
	t.Parallel()
	for _, others := range [][]string{{"one", "two"}, nil} {
		synctest.Test(t, func(t *testing.T) {
			folder, b := t.TempDir(), newBroker()
			b.sites, b.asked = []string{"one", "two"}, 5*time.Second
			k, stop := keeper(t, folder, b)
			id := begin(t, k, again(40, 2.5)) // 8 core-seconds in 2.5 s; a site has 2 cores
			time.Sleep(time.Second)           //house:allow sleep: virtual time
			stop()
			b.sites = nil
			k, stop = keeper(t, folder, b)
			defer stop()
			time.Sleep(10 * time.Second) //house:allow sleep: virtual time
			b.mu.Lock()
			b.sites = others
			b.mu.Unlock()
			if p := await(t, k, id).Periods; p.Done != 20*len(others) {
				t.Errorf("with %d other sites: the periods are %+v", len(others), p)
			}
		})
	}
}

// An instance of which not all could be written is a missed period, and runs in no later life either; nothing of it stays.
func TestMakingFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		folder, b := t.TempDir(), newBroker()
		k, stop := keeperWith(t, folder, b, func(c *Config) {
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				err := localfs.Replace(path, text, mode)
				if fails.Load() && filepath.Base(path) == "spec.json" { // it is there, but not for sure
					return errors.Join(err, syscall.EIO)
				}
				return err
			}
		})
		id := begin(t, k, again(4, 5))
		time.Sleep(time.Second) //house:allow sleep: virtual time
		fails.Store(true)
		time.Sleep(5 * time.Second) //house:allow sleep: virtual time
		left, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil || len(left) != 2 {
			t.Errorf("%d folders while one instance runs (%v)", len(left), err)
		}
		stop()
		k, stop = keeper(t, folder, b)
		defer stop()
		if p := await(t, k, id).Periods; p.Done != 3 || p.Missed != 1 || b.begun["top"] != 3 {
			t.Errorf("the periods are %+v, begun %v", p, b.begun)
		}
	})
}

// Instances end while the disk is full, and the process ends too: they are counted as what they came to, not as missed.
func TestCountedOnFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		folder, b := t.TempDir(), newBroker()
		k, stop := keeperWith(t, folder, b, func(c *Config) {
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				if full.Load() && strings.Contains(path, "state.json") {
					return syscall.ENOSPC
				}
				return localfs.Replace(path, text, mode)
			}
		})
		id := begin(t, k, again(2, 1))
		time.Sleep(6900 * time.Millisecond) //house:allow sleep: virtual time
		full.Store(true)
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		stop()
		k, stop = keeper(t, folder, b)
		defer stop()
		if p := await(t, k, id).Periods; p.Done != 2 || p.Missed != 0 || b.begun["end"] != 2 {
			t.Errorf("the periods are %+v, begun %v", p, b.begun)
		}
	})
}

// A removal that was killed in the middle is finished at the next start.
func TestRemovalIsKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, b := t.TempDir(), newBroker()
		k, stop := keeper(t, folder, b)
		id := begin(t, k, diamond())
		await(t, k, id)
		stop()
		if err := k.forget(k.flows[id]); err != nil {
			t.Fatal(err)
		}
		k, stop = keeper(t, folder, b)
		defer stop()
		if list, err := os.ReadDir(folder); err != nil || len(list) != 0 || len(k.flows) != 0 {
			t.Errorf("%d folders and %d workflows are left (%v)", len(list), len(k.flows), err)
		}
	})
}

// A key is that of one workflow: with another period, other files or other retries it is refused, and says what differs.
func TestSameKeyOtherWorkflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, stop := keeper(t, t.TempDir(), newBroker())
		defer stop()
		s := again(2, 5)
		begin(t, k, s)
		if _, same, err := k.SubmitFlow(t.Context(), bob, s); !same || err != nil {
			t.Errorf("the same is not the same: %v", err)
		}
		for want, change := range map[string]func(*api.FlowSubmission){
			"a period": func(s *api.FlowSubmission) { s.Periodic = &api.FlowPeriodic{Rate: 1, PerS: 6, Count: 2} },
			"retries":  func(s *api.FlowSubmission) { s.Retries = 7 },
			"files":    func(s *api.FlowSubmission) { s.Files = []api.File{{Path: "text", Size: 6, Mode: 0o644}} },
			"tasks":    func(s *api.FlowSubmission) { s.Tasks = s.Tasks[:3] },
		} {
			other := again(2, 5)
			change(&other)
			if _, _, err := k.SubmitFlow(t.Context(), bob, other); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("with another of %s: %v", want, err)
			}
		}
	})
}

// The folder of an instance that was counted is still there at a start, as its removal failed: it is removed, and runs no more.
func TestCountedInstanceStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, kept, b := t.TempDir(), t.TempDir(), newBroker()
		k, stop := keeper(t, folder, b)
		id := begin(t, k, again(4, 5))
		time.Sleep(time.Second) //house:allow sleep: virtual time
		if err := os.CopyFS(kept, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(kept, filepath.Base(k.folder(id)))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second) //house:allow sleep: virtual time
		stop()
		if err := os.CopyFS(folder, os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		b.mu.Lock()
		for key := range b.keys {
			delete(b.keys, key) // what runs once more is seen
		}
		b.mu.Unlock()
		k, stop = keeper(t, folder, b)
		defer stop()
		if p := await(t, k, id).Periods; p.Done != 4 || p.Missed != 0 || b.begun["end"] != 4 {
			t.Errorf("the periods are %+v, begun %v", p, b.begun)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
			t.Errorf("%d folders are left (%v)", len(list), err)
		}
	})
}

// A clock that is slewed is followed: the periods go by it.
func TestClockIsSlewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, began := newBroker(), time.Now()
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) {
			c.Now = func() grid.Tick { return grid.InstantOf(began.Add(time.Since(began) / 1000 * 1001)) }
		})
		defer stop()
		s := again(3, 1000)
		if p := await(t, k, begin(t, k, s)).Periods; p.Done != 3 || time.Since(began) > 2005*time.Second {
			t.Errorf("after %v the periods are %+v", time.Since(began), p)
		}
	})
}
