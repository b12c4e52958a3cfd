package flows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// slow takes its time to answer a submission, and refuses the first cancels.
type slow struct {
	*broker
	answer  time.Duration
	refuses int
	refusal error // of submissions
}

func (s *slow) Submit(ctx context.Context, who api.Identity, n api.NewJob) (grid.Record, bool, error) {
	if s.refusal != nil {
		return grid.Record{}, false, s.refusal
	}
	r, again, err := s.broker.Submit(ctx, who, n)
	time.Sleep(s.answer) //house:allow sleep: virtual time
	return r, again, err
}

func (s *slow) Cancel(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, bool, error) {
	if s.refuses--; s.refuses >= 0 {
		return grid.Record{}, false, grid.ErrUnavailable
	}
	return s.broker.Cancel(ctx, who, id)
}

// alone is a workflow of one task.
func alone() api.FlowSubmission {
	return api.FlowSubmission{Key: "k", Name: "alone", Tasks: []api.FlowTask{made("only", "", "x")}}
}

// A workflow that is cancelled while a task is being handed in ends only with that task's job, which is cancelled too; also where
// the first cancel of the job is refused, and where its home is killed in between.
func TestCancelWhileATaskIsHandedIn(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		refuses int
		kill    bool
	}{"": {}, "the first cancels are refused": {refuses: 3}, "the home is killed": {kill: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &slow{broker: newBroker(), answer: time.Second, refuses: k.refuses}
				folder := t.TempDir()
				keeper, stop := keeperOf(t, folder, b)
				f, _, err := keeper.SubmitFlow(t.Context(), bob, alone())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(500 * time.Millisecond) //house:allow sleep: virtual time
				if _, err := keeper.CancelFlow(t.Context(), bob, f.ID); err != nil {
					t.Fatal(err)
				}
				if k.kill {
					stop()
					keeper, stop = keeperOf(t, folder, b)
				}
				s := await(t, keeper, f.ID)
				stop()
				for id, r := range b.jobs {
					if !r.State.Terminal() || k.refuses == 0 && !k.kill && r.State != grid.Killed {
						t.Errorf("%s is %s", id, r.State)
					}
				}
				if len(b.jobs) != 1 || s.States[api.FlowWaiting]+s.States[api.FlowGiven] != 0 {
					t.Errorf("%d jobs, tasks %v", len(b.jobs), s.States)
				}
			})
		})
	}
}

// A task that the broker does not take now says why it waits, and ends when its workflow is cancelled.
func TestATaskThatIsNotTakenSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &slow{broker: newBroker(), refusal: fmt.Errorf("%w: the budget does not cover it", grid.ErrNotYet)}
		k, stop := keeperOf(t, t.TempDir(), b)
		defer stop()
		f, _, err := k.SubmitFlow(t.Context(), bob, alone())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		if s, _ := k.Flow(t.Context(), bob, f.ID); s.Tasks[0].Reason == "" {
			t.Errorf("the task is %+v", s.Tasks[0])
		}
		if _, err := k.CancelFlow(t.Context(), bob, f.ID); err != nil {
			t.Fatal(err)
		}
		await(t, k, f.ID)
	})
}

// What another task left is gone when it is wanted: that is no endless loop, but a failure as often as it is retried.
func TestInputsThatAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &forgetful{broker: newBroker()}
		k, stop := keeperOf(t, t.TempDir(), b)
		defer stop()
		s := api.FlowSubmission{Key: "k", Retries: 2, Tasks: []api.FlowTask{made("first", "", "x"), made("second", "x", "y")}}
		f, _, err := k.SubmitFlow(t.Context(), bob, s)
		if err != nil {
			t.Fatal(err)
		}
		if s := await(t, k, f.ID); s.States[api.FlowFailed] != 1 || s.Tasks[1].Attempt != 3 {
			t.Errorf("%v, attempts %d", s.States, s.Tasks[1].Attempt)
		}
	})
}

