package overlay

import (
	"fmt"
	"testing"
	"time"
)

// One line for each subject in each interval; and strangers without number fill nothing.
func TestSparing(t *testing.T) {
	t.Parallel()
	s, now := newSparing(time.Minute, 3), time.Unix(1, 0)
	lines := func(subject string, n int) (written, leftOut int) {
		for range n {
			if more, yes := s.due(subject, now); yes {
				written, leftOut = written+1, leftOut+more
			}
		}
		return written, leftOut
	}
	for i, want := range []struct{ written, leftOut int }{{1, 0}, {1, 99}, {1, 99}} {
		if written, leftOut := lines("a", 100); written != want.written || leftOut != want.leftOut {
			t.Errorf("interval %d: %d lines, %d left out; want %+v", i, written, leftOut, want)
		}
		now = now.Add(time.Minute)
	}
	all := 0
	for i := range 1000 {
		written, _ := lines(fmt.Sprint(i), 1)
		all += written
	}
	if all != 3 || len(s.seen) != 3 {
		t.Errorf("of 1000 strangers %d were written and %d are remembered, want 3", all, len(s.seen))
	}
	now = now.Add(time.Minute)
	if written, _ := lines("late", 1); written != 1 {
		t.Error("after the interval nobody new is written of")
	}
}
