package broker

import (
	"context"
	"testing"

	"gbroker/grid"
)

// Who waited for a job leaves nothing behind: it may never change again.
func TestNothingIsLeftOfAWait(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	archived, ready := jobOf(me, "a", "1"), jobOf(me, "a", "2")
	v := newView(func(context.Context, grid.JobID) (grid.Record, error) {
		return grid.Record{Job: archived, State: grid.Completed}, nil
	})
	v.set(grid.Record{Job: ready, State: grid.Ready})
	for id, state := range map[grid.JobID]grid.State{archived.ID: grid.Completed, ready.ID: grid.Ready} {
		r, known, err := v.until(over, id, func(r *grid.Record) bool { return r.State.Terminal() })
		if err != nil || !known || r.State != state {
			t.Errorf("%s: %s, %t, %v", id, r.State, known, err)
		}
	}
	if n := len(v.waiters); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// Who stops waiting takes nothing from the others.
func TestOneOfTwoStopsWaiting(t *testing.T) {
	t.Parallel()
	v := newView(nil)
	j := jobOf(me, "a", "1")
	first, second := v.waits(j.ID), v.waits(j.ID)
	v.leave(j.ID, first)
	v.set(grid.Record{Job: j, State: grid.Ready})
	select {
	case <-second.changed:
	default:
		t.Error("the second does not hear of the change")
	}
	next := v.waits(j.ID)
	v.leave(j.ID, second)
	if v.waiters[j.ID] != next {
		t.Error("one that was woken takes the next one away")
	}
}
