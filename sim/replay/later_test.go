package replay

import (
	"fmt"
	"testing"
	"time"

	"gbroker/grid"
)

// At 2.5 days two whole days are known. The first draw begins with the day up to now, the
// second with the one before it; no job comes before now, and each at its hour.
func TestLaterDaysAreLikeThoseBefore(t *testing.T) {
	t.Parallel()
	known := []Job{{Submit: 0, Procs: 1, Limit: 5}, {Submit: day, Procs: 2, Limit: 5}, {Submit: 2*day + 10, Procs: 3, Limit: 5}}
	now := grid.Tick(5 * day / 2)
	for draw, first := range []struct {
		at  grid.Tick
		ref int32
	}{{3*day + 10, -3}, {3 * day, -2}} {
		l := come(known, now, draw)
		at, e, ok := l.Next()
		if !ok || at != first.at || e.Ref != first.ref || e.Cores != known[-1-e.Ref].Procs {
			t.Errorf("draw %d: %+v at %d, want %+v", draw, e, at, first)
		}
		n := 1
		for last := at; ; n++ {
			at, e, ok := l.Next()
			if !ok {
				break
			}
			if at < last || int64(at)%day != known[-1-e.Ref].Submit%day {
				t.Errorf("draw %d: %+v at %d, after %d", draw, e, at, last)
			}
			last = at
		}
		if n != foreseen+1 {
			t.Errorf("draw %d: %d jobs", draw, n)
		}
	}
	l := come(known[:2], day, 0)
	l.days = 0
	if _, _, ok := l.Next(); ok {
		t.Error("jobs come though no day is known")
	}
}

// Eight to twelve of a hundred starts come after what was told for nine of ten, on logs
// of seeds from the clock.
func TestP90HoldsOnFreshLogs(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	for i, procs := range []int32{24, 100} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			t.Parallel()
			all := predict(t, readText(t, makeLog(seed+uint64(i), procs, 2500)), "easy", "best")
			if share := AfterP90(all); len(all) < 1000 || share < 0.08 || share > 0.12 {
				t.Errorf("makeLog(%d, %d, 2500): %.3f of %d", seed+uint64(i), procs, share, len(all))
			}
		})
	}
}
