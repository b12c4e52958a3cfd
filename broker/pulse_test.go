package broker

import (
	"sync/atomic"
	"testing"

	"gbroker/broker/core"
	"gbroker/grid"
)

// A pause is counted once, by whoever feels the pulse first after it.
func TestThePulseCountsPauses(t *testing.T) {
	t.Parallel()
	now := grid.Tick(1000)
	p := &pulse{clock: func() grid.Tick { return now }}
	for _, k := range []struct {
		after, span grid.Tick
		pauses      uint64
	}{{0, 0, 0}, {core.StallAfter - 1, 0, 0}, {core.StallAfter, core.StallAfter, 1}, {0, core.StallAfter, 1}, {grid.Hour, grid.Hour, 2}} {
		now += k.after
		if pauses, span := p.feel(); pauses != k.pauses || span != k.span {
			t.Errorf("after %d ms: %d pauses, the last of %d ms", k.after, pauses, span)
		}
	}
}

// What was decided before a pause is not submitted after it.
func TestNothingIsSubmittedAfterAPause(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]bool{"stopped": true, "not stopped": false} {
		var now atomic.Int64
		now.Store(1000)
		s := &shell{}
		b := s.broker()
		b.pulse.clock = func() grid.Tick { return grid.Tick(now.Load()) }
		pauses, _ := b.pulse.feel()
		if stopped {
			now.Add(int64(grid.Hour))
		}
		b.dispatch(t.Context(), core.Launch{Submission: grid.Submission{ID: grid.AttemptID{Job: "a.1", Attempt: 1}}}, pauses)
		if e, is := (<-b.events).(core.Launched); !is || (e.Err != nil) != stopped || e.Local == "l" == stopped || stopped && e.Kind != grid.Temporary {
			t.Errorf("%s: %+v", name, e)
		}
		close(b.done)
		b.executor.wait()
	}
}
