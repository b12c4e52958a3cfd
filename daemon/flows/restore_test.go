package flows

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// What is on disk of an instance that was under way cannot be read at a start: it has failed, its file does not run again, and no number is
// used twice.
func TestInstanceIsDamaged(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		damaged, file := n%3, []string{"state.json", "spec.json"}[n/3]
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.runs = 100 * time.Second
			all, folder := incoming(t)
			home := t.TempDir()
			set := func(c *Config) { c.Watch = all }
			k, stop := keeperWith(t, home, b, set)
			id := begin(t, k, watching(3))
			for i := range 3 {
				put(t, folder, fmt.Sprint(i), fmt.Sprint(i))
				time.Sleep(10 * time.Second) //house:allow sleep: virtual time
			}
			list, err := filepath.Glob(filepath.Join(home, "*", "in", "picture"))
			if err != nil || len(list) != 3 {
				t.Fatalf("%d instances (%v)", len(list), err)
			}
			stop()
			if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(list[damaged])), file), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			k, stop = keeperWith(t, home, b, set)
			defer stop()
			s := await(t, k, id)
			if p := s.Periods; p.Done+p.Failed != 3 || p.Failed > 1 || p.Missed != 0 || p.Begun != 3 {
				t.Errorf("%s of %d is damaged: the instances %+v", file, damaged, p)
			}
			for text, n := range looks(b) {
				if n != 1 {
					t.Errorf("%s of %d is damaged: the file %q ran %d times", file, damaged, text, n)
				}
			}
		})
	}
}

// A backup of the workflows is put back: files that ran since, in whatever order they are found now, are the same jobs.
func TestBackupOfInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		home, kept := t.TempDir(), t.TempDir()
		set := func(c *Config) { c.Watch = all }
		k, stop := keeperWith(t, home, b, set)
		begin(t, k, watching(0))
		time.Sleep(5 * time.Second) //house:allow sleep: virtual time
		if err := os.CopyFS(kept, os.DirFS(home)); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			put(t, folder, fmt.Sprint(i), fmt.Sprint(i))
			time.Sleep(20 * time.Second) //house:allow sleep: virtual time
		}
		stop()
		if err := os.Remove(filepath.Join(folder, "0")); err != nil {
			t.Fatal(err)
		}
		k, stop = keeperWith(t, kept, b, set)
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		stop()
		for text, n := range looks(b) {
			if n != 1 {
				t.Errorf("the file %q ran %d times", text, n)
			}
		}
		if len(b.jobs) != 6 {
			t.Errorf("%d jobs", len(b.jobs))
		}
		put(t, folder, "1", "changed")
		k, stop = keeperWith(t, kept, b, set)
		defer stop()
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		if got := looks(b); got["changed"] != 1 || len(b.jobs) != 8 {
			t.Errorf("%v, %d jobs", got, len(b.jobs))
		}
	})
}

// So is the instance of a period that has begun since, and that is not over.
func TestBackupOfPeriods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		home, kept := t.TempDir(), t.TempDir()
		k, stop := keeper(t, home, b)
		id := begin(t, k, again(4, 30))
		time.Sleep(55 * time.Second) //house:allow sleep: virtual time
		if err := os.CopyFS(kept, os.DirFS(home)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second) //house:allow sleep: virtual time
		stop()
		k, stop = keeper(t, kept, b)
		defer stop()
		if p := await(t, k, id).Periods; p.Done != 4 || p.Missed != 0 || len(b.jobs) != 16 {
			t.Errorf("%d jobs, the periods %+v", len(b.jobs), p)
		}
	})
}
