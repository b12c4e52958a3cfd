package external

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

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
		"a code and no word":   {true, false, &End{ExitCode: 7}, grid.Disappeared, "exit code 7: its node may have restarted"},
		"a zero and no word":   {true, false, &End{}, grid.Disappeared, "exit code 0: its node may have restarted"},
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
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Signal: 9} })
		b.Poll()
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

// What was used is told by the wrapper and by listings, and the larger figure counts; where the
// wrapper has told nothing, the batch system's word is kept with the end.
func TestUsage(t *testing.T) {
	for name, c := range map[string]struct{ wrapper, running, want grid.Usage }{
		"memory by a listing":     {grid.Usage{CPU: 300}, grid.Usage{CPU: 200, Memory: 5000}, grid.Usage{CPU: 300, Memory: 5000}},
		"more than the wrapper's": {grid.Usage{CPU: 300}, grid.Usage{CPU: 900}, grid.Usage{CPU: 900}},
		"by the wrapper alone":    {grid.Usage{CPU: 300, Memory: 1}, grid.Usage{}, grid.Usage{CPU: 300, Memory: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				id := b.submit(j)
				b.begins(j, id)
				b.far.change(id, func(k *Job) { k.Usage = Usage{CPU: c.running.CPU, Memory: c.running.Memory} })
				b.later(time.Minute)
				if err := errors.Join(control.WriteUsage(j.Control, j.ID, c.wrapper), control.WriteEnd(j.Control, j.ID, control.End{At: control.Now()})); err != nil {
					t.Fatal(err)
				}
				b.later(time.Second)
				if p := b.progress(j); p.Phase != grid.Ended || p.Usage != c.want {
					t.Errorf("it is %+v, and has used %+v", p, c.want)
				}
			})
		})
	}
	t.Run("no wrapper's word", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			j := b.job()
			id := b.submit(j)
			b.begins(j, id)
			b.far.change(id, func(k *Job) {
				k.State, k.End, k.Usage = Done, &End{Signal: 9, ExitCode: 137}, Usage{CPU: 700, Memory: 1 << 62}
			})
			b.later(time.Minute)
			b.restart()
			if p := b.progress(j); p.Phase != grid.Ended || p.Usage != (grid.Usage{CPU: 700, Memory: grid.MaxUsedMemory}) {
				t.Errorf("it is %+v", p)
			}
		})
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
		for b.Trouble() != nil {
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

// A look that fails says nothing: what listings lack is not lost by it.
func TestLooksThatFail(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.far.set(func() { b.far.forgetful, b.far.lookless = true, true })
		b.far.change(id, func(k *Job) { k.State = Done })
		b.later(time.Hour)
		if p := b.progress(j); p.Phase != grid.Started {
			t.Errorf("it is %+v", p)
		}
	})
}

// A job that is said to have ended, and the next moment runs, has not ended; and who waits is
// told of each change.
func TestSaidToHaveEnded(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.begins(j, id)
		b.later(time.Minute)
		if len(b.changes) != 1 {
			t.Errorf("told %d times of one start", len(b.changes))
		}
		b.far.change(id, func(k *Job) { k.State = Done })
		b.Poll()
		b.later(endComes / 3)
		b.far.change(id, func(k *Job) { k.State = Running })
		b.Poll()
		b.later(time.Minute)
		if p := b.progress(j); p.Phase != grid.Started || len(b.changes) != 1 {
			t.Errorf("it is %+v; told %d times", p, len(b.changes))
		}
	})
}

// The end of a job that never ran is told in two steps; a crash may come between.
func TestNeverRanAfterACrash(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.stop()
		if taken, _, err := control.Take(j.Control, j.ID, control.Supervisor, control.Process{}); !taken || err != nil {
			t.Fatal(err)
		}
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Cause: grid.ByRequest} })
		b.start()
		b.later(time.Minute)
		if p := b.progress(j); p.Phase != grid.Ended || p.Cause != grid.NeverRan {
			t.Errorf("it is %+v", p)
		}
	})
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
		b.later(3 * lostTime)
		if p := b.progress(gone); p.Phase != grid.Started {
			t.Errorf("a job that no listing shows is soon %+v", p)
		}
		b.later(2 * lateEffect)
		if p := b.progress(gone); p.Phase != grid.Ended || p.Cause != grid.Disappeared {
			t.Errorf("a job that no listing shows is %+v", p)
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

// While the end of a job that never ran is looked into, it waits; a wrapper that told no cause
// did not see in time that its end was asked for.
func TestBeforeTheEndIsTold(t *testing.T) {
	inBubble(t, func(b *bench) {
		waits, asked := b.job(), b.job()
		id := b.submit(waits)
		b.begins(asked, b.submit(asked))
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Cause: grid.ByRequest} })
		b.Poll()
		b.later(endComes / 3)
		if p := b.progress(waits); p.Phase != grid.Waiting {
			t.Errorf("while its end is looked into it is %s", p.Phase)
		}
		if taken, _, err := control.Take(waits.Control, waits.ID, control.Supervisor, control.Process{}); !taken || err != nil {
			t.Fatal(err)
		}
		if p := b.progress(waits); p.Phase != grid.Waiting {
			t.Errorf("between token and end it is %s", p.Phase)
		}
		err := errors.Join(control.AskKill(asked.Control, asked.ID),
			control.WriteEnd(asked.Control, asked.ID, control.End{At: control.Now(), Cause: grid.Disappeared}))
		if err != nil {
			t.Fatal(err)
		}
		if p := b.progress(asked); p.Cause != grid.ByRequest {
			t.Errorf("what was asked for is %+v", p)
		}
	})
}

// What has ended is no attempt of ours any more, though the batch system is slow to see it.
func TestEndedIsNotListed(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		b.begins(j, b.submit(j))
		if err := control.WriteEnd(j.Control, j.ID, control.End{At: control.Now()}); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		if all, err := b.Attempts(b.Context()); err != nil || len(all) > 0 {
			t.Errorf("attempts: %v, %v", all, err)
		}
	})
}
