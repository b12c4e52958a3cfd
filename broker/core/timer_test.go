package core

import (
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
