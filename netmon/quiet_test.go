package netmon

import (
	"testing"
	"time"

	"gbroker/grid"
)

// Who is quiet sends the smallest size alone, again and again, however long.
func TestQuiet(t *testing.T) {
	t.Parallel()
	cfg := Config{Quiet: true}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	end := now.Add(24 * time.Hour)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	probes := 0
	for now.Before(end) {
		k, at, ok := w.next(now)
		if !ok || k != 0 {
			t.Fatalf("after %d probes the next is of size %d, %v", probes, k, ok)
		}
		now = later(now, at).Add(time.Millisecond)
		w.note(now, cfg.Sizes[k], time.Millisecond)
		probes++
	}
	if probes < 24 {
		t.Errorf("%d probes in a day", probes)
	}
	w.note(now, 4<<20, time.Second)
	if rate, measured := w.link(now).Bandwidth(4 << 20); !measured || rate < 1e6 {
		t.Errorf("after a transfer the rate is %v, measured: %v", rate, measured)
	}
}
