package flows

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// reserving is the diamond every ten minutes, with its slots reserved.
func reserving(count int) (s api.FlowSubmission) {
	s = again(count, 600)
	s.Periodic.Reserve = true
	return s
}

// The slots of each instance but the first are reserved when the one before it begins, for the instants of the plan, and its tasks are handed in bound
// to them, also by a home that was ended meanwhile.
func TestSlotsAreReserved(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, folder := newBroker(), t.TempDir()
			k, stop := keeper(t, folder, b)
			began := grid.InstantOf(time.Now())
			id := begin(t, k, reserving(3))
			time.Sleep(time.Minute) //house:allow sleep: virtual time
			synctest.Wait()
			if n := len(b.reserved); n != 4 {
				t.Fatalf("%d slots are reserved in the first minute", n)
			}
			for i, r := range b.reserved {
				late := r.Start - began - 10*grid.Minute
				if late < 0 || late > 10*grid.Second || r.End-r.Start < 3*grid.Minute {
					t.Errorf("slot %d is from %v after its period on, for %v", i, late.Duration(), (r.End - r.Start).Duration())
				}
			}
			if restart {
				stop()
				k, stop = keeper(t, folder, b)
			}
			defer stop()
			f := await(t, k, id)
			synctest.Wait()
			slices.Sort(b.bound)
			if p := f.Periods; p.Done != 3 || p.Reserved != 8 || p.Unreserved != "" || len(slices.Compact(b.bound)) != 8 || len(b.released) != 0 {
				t.Errorf("restart %v: %+v, bound %v, released %v", restart, p, b.bound, b.released)
			}
		})
	}
}

// What cannot be reserved runs all the same, and is told; what is reserved for instances that never begin is given up.
func TestSlotsAreRefusedAndGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.refuses = true
		k, stop := keeper(t, t.TempDir(), b)
		defer stop()
		if f := await(t, k, begin(t, k, reserving(2))); f.Periods.Done != 2 || f.Periods.Reserved != 0 || !strings.Contains(f.Periods.Unreserved, "no nodes are free then") || len(b.bound) != 0 {
			t.Errorf("%+v, bound %v", f.Periods, b.bound)
		}
		b.refuses = false
		s := reserving(0)
		s.Key = "cancelled"
		id := begin(t, k, s)
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		await(t, k, id)
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		synctest.Wait()
		if len(b.reserved) != 4 || len(b.released) != 4 {
			t.Errorf("%d are reserved, %v released", len(b.reserved), b.released)
		}
	})
}

// What is reserved for tasks of an instance that has begun is given up when they are over without having run: it was cancelled, or what they need failed.
func TestSlotsOfAnInstanceAreGivenUp(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.runs = 5 * time.Minute
			k, stop := keeper(t, t.TempDir(), b)
			defer stop()
			s := reserving(2)
			s.Retries = 0
			if !fails {
				s.Periodic.Count = 0
			}
			id := begin(t, k, s)
			time.Sleep(10*time.Minute + 30*time.Second) //house:allow sleep: virtual time
			want := []grid.ReservationID{"r2", "r3", "r4"}
			if fails {
				b.mu.Lock()
				b.fail["top"] = true
				b.mu.Unlock()
			} else {
				want = append(want, "r5", "r6", "r7", "r8")
				if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
					t.Fatal(err)
				}
			}
			await(t, k, id)
			time.Sleep(time.Minute) //house:allow sleep: virtual time
			b.mu.Lock()
			defer b.mu.Unlock()
			if slices.Sort(b.released); len(b.bound) != 1 || len(b.released) != len(want) || slices.Contains(b.released, b.bound[0]) {
				t.Errorf("fails %v: of %d reserved and %v bound, given up are %v", fails, len(b.reserved), b.bound, b.released)
			}
		})
	}
}
