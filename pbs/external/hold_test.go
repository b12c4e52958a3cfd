package external

import (
	"errors"
	"testing"
	"time"

	"gbroker/grid"
)

func TestHolds(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		for _, want := range []bool{true, false} {
			do := b.Hold
			if !want {
				do = b.Unhold
			}
			for range 2 {
				if err := do(b.Context(), j.ID, j.Control); err != nil {
					t.Fatal(err)
				}
			}
			b.later(time.Minute)
			if shot, err := b.Snapshot(b.Context()); err != nil || shot.Waiting[0].Ineligible != want {
				t.Errorf("held %v: %+v, %v", want, shot.Waiting, err)
			}
		}
		b.begins(j, id)
		if err := b.Hold(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Hold of what runs: %v", err)
		}
	})
}

// Some systems hold what has just started, and let it run on.
func TestHoldTooLate(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.submit(j)
		b.far.set(func() { b.far.quick = true })
		if err := b.Hold(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Hold: %v", err)
		}
	})
}

// An operator's hold is not ours to end.
func TestAnOperatorsHold(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.far.change(id, func(k *Job) { k.State = Held })
		if err := b.Unhold(b.Context(), j.ID, j.Control); err != nil || b.far.live()[0].State != Held {
			t.Errorf("Unhold: %v, %+v", err, b.far.live())
		}
	})
}
