package tape

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
	"gbroker/pool"
)

// What was written last of the slots that are kept is read, and nothing else, however long the file is in use; it does not grow.
func TestRing(t *testing.T) {
	t.Parallel()
	dir, count := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		count++
		name := filepath.Join(dir, fmt.Sprint(count))
		want := map[int64]Entry{}
		n := int64(rapid.IntRange(0, 1<<22).Draw(t, "first"))
		for range rapid.IntRange(1, 20).Draw(t, "writes") {
			n += int64(rapid.SampledFrom([]int{0, 1, 1, 1, int(Kept) - 1, int(Kept), 3 * int(Kept)}).Draw(t, "step"))
			e := Entry{Watched: 1, Reached: float64(rapid.IntRange(0, 255).Draw(t, "reached")) / 255, Idle: 1}
			if err := Write(name, n, e); err != nil {
				t.Fatal(err)
			}
			want[n] = e
		}
		got, err := Read(name, n+1)
		if err != nil {
			t.Fatal(err)
		}
		for m, e := range want {
			if is, there := got[m]; there != (m > n-Kept) || there && math.Abs(is.Reached-e.Reached) > 1e-9 {
				t.Fatalf("slot %d of %d: %+v %v, written %+v", m, n, is, there, e)
			}
		}
		for m := range got {
			if _, was := want[m]; !was {
				t.Fatalf("slot %d was never written", m)
			}
		}
		if info, err := os.Stat(name); err != nil || info.Size() > Kept*size {
			t.Fatalf("%v, %v", info, err)
		}
	})
}

// A file that was torn or filled with anything tells nothing, or little, and breaks nothing.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, make([]byte, Kept*size-3), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(name, 1000*Kept); err != nil || len(got) != 0 {
		t.Errorf("of zeros %d slots are read, %v", len(got), err)
	}
}

// A week in which the owner worked from 9 to 17 and the pool was down from 2 to 3 in the nights says that, and nothing of the hour of the pool's.
func TestHistoryOfAWeek(t *testing.T) {
	t.Parallel()
	entries := map[int64]Entry{}
	end := Number(4*grid.Day + 60*pool.Week) // a Monday
	for n := end - int64(pool.Week/Slot); n < end; n++ {
		switch hour := Begin(n) % grid.Day / grid.Hour; {
		case hour == 2:
		case hour >= 9 && hour < 17:
			entries[n] = Entry{Watched: 1, Reached: 1, Active: 1}
		case hour >= 20:
			entries[n] = Entry{Watched: 1} // it was off
		default:
			entries[n] = Entry{Watched: 1, Reached: 1, Idle: 0.5}
		}
	}
	h := History(entries, end)
	h.Speed, h.Presume = 2, 0.4
	f := h.Forecast(Begin(end), &pool.Policy{})
	for hour, want := range map[grid.Tick]float64{0: 1, 2: 0.8, 5: 1, 9: 0, 16: 0, 17: 1, 21: 0} {
		if got := f.At(Begin(end) + hour*grid.Hour + grid.Minute); math.Abs(got-want) > 0.01 {
			t.Errorf("at %d h: H is %v, not %v", hour, got, want)
		}
	}
}
