package external

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

func TestOnePollAtATime(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.later(time.Minute)
		b.far.set(func() { b.far.slow, b.far.listings = 5*time.Second, 0 })
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := b.poller.fresh(b.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if b.far.polled() > 3 { // one may be under way, one is for all, and the next may have begun
			t.Errorf("%d polls for 20 that ask at once", b.far.polled())
		}
	})
}

func TestTroubleIsToldAndAskedLess(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.later(time.Minute)
		b.far.set(func() { b.far.down, b.far.listings = errDown, 0 })
		b.later(30 * time.Second)
		if _, err := b.Snapshot(b.Context()); err != nil {
			t.Errorf("a listing of half a minute is told no more: %v", err)
		}
		b.later(30 * time.Minute)
		if b.far.polled() < 10 || b.far.polled() > 50 {
			t.Errorf("%d polls in half an hour of trouble", b.far.polled())
		}
		if b.Trouble() == "" {
			t.Error("there is no trouble")
		}
		for what, err := range map[string]error{
			"Snapshot": second(b.Snapshot(b.Context())), "Attempts": second(b.Attempts(b.Context())),
			"Progress": second(b.Progress(b.Context(), j.ID, j.Control)), "Submit": second(b.Submit(b.Context(), b.job())),
		} {
			if !errors.Is(err, grid.ErrUnavailable) {
				t.Errorf("%s while nothing is known: %v", what, err)
			}
		}
		b.far.set(func() { b.far.down = nil })
		b.later(2 * time.Minute)
		if p := b.progress(j); p.Phase != grid.Waiting || p.Local != id || b.Trouble() != "" {
			t.Errorf("afterwards: %+v, %q", p, b.Trouble())
		}
	})
}

func second[T any](_ T, err error) error { return err }

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

// Jobs that are called, or marked, or owned as ours but not all three are left alone.
func TestOthersAreLeftAlone(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		tag, mark := j.ID.Tag(), Mark("suite", j.ID)
		b.far.set(func() {
			for i, k := range []Job{
				{Name: tag, Mark: mark, User: "other"}, {Name: tag, Mark: Mark("another", j.ID), User: "me"},
				{Name: "x" + tag, Mark: mark, User: "me"}, {Name: tag, Mark: "", User: "me"}, {Name: tag, Mark: mark + "1", User: "me"},
			} {
				k.Local, k.State, k.Demand = grid.LocalID(rune('a'+i)), Queued, j.Job.Demand
				b.far.jobs = append(b.far.jobs, &k)
			}
		})
		b.later(time.Minute)
		if all, err := b.Attempts(b.Context()); err != nil || len(all) != 0 {
			t.Errorf("listed as ours: %v, %v", all, err)
		}
		shot, err := b.Snapshot(b.Context())
		if err != nil || len(shot.Waiting) != 5 || shot.Waiting[0].Job != "" {
			t.Errorf("in the plan: %+v, %v", shot.Waiting, err)
		}
		if p := b.progress(j); p.Phase != grid.Unknown {
			t.Errorf("it is %s", p.Phase)
		}
		if err := b.Kill(b.Context(), j.ID, j.Control); err != nil {
			t.Error(err)
		}
		mine := b.job() // and one that is spooled here, but for another account
		id := b.submit(mine)
		b.far.set(func() {
			b.far.jobs = append(b.far.jobs, &Job{Local: "z", Name: mine.ID.Tag(), Mark: Mark("suite", mine.ID), User: "other", State: Queued, Demand: mine.Job.Demand})
		})
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{} })
		b.later(time.Minute)
		if len(b.far.live()) != 6 || len(b.far.gone()) != 0 {
			t.Errorf("removed: %v", b.far.gone())
		}
	})
}

// The system has given our job's number to another.
func TestAnotherJobOfTheNumber(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.later(time.Minute)
		if err := b.far.change(id, func(k *Job) { k.Name, k.Mark, k.User = "theirs", "", "other" }); err != nil {
			t.Fatal(err)
		}
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Errorf("Withdraw: %v, %v", ok, err)
		}
		if err := b.Hold(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Hold: %v", err)
		}
		b.later(10 * time.Minute)
		if len(b.far.gone()) > 0 || len(b.far.live()) != 1 {
			t.Errorf("removed: %v", b.far.gone())
		}
	})
}

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

