package flows

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// What a few histories show under the race detector, which takes four times as long, many show without it: the tests that are called TestLarge.
const many = 25

var histories = flag.Int("histories", 5, "of workflows through faults")

// faulty is a broker whose answers are lost, before or after it has done what it was asked for.
type faulty struct {
	*broker
	mu   sync.Mutex
	r    *rand.Rand
	odds float64
}

func (f *faulty) chance(odds float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.r.Float64() < odds
}

func (f *faulty) lost(what string) error {
	if f.chance(f.odds) {
		return fmt.Errorf("%w: %s: the answer is lost", grid.ErrUnavailable, what)
	}
	return nil
}

func (f *faulty) Submit(ctx context.Context, who api.Identity, n api.NewJob) (grid.Record, bool, error) {
	if err := f.lost("before submit"); err != nil {
		return grid.Record{}, false, err
	}
	r, again, err := f.broker.Submit(ctx, who, n)
	if bad := f.lost("after submit"); bad != nil {
		return grid.Record{}, false, bad
	}
	return r, again, err
}

func (f *faulty) Upload(ctx context.Context, who api.Identity, id grid.JobID, path string, offset int64, body io.Reader) error {
	if err := f.lost("upload"); err != nil {
		return err
	}
	return f.broker.Upload(ctx, who, id, path, offset, body)
}

func (f *faulty) Uploaded(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	r, err := f.broker.Uploaded(ctx, who, id)
	if bad := f.lost("uploaded"); bad != nil {
		return grid.Record{}, bad
	}
	return r, err
}

func (f *faulty) Job(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	if err := f.lost("job"); err != nil {
		return grid.Record{}, err
	}
	return f.broker.Job(ctx, who, id)
}

func (f *faulty) Output(ctx context.Context, who api.Identity, id grid.JobID, path string) (io.ReadCloser, error) {
	if err := f.lost("output"); err != nil {
		return nil, err
	}
	return f.broker.Output(ctx, who, id, path)
}

func (f *faulty) Cancel(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, bool, error) {
	if err := f.lost("cancel"); err != nil {
		return grid.Record{}, false, err
	}
	return f.broker.Cancel(ctx, who, id)
}

// drawnGraph is a workflow of a random shape; each task leaves one file, called as it is.
func drawnGraph(r *rand.Rand) api.FlowSubmission {
	s := api.FlowSubmission{Key: "k", Name: "drawn", Retries: r.IntN(3), Files: []api.File{{Path: "text", Size: 5, Mode: 0o644}}}
	for i := range 3 + r.IntN(10) {
		var needs []string
		for k := range i {
			if r.IntN(3) == 0 {
				needs = append(needs, fmt.Sprintf("f%d", k))
			}
		}
		if len(needs) == 0 {
			needs = []string{"text"}
		}
		t := made(fmt.Sprintf("t%d", i), strings.Join(needs, " "), fmt.Sprintf("f%d", i))
		t.Rerunnable = r.IntN(2) == 0
		s.Tasks = append(s.Tasks, t)
	}
	return s
}

// held checks what a workflow that has ended promises.
func held(s *api.FlowSubmission, f *api.FlowStatus, b *broker) (wrong []string) {
	needs := map[int][]int{}
	for _, e := range f.Edges {
		needs[e[1]] = append(needs[e[1]], e[0])
	}
	text := map[string][]byte{"text": []byte("xxxxx")}
	for i, t := range f.Tasks {
		well := func(k int) bool { return f.Tasks[k].State == api.FlowDone }
		most := 1
		if s.Tasks[i].Rerunnable {
			most += s.Retries
		}
		if n := b.begun[t.Name]; n > most || n == 0 && t.State == api.FlowDone {
			wrong = append(wrong, fmt.Sprintf("%s, %s, was begun %d times of %d", t.Name, t.State, n, most))
		}
		switch stopped := slices.ContainsFunc(needs[i], func(k int) bool { return !well(k) }); {
		case t.State == api.FlowWaiting || t.State == api.FlowGiven:
			wrong = append(wrong, fmt.Sprintf("%s is %s at the end", t.Name, t.State))
		case stopped && (t.State != api.FlowCancelled || b.begun[t.Name] > 0):
			wrong = append(wrong, fmt.Sprintf("%s needs what failed, is %s and was begun %d times", t.Name, t.State, b.begun[t.Name]))
		case t.State == api.FlowCancelled && !stopped && !f.Cancelled:
			wrong = append(wrong, t.Name+" is cancelled, and nothing hindered it")
		case t.State == api.FlowDone:
			want := []byte(fmt.Sprintf("f%d of", i))
			for _, in := range b.jobs[t.Job].Job.Inputs {
				want = append(want, text[in.Path]...)
			}
			if text[fmt.Sprintf("f%d", i)] = want; !bytes.Equal(b.files[string(t.Job)+"/"+fmt.Sprintf("f%d", i)], want) {
				wrong = append(wrong, t.Name+" has left other bytes")
			}
		}
	}
	return wrong
}

// Workflows of random shapes through lost answers, tasks that fail, kills of their home at any moment, and cancels: each attempt of a task
// begins once, no task that may run once runs twice, the bytes are right, what needs a failed one is cancelled and nothing else, and all end.
func TestFlowsThroughFaults(t *testing.T) { flowsThroughFaults(t, *histories) }

func TestLargeFlowsThroughFaults(t *testing.T) { flowsThroughFaults(t, many) }

func flowsThroughFaults(t *testing.T, histories int) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, n))
			folder := t.TempDir()
			b := &faulty{broker: newBroker(), r: rand.New(rand.NewPCG(seed, ^n)), odds: 0.12 * r.Float64()}
			breaks := 0.3 * r.Float64()
			b.breaks = func() bool { return b.chance(breaks) }
			s := drawnGraph(r)
			k, stop := keeperOf(t, folder, b)
			id := begin(t, k, s)
			cancelled := r.IntN(4) == 0
			for range r.IntN(6) {
				time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond) //house:allow sleep: virtual time
				stop()
				k, stop = keeperOf(t, folder, b)
			}
			if cancelled {
				if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
					t.Fatal(err)
				}
			}
			f := await(t, k, id)
			time.Sleep(10 * time.Minute) //house:allow sleep: virtual time; nothing begins afterwards
			stop()
			if wrong := held(&s, &f, b.broker); len(wrong) > 0 {
				t.Errorf("seed %d, %d: %s", seed, n, strings.Join(wrong, "; "))
			}
			if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
				t.Errorf("seed %d, %d: %d folders (%v)", seed, n, len(list), err)
			}
		})
	}
}
