package flows

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/internal/localfs"
)

// The instances under way of a user's periodic workflows have no more tasks together than are allowed: the period of one more is missed, and a file
// waits. One instance alone may be larger, and another user has a bound of his own.
func TestTasksOfUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.runs = time.Minute
		all, folder := incoming(t)
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) { c.Watch, c.Tasks = all, 9 })
		defer stop()
		s := again(5, 10)
		id := begin(t, k, s)    // three minutes each, of four tasks
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		f, err := k.Flow(t.Context(), bob, id)
		if p := f.Periods; err != nil || p.Begun != 2 || p.Missed != 3 {
			t.Errorf("the periods are %+v (%v)", p, err)
		}
		files := watching(0)
		files.Key = "files"
		for len(files.Tasks) < 2 {
			files.Tasks = append(files.Tasks, made("more", "", "x"))
		}
		other := begin(t, k, files)
		put(t, folder, "file", "text")
		time.Sleep(10 * time.Second) //house:allow sleep: virtual time
		if f, err := k.Flow(t.Context(), bob, other); err != nil || f.Periods.Begun != 0 || !strings.Contains(f.Periods.Waits, "10 tasks with the next, of which 9 are allowed") {
			t.Errorf("the file: %+v (%v)", f.Periods, err)
		}
		if f := await(t, k, id); f.Periods.Done != 2 {
			t.Errorf("the periods are %+v", f.Periods)
		}
		time.Sleep(5 * time.Minute) //house:allow sleep: virtual time
		if f, err := k.Flow(t.Context(), bob, other); err != nil || f.Periods.Done != 1 || f.Periods.Waits != "" {
			t.Errorf("the file, with room: %+v (%v)", f.Periods, err)
		}
		if _, err := k.CancelFlow(t.Context(), bob, other); err != nil {
			t.Fatal(err)
		}
		await(t, k, other)
	})
}

// Two workflows of a user that begin at once pass no bound that one cannot: what is being written counts.
func TestTasksOfUserAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.runs = time.Hour
		var made atomic.Int32
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) {
			c.Tasks = 5
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				// Nothing else is written slowly: who waits for a lock that is held meanwhile would stop the virtual time.
				if filepath.Base(path) == "spec.json" && made.Add(1) > 2 {
					time.Sleep(10 * time.Second) //house:allow sleep: virtual time; of an instance
				}
				return localfs.Replace(path, text, mode)
			}
		})
		defer stop()
		var ids []api.FlowID
		for _, key := range []string{"one", "two"} {
			s := again(1, 10)
			s.Key = key
			ids = append(ids, begin(t, k, s))
		}
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		open, missed := 0, 0
		for _, id := range ids {
			f, err := k.Flow(t.Context(), bob, id)
			if err != nil {
				t.Fatal(err)
			}
			open, missed = open+f.Periods.Open, missed+f.Periods.Missed
		}
		if open != 1 || missed != 1 {
			t.Errorf("%d instances of four tasks are under way, where five tasks are allowed; %d periods are missed", open, missed)
		}
	})
}
