package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/plan"
)

func TestSmallLogByHand(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "small.swf")
	for line := range strings.Lines(readAll(t, filepath.Join("testdata", "small.starts"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			log := readLog(t, path, Options{Partition: Unknown, Limits: true})
			answer := "#job\tstart\n"
			for i, j := range log.Jobs {
				answer += fmt.Sprintf("%d\t%s\n", j.ID, words[i+1])
			}
			compare(t, log, policy(t, words[0]), answer)
		})
	}
}

// Machine of 2: job 1 has 1 processor in [0, 8), job 2 both in [8, 28), job 3 one in [28, 28).
func TestMeasures(t *testing.T) {
	t.Parallel()
	log := &Log{Procs: 2, Jobs: []Job{
		{ID: 1, Submit: 0, Run: 8, Limit: 8, Procs: 1}, {ID: 2, Submit: 2, Run: 20, Limit: 20, Procs: 2}, {ID: 3, Submit: 3, Run: 0, Limit: 1, Procs: 1},
	}}
	r, err := Run(t.Context(), log, plan.Policy{Kind: plan.FCFS}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Took = 3 * time.Second
	got := Measure(log, r)
	want := Measures{
		Jobs: 3, WaitMean: (0 + 6 + 25) / 3., WaitP99: 25, Slowdown: (1 + 26/20. + 25/10.) / 3, Response: (8 + 26 + 25) / 3.,
		Utilisation: (8 + 40) / (2 * 28.), Makespan: 28, JobsPerS: 1,
	}
	if math.Abs(got.Slowdown-want.Slowdown) < 1e-12 {
		want.Slowdown = got.Slowdown
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNearestRank(t *testing.T) {
	t.Parallel()
	var sorted []int
	for n := 1; n <= 300; n++ {
		sorted = append(sorted, n)
		want := 1 // the least k of which no less than 99 % are at most k
		for 100*want < 99*n {
			want++
		}
		if got := nearestRank(sorted, 99); got != want {
			t.Errorf("of %d: %d, want %d", n, got, want)
		}
	}
}

// A job without run time ends at the instant of its start, after the pass, and there
// is another pass.
func TestJobsWithoutRunTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"fcfs", "firstfit", "easy", "easy:3", "easysjbf", "cons-rebuild", "cons-compress"} {
		log := &Log{Procs: 1, Jobs: []Job{{ID: 1, Limit: 5, Procs: 1}, {ID: 2, Limit: 5, Procs: 1}, {ID: 3, Limit: 5, Run: 5, Procs: 1}}}
		r, err := Run(t.Context(), log, policy(t, text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Starts, []int64{0, 0, 0}) {
			t.Errorf("%s: starts %v, want all at 0", text, r.Starts)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var jobs []Job
	for i := range int64(100_000) {
		jobs = append(jobs, Job{ID: i, Submit: i, Run: 1, Limit: 1, Procs: 1})
	}
	most := 0
	_, err := Run(ctx, &Log{Procs: 1, Jobs: jobs}, plan.Policy{}, func(came int) {
		if most = came; came > 10_000 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || most > 50_000 {
		t.Errorf("%v after %d jobs; want context.Canceled soon after 10,000", err, most)
	}
}

// broken is a writer that is full.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteStartsTellsErrors(t *testing.T) {
	t.Parallel()
	log := &Log{Jobs: []Job{{ID: 1}}}
	if err := WriteStarts(broken{}, log, &Result{Starts: []int64{7}}); err == nil {
		t.Error("no error from a writer that is full")
	}
	var out bytes.Buffer
	if err := WriteStarts(&out, log, &Result{Starts: []int64{7}}); err != nil || out.String() != "#job\tstart\n1\t7\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
