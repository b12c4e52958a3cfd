package replay

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/replay/counted"
)

// Estimate is when a job that had to wait was expected to start, and when it did. It
// was made at At, after the pass at the job's arrival, with what was known then: that
// is all jobs that came up to and in that second, those behind it in the log too.
type Estimate struct {
	Job                 int // of Log.Jobs
	At, Expected, Start int64
}

// predictor makes estimates while it replays a log: it runs the policy forward with
// the run times that it believes in. Where these are a spread it does so several
// times, each time with other run times, and takes the median.
type predictor struct {
	machine  *machine
	believer believer
	draws    int
	forecast counted.Forecast
	out      []Estimate

	// Of the present estimate: the run times of the jobs, and scratch.
	believed map[int32][]grid.Tick
	running  []counted.Ending
	starts   [][]int64 // of the jobs that are asked about, one for each draw
}

// Predict replays a log, and estimates the start of each job that must wait. The
// method is one of Methods.
func Predict(ctx context.Context, log *Log, p plan.Policy, method string, progress func(came int)) ([]Estimate, error) {
	b, draws, err := newBeliever(method)
	if err != nil {
		return nil, err
	}
	r := &predictor{machine: newMachine(log, p), believer: b, draws: draws, believed: make(map[int32][]grid.Tick)}
	m := r.machine
	for i := range m.starts {
		m.starts[i] = Unknown
	}
	for work := lookAfter; ; work += m.work() {
		if work >= lookAfter {
			work = 0
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(m.came)
			}
		}
		now, ok := m.next()
		if !ok {
			break
		}
		r.learn(now)
		came := m.came
		m.step(now)
		r.estimate(now, came)
	}
	for i := range r.out {
		r.out[i].Start = m.starts[r.out[i].Job]
	}
	return r.out, nil
}

// learn tells who ends at now, in an order that depends on nothing else.
func (r *predictor) learn(now grid.Tick) {
	var ended []int32
	for _, e := range r.machine.ends {
		if e.At <= now {
			ended = append(ended, e.Job.Ref)
		}
	}
	slices.Sort(ended)
	for _, ref := range ended {
		r.believer.ended(&r.machine.jobs[ref])
	}
}

// estimate makes the estimates of the jobs from the came-th on, which came at now.
func (r *predictor) estimate(now grid.Tick, came int) {
	m := r.machine
	first := len(r.out)
	for i := came; i < m.came; i++ {
		if m.starts[i] == Unknown {
			r.out = append(r.out, Estimate{Job: i, At: int64(now)})
		}
	}
	asked := r.out[first:]
	if len(asked) == 0 {
		return
	}
	clear(r.believed)
	r.starts = append(r.starts[:0], make([][]int64, len(asked))...)
	for draw := range r.draws {
		r.run(now, draw, asked)
	}
	for i := range asked {
		asked[i].Expected = median(r.starts[i])
	}
}

// run runs the policy forward once.
func (r *predictor) run(now grid.Tick, draw int, asked []Estimate) {
	m := r.machine
	r.running = r.running[:0]
	for _, e := range m.ends {
		start := grid.Tick(m.starts[e.Job.Ref])
		r.running = append(r.running, counted.Ending{At: start + r.runTime(e.Job.Ref, int64(now-start), draw), Job: e.Job})
	}
	missing := len(asked)
	r.forecast.Run(now, m.scheduler, r.running, func(at grid.Tick, h counted.Running) (grid.Tick, bool) {
		if k, ok := slices.BinarySearchFunc(asked, int(h.Ref), func(e Estimate, job int) int { return cmp.Compare(e.Job, job) }); ok {
			r.starts[k] = append(r.starts[k], int64(at))
			missing--
		}
		return r.runTime(h.Ref, 0, draw), missing == 0
	})
}

// runTime is the run time of a job in a draw. Each of its run times comes in one of
// the draws; in which order is hashed from the job, so that it depends on no other.
func (r *predictor) runTime(ref int32, elapsed int64, draw int) grid.Tick {
	runs, ok := r.believed[ref]
	if !ok {
		runs = make([]grid.Tick, r.draws)
		r.believer.believe(&r.machine.jobs[ref], elapsed, runs)
		r.believed[ref] = runs
	}
	if r.draws == 1 {
		return runs[0]
	}
	h := mix(uint64(ref))
	n := uint64(r.draws)
	return runs[(uint64(draw)*(h%(n-1)+1)+h>>32%n)%n]
}

// mix hashes a number (the end of SplitMix64).
func mix(x uint64) uint64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Accuracy is [plan.Accuracy] in JSON.
type Accuracy struct {
	Waited    int     `json:"waited"`
	Mean      float64 `json:"mean_absolute_error_s"`
	Median    float64 `json:"median_absolute_error_s"` // nearest rank
	P90       float64 `json:"p90_absolute_error_s"`    // nearest rank
	Within60  float64 `json:"within_60s"`              // share
	Within600 float64 `json:"within_600s"`             // share
	TooEarly  float64 `json:"too_early"`               // share: the job started later than expected
}

// Judge compares estimates with what came.
func Judge(all []Estimate) Accuracy {
	list := make([]plan.Outcome, len(all))
	for i, e := range all {
		list[i] = plan.Outcome{Expected: grid.Tick(e.Expected) * grid.Second, Start: grid.Tick(e.Start) * grid.Second}
	}
	return Accuracy(plan.Judge(list))
}

// WriteEstimates writes "job<TAB>time<TAB>estimate<TAB>start" lines below a line that
// names the columns.
func WriteEstimates(w io.Writer, log *Log, all []Estimate) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString("#job\ttime\testimate\tstart\n"); err != nil {
		return err
	}
	for _, e := range all {
		if _, err := fmt.Fprintf(out, "%d\t%d\t%d\t%d\n", log.Jobs[e.Job].ID, e.At, e.Expected, e.Start); err != nil {
			return err
		}
	}
	return out.Flush()
}
