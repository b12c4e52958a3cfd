package external

import (
	"errors"
	"os"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

func TestLostAnswer(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{false: "again", true: "after a restart"}[restart], func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				b.far.set(func() { b.far.deaf = true })
				if id, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrUnavailable) {
					t.Fatalf("Submit without an answer: %q, %v", id, err)
				}
				if restart {
					b.restart()
				}
				b.far.set(func() { b.far.deaf = false })
				if id := b.submit(j); id != "1" || len(b.far.live()) != 1 {
					t.Errorf("again: %q, of %d jobs", id, len(b.far.live()))
				}
				b.restart()
				if id := b.submit(j); id != "1" || len(b.far.live()) != 1 {
					t.Errorf("after a restart: %q, of %d jobs", id, len(b.far.live()))
				}
			})
		})
	}
}

// A command that takes effect after its attempt was handed over again: one local job is left.
func TestLateEffect(t *testing.T) {
	inBubble(t, func(b *bench) {
		j, gone := b.job(), b.job()
		b.far.set(func() { b.far.stalled = true })
		for _, j := range []grid.Submission{j, gone} {
			if _, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrUnavailable) {
				t.Fatalf("Submit: %v", err)
			}
		}
		if ok, err := b.Withdraw(b.Context(), gone.ID, gone.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		b.far.set(func() { b.far.stalled = false })
		b.submit(j)
		b.later(time.Minute)
		b.far.set(func() {
			for _, o := range b.far.late {
				b.far.take(o)
			}
		})
		b.later(time.Minute)
		if left := b.far.live(); len(left) != 1 || left[0].Local != "1" {
			t.Errorf("left are %+v", left)
		}
		if b.begins(gone, "3") {
			t.Error("a withdrawn attempt starts")
		}
	})
}

// again lets an order take effect once more while no listing is under way: what one shows waiting beside another is removed.
func (b *bench) again(o Order) (id grid.LocalID) {
	b.later(time.Second)
	b.far.set(func() { id = b.far.take(o) })
	return id
}

// What takes effect late may start first: then that is the job, and the one whose identifier
// was known ends for want of the token, which says nothing of the attempt.
func TestTheSecondStartsFirst(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.far.set(func() { b.far.stalled = true })
		if _, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrUnavailable) {
			t.Fatalf("Submit: %v", err)
		}
		b.far.set(func() { b.far.stalled = false })
		first := b.submit(j)
		second := b.again(b.far.late[0])
		if !b.begins(j, second) {
			t.Fatal("the second does not start")
		}
		b.far.change(first, func(k *Job) { k.State, k.End = Done, &End{ExitCode: 75} })
		b.later(2 * time.Minute)
		if p := b.progress(j); p.Phase != grid.Started || p.Local != second {
			t.Errorf("while the second runs it is %+v", p)
		}
		if err := b.Kill(b.Context(), j.ID, j.Control); err != nil || !b.removed(second) {
			t.Errorf("Kill: %v; removed %v", err, b.far.gone())
		}
		b.later(time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Cause != grid.ByRequest {
			t.Errorf("it is %+v", p)
		}
	})
}

// Of two that run for a moment, one only to find the token taken, neither is removed.
func TestBothRun(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		first := b.submit(j)
		second := b.again(b.far.orders[0])
		b.begins(j, second)
		b.far.change(first, func(k *Job) { k.State = Running })
		b.later(time.Minute)
		b.far.change(first, func(k *Job) { k.State, k.End = Done, &End{ExitCode: 75} })
		b.later(time.Minute)
		if p := b.progress(j); p.Phase != grid.Started || p.Local != second || len(b.far.gone()) > 0 {
			t.Errorf("it is %+v; removed %v", p, b.far.gone())
		}
	})
}

// What is put into the queue again after its end is removed.
func TestQueuedAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		if err := control.WriteEnd(j.Control, j.ID, control.End{At: control.Now()}); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State = Queued })
		b.later(time.Minute)
		if p := b.progress(j); !b.removed(id) || p.Phase != grid.Ended || p.Cause != grid.ByItself {
			t.Errorf("removed %v; it is %+v", b.far.gone(), p)
		}
	})
}