// What the batch system says of an end counts where the wrapper wrote none.
func TestEndsByTheListing(t *testing.T) {
	for name, c := range map[string]struct {
		started, asked bool
		end            *End
		want           grid.Cause
		detail         string
	}{
		"walltime":             {true, false, &End{Cause: grid.ByWalltime, Signal: 15, ExitCode: 143}, grid.ByWalltime, "limit"},
		"a node failed":        {true, false, &End{NodeFail: true}, grid.Disappeared, "node"},
		"cancelled by others":  {true, false, &End{Cause: grid.ByRequest, Signal: 15}, grid.Disappeared, "not by the broker"},
		"cancelled by us":      {true, true, &End{Cause: grid.ByRequest, Signal: 15}, grid.ByRequest, "request"},
		"its wrapper killed":   {true, false, &End{Signal: 9, ExitCode: 137}, grid.Disappeared, "signal 9"},
		"by itself":            {true, false, &End{ExitCode: 7}, grid.ByItself, ""},
		"nothing is told":      {true, false, nil, grid.Disappeared, "without a word"},
		"put back and refused": {true, false, &End{ExitCode: 75}, grid.Disappeared, "not started twice"},
		"never ran":            {false, false, &End{Cause: grid.ByRequest}, grid.NeverRan, "cancelled"},
		"the wrapper refused":  {false, false, &End{ExitCode: 75}, grid.NeverRan, "does not see"},
		"no control directory": {false, false, &End{ExitCode: 74}, grid.NeverRan, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				id := b.submit(j)
				if c.started && !b.begins(j, id) {
					t.Fatal("it does not start")
				}
				if c.asked {
					if err := control.AskKill(j.Control, j.ID); err != nil {
						t.Fatal(err)
					}
				}
				b.far.change(id, func(k *Job) { k.State, k.Finished, k.End, k.NeverStarted = Done, control.Now(), c.end, !c.started })
				b.later(time.Minute)
				p := b.progress(j)
				if p.Phase != grid.Ended || p.Cause != c.want || !strings.Contains(p.Detail, c.detail) || (p.Started == 0) == c.started {
					t.Errorf("it is %+v", p)
				}
				if c.end != nil && c.want == grid.ByItself && p.ExitCode != c.end.ExitCode {
					t.Errorf("exit code %d", p.ExitCode)
				}
				b.restart()
				if again := b.submit(j); again != id {
					t.Errorf("its identifier was %s and is %s", id, again)
				}
			})
		})
	}
}

// The wrapper's word comes first, also where it is seen a little late.
func TestTheWrapperIsFirst(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Signal: 9} })
		b.later(endComes / 2)
		if err := control.WriteEnd(j.Control, j.ID, control.End{At: control.Now(), ExitCode: 4}); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		if p := b.progress(j); p.Cause != grid.ByItself || p.ExitCode != 4 {
			t.Errorf("it ended %+v", p)
		}
	})
}

