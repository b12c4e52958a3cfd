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
