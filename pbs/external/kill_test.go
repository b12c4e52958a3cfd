package external

import (
	"errors"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// A withdrawal counts at once, and is carried out when the system answers again.
func TestWithdrawInTrouble(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.later(time.Minute)
		b.far.set(func() { b.far.down = errDown })
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		b.restart()
		b.far.set(func() { b.far.down, b.far.stubborn = nil, true })
		b.later(3 * time.Minute)
		if !b.removed(id) {
			t.Error("it was not removed afterwards")
		}
		shot, err := b.Snapshot(b.Context())
		if err != nil || len(shot.Waiting) != 0 {
			t.Errorf("what is withdrawn is still in the plan: %+v, %v", shot.Waiting, err)
		}
		b.far.set(func() { b.far.stubborn = false })
		b.later(3 * time.Minute)
		if left := b.far.live(); len(left) > 0 {
			t.Errorf("left are %+v", left)
		}
		if b.begins(j, id) {
			t.Error("it starts")
		}
	})
}

func TestKillIsAskedAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.later(time.Minute)
		b.far.set(func() { b.far.down = errDown })
		if err := b.Kill(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("Kill while nothing answers: %v", err)
		}
		b.restart()
		b.far.set(func() { b.far.down = nil })
		b.later(2 * time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Cause != grid.ByRequest || !b.removed(id) {
			t.Errorf("it is %+v", p)
		}
	})
}

// The wish to end an attempt counts also where the crash came right after it was written, and
// is no reason for an end that came before.
func TestKillAsked(t *testing.T) {
	inBubble(t, func(b *bench) {
		j, over := b.job(), b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.begins(over, b.submit(over))
		if err := control.WriteEnd(over.Control, over.ID, control.End{At: control.Now(), Cause: grid.Disappeared}); err != nil {
			t.Fatal(err)
		}
		if err := b.Kill(b.Context(), over.ID, over.Control); err != nil {
			t.Error(err)
		}
		if p := b.progress(over); p.Cause != grid.Disappeared {
			t.Errorf("what had ended is %+v", p)
		}
		if err := control.AskKill(j.Control, j.ID); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.later(time.Minute)
		if !b.removed(id) {
			t.Error("it is not removed")
		}
	})
}

// A removal that has no effect is repeated.
func TestKillIsRepeated(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.begins(j, b.submit(j))
		b.far.set(func() { b.far.stubborn = true })
		if err := b.Kill(b.Context(), j.ID, j.Control); err != nil {
			t.Fatal(err)
		}
		b.later(3 * time.Minute)
		if n := len(b.far.gone()); n < 3 || n > 10 {
			t.Errorf("removed %d times in three minutes", n)
		}
	})
}

// While the node of a job does not answer, neither its removal nor a poll is asked for in a loop.
func TestKillOnADeadNode(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.later(time.Minute)
		b.far.set(func() { b.far.dead = true })
		polls := b.far.polled()
		for range 10 { // whoever asks for it again and again
			if err := b.Kill(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrUnavailable) {
				t.Errorf("Kill: %v", err)
			}
			b.later(time.Second)
		}
		b.later(9*time.Minute + 50*time.Second)
		if n := len(b.far.gone()); n < 8 || n > 18 {
			t.Errorf("removed %d times in ten minutes", n)
		}
		if n := b.far.polled() - polls; n > 70 { // one each ten seconds
			t.Errorf("%d polls in ten minutes", n)
		}
		b.far.set(func() { b.far.dead = false })
		b.later(2 * time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Cause != grid.ByRequest {
			t.Errorf("when it is back: %+v", p)
		}
	})
}
