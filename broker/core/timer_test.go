package core

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
)

// A timer that is armed for days and disarmed at once takes no place until then; the others fire in their order.
func TestVoidTimersGo(t *testing.T) {
	k := newKernel(Config{Self: "a"}, nil)
	j := &job{rec: grid.Record{Job: grid.Job{ID: "a.1"}}}
	k.jobs["a.1"] = j
	k.arm(j, onUpload, 2*grid.Day)
	for i := range grid.Tick(10_000) {
		k.armGeneral(passDue, grid.Day+i)
		k.disarmGeneral(passDue)
	}
	k.arm(j, onReport, grid.Hour)
	if n := len(k.timers.heap); n > 2*fewTimers {
		t.Errorf("two timers and 10,000 void ones take %d places", n)
	}
	var fired []concern
	s := stepper{k, routes{}}
	s.routes.jobs[onUpload] = func(*job) { fired = append(fired, onUpload) }
	s.routes.jobs[onReport] = func(*job) { fired = append(fired, onReport) }
	s.now = 3 * grid.Day
	s.fire()
	if len(fired) != 2 || fired[0] != onReport || fired[1] != onUpload {
		t.Errorf("fired %v", fired)
	}
}

// The heap gives what a sorted list would, also after some of it was taken out at once.
func TestTimerHeapAgainstSorting(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var h timerHeap
	var want []timer
	bySeq := func(a, b timer) int {
		if a.before(&b) {
			return -1
		}
		return 1
	}
	for n := range uint64(2000) {
		one := timer{at: grid.Tick(r.IntN(50)), seq: n}
		h.push(one)
		want = append(want, one)
		if r.IntN(200) == 0 {
			odd := func(o timer) bool { return o.seq%2 == 1 }
			h, want = slices.DeleteFunc(h, odd), slices.DeleteFunc(want, odd)
			h.order()
		}
		if r.IntN(3) == 0 && len(want) > 0 {
			slices.SortFunc(want, bySeq)
			if got := h.pop(); got != want[0] {
				t.Fatalf("it gives %+v, a sorted list %+v", got, want[0])
			}
			want = want[1:]
		}
	}
}