// A job that has started and is listed no more is lost only after several good listings; bad
// ones do not count, and one that has not started is unknown, for the broker to decide.
func TestForgotten(t *testing.T) {
	inBubble(t, func(b *bench) {
		ran, waited := b.job(), b.job()
		id := b.submit(ran)
		other := b.submit(waited)
		b.begins(ran, id)
		b.later(time.Minute)
		b.far.set(func() { b.far.down = errDown })
		b.later(20 * time.Minute)
		b.far.set(func() { b.far.forgetful, b.far.down = true, nil })
		b.far.change(id, func(k *Job) { k.State = Done })
		b.far.change(other, func(k *Job) { k.State = Done })
		for b.Trouble() != "" {
			b.later(time.Second)
		}
		b.later(lostTime / 2)
		if p := b.progress(waited); p.Phase != grid.Unknown {
			t.Errorf("a job that never started, and is not listed, is %s", p.Phase)
		}
		if p := b.progress(ran); p.Phase != grid.Started {
			t.Errorf("a job that a listing or two lack is %s", p.Phase)
		}
		b.later(3 * time.Minute)
		if p := b.progress(ran); p.Phase != grid.Ended || p.Cause != grid.Disappeared {
			t.Errorf("a job that ran is %+v", p)
		}
		if p := b.progress(waited); p.Phase != grid.Unknown {
			t.Errorf("a job that never started, and is not listed, is %s", p.Phase)
		}
		if ok, err := b.Withdraw(b.Context(), waited.ID, waited.Control); !ok || err != nil {
			t.Errorf("Withdraw: %v, %v", ok, err)
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

func TestCorruptSpool(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.later(time.Second)
		b.stop()
		name := b.jobFile(j.ID)
		if err := os.WriteFile(name, []byte(`{"Version":1,"torn`), 0o600); err != nil {
			t.Fatal(err)
		}
		b.start()
		if _, err := os.Stat(name + ".corrupt"); err != nil {
			t.Errorf("it is not set aside: %v", err)
		}
		if all, err := b.Attempts(b.Context()); err != nil || len(all) != 1 || all[0] != j.ID {
			t.Errorf("by its mark: %v, %v", all, err)
		}
		if again := b.submit(j); again != id || len(b.far.live()) != 1 {
			t.Errorf("submitted again as %s, was %s", again, id)
		}
	})
}

// The spool holds no more than is needed.
func TestForgetsWhatIsDiscarded(t *testing.T) {
	inBubble(t, func(b *bench) {
		ended, lost, kept := b.job(), b.job(), b.job()
		for _, j := range []grid.Submission{ended, lost, kept} {
			id := b.submit(j)
			if j.ID == ended.ID {
				b.begins(j, id)
				control.WriteEnd(j.Control, j.ID, control.End{At: control.Now()})
			}
			if j.ID != kept.ID {
				b.far.change(id, func(k *Job) { k.State = Done })
			}
		}
		b.far.set(func() { b.far.forgetful = true })
		b.later(time.Minute)
		for _, j := range []grid.Submission{ended, lost, kept} {
			if err := os.RemoveAll(j.Control); err != nil {
				t.Fatal(err)
			}
		}
		b.later(time.Hour)
		for _, j := range []grid.Submission{ended, lost, kept} {
			if there := b.entry(j.ID) != nil; there != (j.ID == kept.ID) {
				t.Errorf("%s is in the spool: %v", j.ID, there)
			}
		}
	})
}

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
			if shot, err := b.Snapshot(b.Context()); err != nil || shot.Waiting[0].Held != want {
				t.Errorf("held %v: %+v, %v", want, shot.Waiting, err)
			}
		}
		b.begins(j, id)
		if err := b.Hold(b.Context(), j.ID, j.Control); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Hold of what runs: %v", err)
		}
	})
}

func TestRefusals(t *testing.T) {
	inBubble(t, func(b *bench) {
		for name, change := range map[string]func(*grid.Submission){
			"too many cores":   func(j *grid.Submission) { j.Job.Demand.Chunks[0].Cores = 5 },
			"no limit":         func(j *grid.Submission) { j.Limit = 0 },
			"relative sandbox": func(j *grid.Submission) { j.Work = "work" },
			"zero byte":        func(j *grid.Submission) { j.Job.Program.Arguments = []string{"\x00"} },
			"no reservation":   func(j *grid.Submission) { j.Reservation = "nosuch" },
		} {
			j := b.job()
			change(&j)
			if id, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: %q, %v", name, id, err)
			}
		}
		b.far.set(func() { b.far.refuse = true })
		if id, err := b.Submit(b.Context(), b.job()); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("refused by the system: %q, %v", id, err)
		}
		if len(b.far.handed()) > 0 || len(b.all()) > 0 {
			t.Errorf("%d were handed over, %d are spooled", len(b.far.handed()), len(b.all()))
		}
	})
}

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
		var second grid.LocalID
		b.far.set(func() { second = b.far.take(b.far.late[0]) })
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