// A withdrawn attempt starts never more, also where its folder is thrown away and made again
// and the same attempt is handed over again.
func TestWithdrawnStaysWithdrawn(t *testing.T) {
	for name, how := range map[string]func(*batch){
		"known": func(*batch) {}, "without an answer": func(far *batch) { far.deaf = true }, "late": func(far *batch) { far.stalled = true },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				b.far.set(func() { how(b.far); b.far.stubborn = true })
				b.Submit(b.Context(), j)
				if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
					t.Fatalf("Withdraw: %v, %v", ok, err)
				}
				b.discard(j)
				b.restart()
				b.far.set(func() { b.far.deaf, b.far.stalled = false, false })
				b.submit(j)
				if b.begins(j, "1") || len(b.far.handed()) != 1 {
					t.Errorf("it starts, or was handed over again: %d times", len(b.far.handed()))
				}
			})
		})
	}
}

// When the command leaves, its spool file and its control file are there.
func TestOnDiskBeforeTheCommand(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		seen := false
		b.far.set(func() {
			b.far.witness = func(Order) {
				seen = true
				_, err := os.Stat(b.jobFile(j.ID))
				said, err2 := control.Submitted(j.Control, j.ID)
				if err != nil || !said || err2 != nil {
					t.Errorf("spooled: %v; told: %v, %v", err, said, err2)
				}
			}
		})
		if b.submit(j); !seen {
			t.Error("it was not submitted")
		}
	})
}

// What was handed over before is what is handed over again, whatever was configured since:
// its account, and whether there is a token. A refusal of the second does not undo the first.
func TestHandedOverAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.far.set(func() { b.far.stalled = true })
		b.Submit(b.Context(), j)
		b.stop()
		b.config.Blind, b.config.Accounts = true, func(grid.User) (string, error) { return "other", nil }
		b.start()
		b.Submit(b.Context(), j)
		if all := b.far.handed(); len(all) != 2 || all[1].Held || all[1].As != "" {
			t.Errorf("handed over: %+v", all)
		}
		b.far.set(func() { b.far.refuse = true })
		if _, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrInvalid) || b.entry(j.ID) == nil {
			t.Errorf("refused by %v; its entry is %v", err, b.entry(j.ID))
		}
	})
}

// A job that is found after its answer was lost may start, also where the folder was made again.
func TestFoundInANewFolder(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.far.set(func() { b.far.deaf = true })
		b.Submit(b.Context(), j)
		b.discard(j)
		if id := b.submit(j); !b.begins(j, id) {
			t.Error("it does not start")
		}
	})
}

// A local job that has ended is no answer to a submission, but where there is no token it has
// run, and does not run again.
func TestFoundEnded(t *testing.T) {
	for _, blind := range []bool{false, true} {
		t.Run(map[bool]string{false: "token", true: "blind"}[blind], func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.stop()
				b.config.Blind = blind
				b.start()
				b.later(time.Second)
				j := b.job()
				b.far.set(func() { b.far.deaf = true })
				b.Submit(b.Context(), j)
				b.far.change("1", func(k *Job) { k.State, k.End, k.NeverStarted = Done, &End{}, !blind })
				b.far.set(func() { b.far.deaf = false })
				b.submit(j)
				if want := map[bool]int{false: 2, true: 1}[blind]; len(b.far.handed()) != want {
					t.Errorf("handed over %d times, not %d", len(b.far.handed()), want)
				}
			})
		})
	}
}

// What is withdrawn after its answer was lost is kept in mind as long as it may take effect.
func TestLateEffectWithoutItsFolder(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.far.set(func() { b.far.stalled = true })
		b.Submit(b.Context(), j)
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		b.later(lateEffect / 2)
		if err := os.RemoveAll(j.Control); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.far.set(func() { b.far.take(b.far.late[0]) })
		b.later(time.Minute)
		if !b.removed("1") {
			t.Error("it is not removed")
		}
	})
}

// One that was withdrawn before it was submitted is never handed over.
func TestWithdrawnBefore(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		if id := b.submit(j); id != grid.LocalID(j.ID.Tag()) || len(b.far.handed()) > 0 {
			t.Errorf("it is %s, and was handed over %d times", id, len(b.far.handed()))
		}
	})
}

// What was accepted after the last listing began counts as waiting.
func TestAcceptedSince(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.later(time.Second)
		b.far.set(func() { b.far.slow = 5 * time.Second })
		j := b.job()
		b.submit(j)
		b.later(time.Second)
		shot, err := b.Snapshot(b.Context())
		if err != nil || len(shot.Waiting) != 1 || shot.Waiting[0].Job != j.ID.Job {
			t.Errorf("in the plan: %+v, %v", shot.Waiting, err)
		}
		if all, err := b.Attempts(b.Context()); err != nil || len(all) != 1 {
			t.Errorf("attempts %v, %v", all, err)
		}
		if p := b.progress(j); p.Phase != grid.Waiting {
			t.Errorf("it is %s", p.Phase)
		}
	})
}
