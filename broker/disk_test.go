package broker

import (
	"context"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// A disk that was full while a job ran, or is when it has ended, is told of that job, and not of one that starts later.
func TestAFullDiskReachesTheJob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before, after int64 // taken while it runs, and when it has ended
		started       time.Duration
		told          bool
	}{{0, 0, -time.Minute, false}, {1 << 40, 0, -time.Minute, true}, {0, 1 << 40, -time.Minute, true}, {1 << 40, 0, time.Hour, false}} {
		s := &shell{}
		j := jobOf(me, "a", "1")
		s.journal.recs = []grid.Record{{Job: j, State: grid.Finished, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
			Run: grid.Run{End: grid.Completed, Attempt: 1, Started: grid.InstantOf(time.Now().Add(test.started))}}}
		b := s.broker()
		journal := Journal(&s.journal)
		b.journal.Store(&journal)
		s.taken.Store(test.before)
		b.full() // as is asked again and again
		s.taken.Store(test.after)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		go b.Run(ctx)
		<-b.Ready()
		r, _, err := b.Wait(ctx, j.ID, func(r *grid.Record) bool { return r.State.Terminal() })
		if err != nil || r.State != grid.Completed || strings.Contains(r.Reason, "was full") != test.told {
			t.Errorf("%+v: %v, %s, %q", test, err, r.State, r.Reason)
		}
		cancel()
		<-b.done
	}
}

// Who only reads what room there is, as a page of figures does, changes nothing.
func TestToReadTheRoomNotesNothing(t *testing.T) {
	t.Parallel()
	s := &shell{}
	b := s.broker()
	journal := Journal(&s.journal)
	b.journal.Store(&journal)
	s.taken.Store(1 << 40)
	if _, jobs, err := b.Room(); err != nil || jobs > 0 || b.fullAt.Load() != 0 {
		t.Errorf("read: %d bytes, %v, full at %d", jobs, err, b.fullAt.Load())
	}
	if b.LookAtRoom(); b.fullAt.Load() == 0 {
		t.Error("looked at: nothing is noted")
	}
}
