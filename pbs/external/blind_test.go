package external

import (
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

func TestBlind(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		lost, ran, idle := b.job(), b.job(), b.job()
		b.far.set(func() { b.far.deaf = true })
		if _, err := b.Submit(b.Context(), lost); err == nil {
			t.Fatal("Submit without an answer says that all is well")
		}
		b.far.set(func() { b.far.deaf = false })
		if k := b.far.live()[0]; k.State != Held {
			t.Errorf("without an answer it is not held: %+v", k)
		}
		if ok, err := b.Withdraw(b.Context(), lost.ID, lost.Control); !ok || err != nil {
			t.Errorf("Withdraw: %v, %v", ok, err)
		}
		id := b.submit(ran)
		b.submit(idle)
		b.later(time.Second)
		b.far.change(id, func(k *Job) { k.State, k.Started, k.NeverStarted = Running, control.Now(), false })
		if ok, err := b.Withdraw(b.Context(), ran.ID, ran.Control); ok || err != nil {
			t.Errorf("Withdraw of what runs: %v, %v", ok, err)
		}
		if ok, err := b.Withdraw(b.Context(), idle.ID, idle.Control); !ok || err != nil {
			t.Errorf("Withdraw of what waits: %v, %v", ok, err)
		}
		b.far.change(id, func(k *Job) { k.State, k.Finished, k.End = Done, control.Now(), &End{ExitCode: 3} })
		b.later(2 * time.Minute)
		if p := b.progress(ran); p.Phase != grid.Ended || p.ExitCode != 3 || p.Cause != grid.ByItself {
			t.Errorf("it ended %+v", p)
		}
		if left := b.far.live(); len(left) > 0 {
			t.Errorf("left are %+v", left)
		}
	})
}

// Where the nodes take no token the batch system's code counts, but for a 0 that a node may tell which was restarted.
func TestBlindRestartedNode(t *testing.T) {
	for name, c := range map[string]struct {
		end    End
		silent grid.NodeName
		want   grid.Cause
	}{
		"sure":               {End{}, "", grid.ByItself},
		"unsure":             {End{Unsure: true}, "", grid.Disappeared},
		"its node silent":    {End{}, "n1", grid.Disappeared},
		"another silent":     {End{}, "n2", grid.ByItself},
		"silent, and a code": {End{ExitCode: 3}, "n1", grid.ByItself},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.stop()
				b.config.Blind = true
				b.start()
				j := b.job()
				id := b.submit(j)
				b.later(time.Second)
				b.far.change(id, func(k *Job) {
					k.State, k.Started, k.NeverStarted, k.Places = Running, control.Now(), false, []Place{{Node: "n1", Processes: 1, Cores: 1}}
				})
				b.later(time.Minute)
				b.far.set(func() { b.far.silent = []grid.NodeName{c.silent} })
				b.later(time.Minute)
				b.far.set(func() { b.far.silent = nil })
				b.restart()
				b.far.change(id, func(k *Job) { k.State, k.Finished, k.Places, k.End = Done, control.Now(), nil, &c.end })
				b.later(time.Minute)
				p := b.progress(j)
				if p.Phase != grid.Ended || p.Cause != c.want || strings.Contains(p.Detail, "may have restarted") != (c.want == grid.Disappeared) {
					t.Errorf("it is %+v", p)
				}
			})
		})
	}
}

// Where there is no token, a withdrawn job that somebody has released is ended.
func TestBlindReleasedByOthers(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		j := b.job()
		b.far.set(func() { b.far.stalled = true })
		b.Submit(b.Context(), j)
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		b.far.set(func() { b.far.take(b.far.late[0]) })
		b.far.change("1", func(k *Job) { k.State, k.NeverStarted = Running, false })
		b.later(time.Minute)
		if !b.removed("1") {
			t.Error("it runs on")
		}
	})
}

func TestBlindNeverRan(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		j := b.job()
		id := b.submit(j)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Cause: grid.ByRequest} })
		b.later(time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Cause != grid.NeverRan {
			t.Errorf("it is %+v", p)
		}
	})
}

