package external

import (
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// The scheduler's cycle is learned from what listings show; what was running at first, or held, says nothing.
func TestCycleIsLearned(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.looks = 20 * grid.Second })
		if got := b.learned(); got != (plan.Lag{Usual: 10 * grid.Second, Most: 20 * grid.Second}) {
			t.Errorf("as the scheduler says: %+v", got)
		}
		for range 3 {
			first, second, held := b.submit(b.job()), b.submit(b.job()), b.submit(b.job())
			b.far.change(first, func(k *Job) { k.State, k.Started, k.NeverStarted = Running, control.Now(), false })
			b.far.change(held, func(k *Job) { k.State = Held })
			b.later(30 * time.Second)
			b.far.change(first, func(k *Job) { k.State, k.Finished, k.End = Done, control.Now(), &End{} })
			b.later(4 * time.Second)
			for _, id := range []grid.LocalID{second, held} {
				b.far.change(id, func(k *Job) { k.State, k.Started, k.NeverStarted = Running, control.Now(), false })
				b.later(20 * time.Second) // an operator releases it
			}
			b.far.change(second, func(k *Job) { k.State, k.Finished, k.End = Done, control.Now(), &End{} })
		}
		b.later(30 * time.Second)
		if got := b.learned(); got.Usual < 3900 || got.Usual > 4100 || got.Most > 4100 {
			t.Errorf("of starts four seconds after an end: %+v", got)
		}
	})
}

func (b *bench) learned() plan.Lag {
	b.Helper()
	b.later(time.Minute)
	shot, err := b.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return shot.Lag
}