// forgetful knows no job that has ended, but for who waits for it.
type forgetful struct{ *broker }

func (b *forgetful) Job(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	r, err := b.broker.Job(ctx, who, id)
	if err == nil && r.State.Terminal() {
		return grid.Record{}, grid.ErrNotFound
	}
	return r, err
}

// What a user has here is bounded: his oldest workflows that have ended go first, and what has not ended stays.
func TestRoomOfAUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		k, stop := keeperOf(t, folder, newBroker())
		defer stop()
		k.config.Bytes = 12
		submit := func(key string) (api.FlowID, error) {
			s := diamond()
			s.Key = key
			f, _, err := k.SubmitFlow(t.Context(), bob, s)
			time.Sleep(time.Second) //house:allow sleep: virtual time
			return f.ID, err
		}
		first, err := submit("1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := submit("2"); err != nil {
			t.Fatal(err)
		}
		if _, err := submit("3"); !errors.Is(err, grid.ErrNotYet) {
			t.Errorf("a third of 5 bytes within 12: %v", err)
		}
		if _, err := k.CancelFlow(t.Context(), bob, first); err != nil {
			t.Fatal(err)
		}
		if _, err := submit("3"); err != nil {
			t.Errorf("where one has ended: %v", err)
		}
		if _, err := k.Flow(t.Context(), bob, first); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("the first: %v", err)
		}
		left, _ := os.ReadDir(folder)
		if len(left) != 2 {
			t.Errorf("%d folders", len(left))
		}
	})
}

// While how far one workflow is, is being written, others are told of, handed in and listed: nobody waits for another's disk.
func TestOneDiskHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, stop := keeper(t, t.TempDir(), newBroker())
		defer stop()
		first, second := diamond(), diamond()
		second.Key = "another"
		slow := begin(t, k, first)
		other := begin(t, k, second)
		f, err := k.flow(bob, slow)
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock() // as while it is written
		done := make(chan error, 1)
		go func() {
			_, err := k.Flow(t.Context(), bob, other)
			third := diamond()
			third.Key = "third"
			_, _, bad := k.SubmitFlow(t.Context(), bob, third)
			k.mu.Lock()
			k.mu.Unlock() //nolint:staticcheck // it is free
			done <- errors.Join(err, bad)
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("others wait for the disk of one workflow")
		}
		f.mu.Unlock()
		await(t, k, slow)
		await(t, k, other)
	})
}

// The folder of workflows is put back to what it was, as from a backup: what ran since is found by the keys of its jobs, and what was handed
// in since is not known. The journal alone is put back: the jobs that it lacks run again when the workflow is resumed, and no others.
func TestPutBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folder, backup, b := t.TempDir(), t.TempDir(), newBroker()
		k, stop := keeper(t, folder, b)
		id := begin(t, k, diamond())
		time.Sleep(500 * time.Millisecond) //house:allow sleep: virtual time
		if err := os.CopyFS(backup, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		await(t, k, id)
		later := diamond()
		later.Key = "later"
		await(t, k, begin(t, k, later))
		stop()
		k, stop = keeper(t, backup, b)
		s := await(t, k, id)
		list, err := k.Flows(t.Context(), bob)
		if err != nil || s.States[api.FlowDone] != 4 || len(b.jobs) != 8 || len(list) != 1 {
			t.Errorf("with an older folder %v, %d jobs, %d workflows (%v)", s.States, len(b.jobs), len(list), err)
		}
		stop()
		for job, r := range b.jobs {
			if r.Job.Name == "left" {
				delete(b.jobs, job)
			}
		}
		k, stop = keeper(t, folder, b)
		defer stop()
		if _, err := k.ResumeFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		if s := await(t, k, id); s.States[api.FlowReused] != 3 || s.States[api.FlowDone] != 1 || b.begun["left"] != 3 || b.begun["right"] != 2 {
			t.Errorf("with an older journal %v, begun %v", s.States, b.begun)
		}
	})
}
