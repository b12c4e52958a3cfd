package external

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/plan"
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

// Who waits for the poll of another does not run out of time with him.
func TestAnotherHasNoTime(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.later(time.Second)
		b.far.set(func() { b.far.slow = 5 * time.Second })
		before := b.poller.now()
		hasty, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := b.poller.fresh(hasty); !errors.Is(err, grid.ErrUnavailable) {
				t.Errorf("without time: %v", err)
			}
		})
		b.later(time.Second / 2)
		if _, err := b.poller.after(b.Context(), before); err != nil {
			t.Errorf("with time: %v", err)
		}
		all.Wait()
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
		if b.Trouble() == nil {
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
		if p := b.progress(j); p.Phase != grid.Waiting || p.Local != id || b.Trouble() != nil {
			t.Errorf("afterwards: %+v, %v", p, b.Trouble())
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Jobs that are called, or marked, or owned as ours but not all three are left alone.
func TestOthersAreLeftAlone(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		tag, mark := j.ID.Tag(), markOf("suite", j.ID)
		b.far.set(func() {
			for i, k := range []Job{
				{Name: tag, Mark: mark, User: "other"}, {Name: tag, Mark: markOf("another", j.ID), User: "me"},
				{Name: "x" + tag, Mark: mark, User: "me"}, {Name: tag, Mark: "", User: "me"}, {Name: tag, Mark: mark + "1", User: "me"},
				{Name: tag, Mark: strings.Replace(mark, "@1.", "@01.", 1), User: "me"},
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
		if err != nil || len(shot.Waiting) != 6 || shot.Waiting[0].Job != "" {
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
			b.far.jobs = append(b.far.jobs, &Job{Local: "z", Name: mine.ID.Tag(), Mark: markOf("suite", mine.ID), User: "other", State: Queued, Demand: mine.Job.Demand})
		})
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{} })
		b.later(time.Minute)
		if len(b.far.live()) != 7 || len(b.far.gone()) != 0 {
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

func TestCorruptSpool(t *testing.T) {
	for what, spoil := range map[string]func(string) string{
		"torn":       func(text string) string { return text[:len(text)/2] },
		"newer":      func(text string) string { return strings.Replace(text, `"Version":1`, `"Version":2`, 1) },
		"another's":  func(text string) string { return strings.Replace(text, `"Attempt":1`, `"Attempt":9`, 1) },
		"with more":  func(text string) string { return text + text },
		"of unknown": func(text string) string { return strings.Replace(text, `"Queue"`, `"Queues"`, 1) },
	} {
		t.Run(what, func(t *testing.T) { testCorruptSpool(t, spoil) })
	}
}

// A spooled file that cannot be read now is not damaged: its job may run.
func TestASpooledFileThatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{jobSuffix, reservationSuffix} {
		c := Config{Spool: t.TempDir()}
		name := filepath.Join(c.Spool, "a"+suffix)
		if err := os.Symlink("a"+suffix, name); err != nil { // which leads nowhere
			t.Fatal(err)
		}
		s := &System{config: c, log: zap.NewNop()}
		if err := s.load(); !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v", suffix, err)
		}
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
}

func testCorruptSpool(t *testing.T, spoil func(string) string) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.later(time.Second)
		b.stop()
		name := b.jobFile(j.ID)
		text, err := os.ReadFile(name)
		if spoilt := spoil(string(text)); spoilt == string(text) {
			t.Fatalf("nothing to spoil in %s", text)
		} else if err = errors.Join(err, os.WriteFile(name, []byte(spoilt), 0o600)); err != nil {
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

// What was started by another batch system, before this one was configured, is not settled here.
func TestStartedElsewhere(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		if taken, _, err := control.Take(j.Control, j.ID, control.Supervisor, control.Process{PID: 1}); !taken || err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		b.progress(j)
		b.later(time.Hour)
		if p := b.progress(j); p.Phase != grid.Started {
			t.Errorf("it is %+v", p)
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

// A demand is handed over in the form that the system takes; where there is none, it is refused before.
func TestTheFormOfADemand(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.shapes = plan.Shapes{Pieces: 2, Alike: true, Why: "the setting"} })
		b.later(time.Minute)
		j := b.job()
		j.Job.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 6, Processes: 1, Cores: 1}}}
		b.submit(j)
		if c := b.far.handed()[0].Demand.Chunks; len(c) != 1 || c[0].Count != 2 || c[0].Cores != 3 || c[0].Processes != 3 {
			t.Errorf("six pieces are handed over as %+v", c)
		}
		j = b.job()
		j.Job.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}, {Count: 1, Processes: 2, Cores: 2}}}
		if _, err := b.Submit(b.Context(), j); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "the setting") {
			t.Errorf("unequal pieces: %v", err)
		}
	})
}

// What has ended is not removed: its number may soon be another's.
func TestWhatHasEndedIsNotRemoved(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Cause: grid.ByRequest} })
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw: %v, %v", ok, err)
		}
		b.later(time.Minute)
		if gone := b.far.gone(); len(gone) > 0 {
			t.Errorf("removed: %v", gone)
		}
	})
}

// Commands on a mapped user's job are run as that account.
func TestActsAsTheAccount(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		var id grid.LocalID
		b.far.set(func() {
			id = b.far.take(Order{Tag: j.ID.Tag(), Mark: markOf("suite", j.ID), As: "other", Demand: j.Job.Demand})
		})
		e := b.newEntry(j, "other")
		e.Local = id
		if err := b.enter(e); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); !ok || err != nil || !b.removed(id) {
			t.Errorf("Withdraw: %v, %v; removed %v", ok, err, b.far.gone())
		}
	})
}
