package pbstest

import (
	"errors"
	"testing"
	"time"
)

// A live system is waited for, and one that is never fit is told as such.
func TestALiveSystemIsWaitedFor(t *testing.T) {
	t.Parallel()
	busy, tries := errors.New("a job is there"), 0
	if err := becomes(func() error {
		if tries++; tries < 3 {
			return busy
		}
		return nil
	}, time.Now().Add(time.Minute), time.Millisecond); err != nil || tries != 3 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	if err := becomes(func() error { return busy }, time.Now().Add(-time.Second), time.Hour); !errors.Is(err, busy) {
		t.Errorf("one that is never fit: %v", err)
	}
}

// A run of the suite that skips most of its tests has failed.
func TestAMassSkipFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all, skipped int64
		fails        bool
	}{{53, 10, false}, {46, 44, true}, {46, 46, true}, {46, 0, false}} {
		var ran tally
		ran.all.Store(c.all)
		ran.skipped.Store(c.skipped)
		if err := ran.judge(); (err != nil) != c.fails {
			t.Errorf("%d of %d skipped: %v", c.skipped, c.all, err)
		}
	}
	var ran tally
	t.Run("one", func(t *testing.T) {
		defer ran.note(t)
		t.Run("counts", func(*testing.T) {})
	})
	if ran.all.Load() != 1 || ran.skipped.Load() != 0 {
		t.Errorf("a test that was run counts as %d, %d skipped", ran.all.Load(), ran.skipped.Load())
	}
}