// A withdrawn attempt starts never more, also where its folder is thrown away and made again
// and the same attempt is handed over again.
func TestWithdrawnStaysWithdrawn(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(map[bool]string{false: "known", true: "without an answer"}[lost], func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				b.far.set(func() { b.far.deaf, b.far.stubborn = lost, true })
				b.Submit(b.Context(), j)
				if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
					t.Fatalf("Withdraw: %v, %v", ok, err)
				}
				b.discard(j)
				b.restart()
				b.far.set(func() { b.far.deaf = false })
				b.submit(j)
				if b.begins(j, "1") || len(b.far.handed()) != 1 {
					t.Errorf("it starts, or was handed over again: %d times", len(b.far.handed()))
				}
			})
		})
	}
}

// Without its spool file an attempt is known by its mark: it leaves the queue, is ended, and
// its loss is noticed.
func TestLostSpool(t *testing.T) {
	inBubble(t, func(b *bench) {
		waits, runs, gone := b.job(), b.job(), b.job()
		ids := map[grid.JobID]grid.LocalID{}
		for _, j := range []grid.Submission{waits, runs, gone} {
			ids[j.ID.Job] = b.submit(j)
		}
		b.begins(runs, ids[runs.ID.Job])
		b.begins(gone, ids[gone.ID.Job])
		b.stop()
		b.far.change(ids[gone.ID.Job], func(k *Job) { k.State = Done })
		b.far.set(func() { b.far.forgetful = true })
		if err := os.RemoveAll(b.config.Spool); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.later(time.Minute)
		if ok, err := b.Withdraw(b.Context(), waits.ID, waits.Control); !ok || err != nil || !b.removed(ids[waits.ID.Job]) {
			t.Errorf("Withdraw: %v, %v; removed %v", ok, err, b.far.gone())
		}
		if err := b.Kill(b.Context(), runs.ID, runs.Control); err != nil || !b.removed(ids[runs.ID.Job]) {
			t.Errorf("Kill: %v; removed %v", err, b.far.gone())
		}
		if p := b.progress(gone); p.Phase != grid.Started {
			t.Errorf("a job that no listing shows is %+v", p)
		}
		b.later(2 * lateEffect)
		if p := b.progress(gone); p.Phase != grid.Ended || p.Cause != grid.Disappeared {
			t.Errorf("a job that no listing shows is %+v", p)
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

// It takes several listings, however far they are apart, and a minute, however many there are.
func TestLostOnlyAfterSeveralListings(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		b.config.Refresh = 2 * lostTime
		b.start()
		rare, often := b.job(), b.job()
		b.begins(rare, b.submit(rare))
		b.later(time.Minute)
		forget := func() {
			b.far.set(func() {
				b.far.forgetful = true
				for _, k := range b.far.jobs {
					k.State = Done
				}
			})
		}
		forget()
		for from := b.far.polled(); b.far.polled() < from+2; {
			b.later(time.Second)
		}
		b.later(lostTime / 2)
		if p := b.progress(rare); p.Phase != grid.Started {
			t.Errorf("after two listings it is %+v", p)
		}
		b.later(4 * lostTime)
		if p := b.progress(rare); p.Phase != grid.Ended {
			t.Errorf("after more it is %+v", p)
		}
		b.far.set(func() { b.far.forgetful = false })
		b.begins(often, b.submit(often))
		b.later(time.Minute)
		forget()
		for range 60 {
			b.Poll()
			b.later(breath)
		}
		if p := b.progress(often); p.Phase != grid.Started {
			t.Errorf("after many listings in half a minute it is %+v", p)
		}
		for range 4 * lostTime / time.Second {
			b.Poll()
			b.later(time.Second)
		}
		if p := b.progress(often); p.Phase != grid.Ended {
			t.Errorf("after many listings it is %+v", p)
		}
	})
}

// A job that was given up for lost may have been started again: should it be back, it is ended.
func TestBackFromTheDead(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.far.set(func() { b.far.forgetful = true })
		b.far.change(id, func(k *Job) { k.State = Done })
		b.later(5 * time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Cause != grid.Disappeared {
			t.Fatalf("it is %+v", p)
		}
		b.far.change(id, func(k *Job) { k.State = Running })
		b.later(time.Minute)
		if !b.removed(id) {
			t.Error("it runs on")
		}
	})
}