// Where the nodes take no token, and the spool is lost, only the batch system can tell that an
// attempt has not started.
func TestBlindLostSpool(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		j := b.job()
		id := b.submit(j)
		b.stop()
		if err := os.RemoveAll(b.config.Spool); err != nil {
			t.Fatal(err)
		}
		b.far.change(id, func(k *Job) { k.State, k.NeverStarted = Running, false })
		b.start()
		b.far.set(func() { b.far.down = errDown })
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); ok || err == nil {
			t.Errorf("Withdraw while nothing is known: %v, %v", ok, err)
		}
		b.far.set(func() { b.far.down = nil })
		b.later(2 * time.Minute)
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); ok || err != nil {
			t.Errorf("Withdraw of what runs: %v, %v", ok, err)
		}
	})
}

// What a blind site puts into the queue again is not started a second time.
func TestBlindRequeue(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		j := b.job()
		id := b.submit(j)
		b.far.change(id, func(k *Job) { k.State, k.NeverStarted = Running, false })
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State = Queued })
		b.later(time.Minute)
		if p := b.progress(j); !b.removed(id) || p.Phase != grid.Ended || p.Cause != grid.Disappeared {
			t.Errorf("removed %v, and it is %+v", b.far.gone(), p)
		}
	})
}

// What has ended is not asked for: its token says that it was not withdrawn.
func TestBlindWithdrawOfWhatHasEnded(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		j := b.job()
		id := b.submit(j)
		b.far.change(id, func(k *Job) { k.State, k.NeverStarted = Running, false })
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{} })
		b.later(time.Minute)
		b.far.set(func() { b.far.down = errDown })
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); ok || err != nil {
			t.Errorf("Withdraw: %v, %v", ok, err)
		}
	})
}

// It is withdrawn only while it is held, and only if it never started.
func TestBlindEvidence(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		idle, again := b.job(), b.job()
		b.submit(idle)
		id := b.submit(again)
		b.later(time.Second)
		b.far.set(func() { b.far.stubborn = true })
		if ok, err := b.Withdraw(b.Context(), idle.ID, idle.Control); !ok || err != nil {
			t.Errorf("Withdraw: %v, %v", ok, err)
		}
		if k := b.far.live()[0]; !k.OurHold || k.State != Held {
			t.Errorf("it is withdrawn, and not held: %+v", k)
		}
		b.far.change(id, func(k *Job) { k.NeverStarted = false })
		if ok, err := b.Withdraw(b.Context(), again.ID, again.Control); ok || err != nil {
			t.Errorf("Withdraw of what has run and waits again: %v, %v", ok, err)
		}
	})
}

// One whose answer was lost is released when a listing shows it.
func TestBlindFound(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		b.far.set(func() { b.far.deaf = true })
		b.Submit(b.Context(), b.job())
		b.later(time.Minute)
		if k := b.far.live()[0]; k.State != Queued {
			t.Errorf("it is %+v", k)
		}
	})
}

// From a state that is not known nothing is concluded: what has started and may run on is not removed.
func TestBlindJobOfAnUnknownState(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Blind = true
		b.start()
		j := b.job()
		id := b.submit(j)
		b.far.change(id, func(k *Job) { k.State, k.Started, k.NeverStarted = Running, control.Now(), false })
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State = Odd })
		b.later(time.Hour)
		if p := b.progress(j); p.Phase != grid.Started || len(b.far.live()) != 1 {
			t.Errorf("%+v, left are %+v", p, b.far.live())
		}
	})
}

// The release from the hold that it was submitted on fails, or the broker dies before it: it is released when the batch system shows it again. One that somebody
// holds after that stays so.
func TestBlindReleaseThatFails(t *testing.T) {
	for name, restarts := range map[string]bool{"it fails": false, "and the broker is started anew": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.stop()
				b.config.Blind = true
				b.start()
				j := b.job()
				b.far.set(func() { b.far.clings = errDown })
				if _, err := b.Submit(b.Context(), j); err == nil {
					t.Error("Submit says that all is well")
				}
				b.later(time.Minute)
				if restarts {
					b.restart()
				}
				b.far.set(func() { b.far.clings = nil })
				b.later(time.Minute)
				if k := b.far.live()[0]; k.State != Queued {
					t.Fatalf("it is %+v", k)
				}
				if err := b.Hold(b.Context(), j.ID, j.Control); err != nil {
					t.Fatal(err)
				}
				b.later(time.Minute)
				if k := b.far.live()[0]; k.State != Held {
					t.Errorf("held, it is %+v", k)
				}
			})
		})
	}
}
