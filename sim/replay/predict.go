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
	Late                int64 // one of ten starts is to come after it
}

// predictor makes estimates while it replays a log: it runs the policy forward with
// the run times that it believes in. Where these are a spread it does so several
// times, each time with other run times and other arrivals, and takes the median.
type predictor struct {
	machine  *machine
	way      way
	late     lateness
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
	w, err := newWay(method)
	if err != nil {
		return nil, err
	}
	r := &predictor{machine: newMachine(log, p), way: w, believed: make(map[int32][]grid.Tick)}
	m := r.machine
	for i := range m.starts {
		m.starts[i] = Unknown
	}
	err = m.run(ctx, progress, func(now grid.Tick) {
		r.learn(now)
		came := m.came
		m.step(now)
		r.estimate(now, came)
	})
	if err != nil {
		return nil, err
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
		r.way.ended(&r.machine.jobs[ref], r.machine.starts[ref])
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
	r.late.learn(r.out[:first], m.starts, int64(now))
	clear(r.believed)
	r.way.at(now, r.alive())
	r.starts = append(r.starts[:0], make([][]int64, len(asked))...)
	for draw := range r.way.draws {
		r.run(now, draw, asked)
	}
	for i := range asked {
		starts := r.starts[i]
		slices.Sort(starts)
		asked[i].Expected = starts[len(starts)/2]
		r.late.tell(r.out, first+i, starts[len(starts)*9/10])
	}
}

// alive are the jobs that run.
func (r *predictor) alive() []plan.Alive {
	var alive []plan.Alive
	for _, e := range r.machine.ends {
		alive = append(alive, plan.Alive{Trait: trait(&r.machine.jobs[e.Job.Ref]), Start: grid.Tick(r.machine.starts[e.Job.Ref])})
	}
	return alive
}

// run runs the policy forward once.
func (r *predictor) run(now grid.Tick, draw int, asked []Estimate) {
	m := r.machine
	r.running = r.running[:0]
	for _, e := range m.ends {
		start := grid.Tick(m.starts[e.Job.Ref])
		r.running = append(r.running, counted.Ending{At: start + r.runTime(now, e.Job.Ref, draw), Job: e.Job})
	}
	var arrivals counted.Arrivals
	if r.way.later {
		l := come(m.jobs[:m.came], now, draw)
		arrivals = &l
	}
	missing := len(asked)
	r.forecast.Run(now, m.scheduler, r.running, arrivals, func(at grid.Tick, h counted.Running) (grid.Tick, bool) {
		if h.Ref < 0 {
			return r.laterRun(now, -1-h.Ref, draw), false
		}
		if k, ok := slices.BinarySearchFunc(asked, int(h.Ref), func(e Estimate, job int) int { return cmp.Compare(e.Job, job) }); ok {
			r.starts[k] = append(r.starts[k], int64(at))
			missing--
		}
		return r.runTime(now, h.Ref, draw), missing == 0
	})
}

// laterRun is how long a job runs that is like one that came: as long as that one.
func (r *predictor) laterRun(now grid.Tick, ref int32, draw int) grid.Tick {
	if start, run := r.machine.starts[ref], r.machine.jobs[ref].Run; start != Unknown && start+run <= int64(now) {
		return grid.Tick(run)
	}
	return r.runTime(now, ref, draw)
}

// runTime is the run time of a job in a draw. The draws take the views in turn; each
// of a view's run times comes in some of its draws, in which is hashed from the job, so
// that it depends on no other.
func (r *predictor) runTime(now grid.Tick, ref int32, draw int) grid.Tick {
	runs, ok := r.believed[ref]
	if !ok {
		elapsed := int64(0)
		if start := r.machine.starts[ref]; start != Unknown {
			elapsed = int64(now) - start
		}
		runs = make([]grid.Tick, r.way.views*r.way.draws)
		r.way.believe(&r.machine.jobs[ref], elapsed, runs)
		r.believed[ref] = runs
	}
	n := r.way.draws
	return runs[draw%r.way.views*n+plan.Turn(uint64(ref), draw, n)]
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

// AfterP90 is the share of the jobs that started after their Late.
func AfterP90(all []Estimate) float64 {
	n := 0
	for _, e := range all {
		if e.Start > e.Late {
			n++
		}
	}
	return float64(n) / float64(max(len(all), 1))
}

// Judge compares estimates with what came.
func Judge(all []Estimate) Accuracy {
	list := make([]plan.Outcome, len(all))
	for i, e := range all {
		list[i] = plan.Outcome{Expected: grid.Tick(e.Expected) * grid.Second, Start: grid.Tick(e.Start) * grid.Second}
	}
	return Accuracy(plan.Judge(list))
}

// WriteEstimates writes "job<TAB>time<TAB>estimate<TAB>start<TAB>p90" lines below a line that
// names the columns.
func WriteEstimates(w io.Writer, log *Log, all []Estimate) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString("#job\ttime\testimate\tstart\tp90\n"); err != nil {
		return err
	}
	for _, e := range all {
		if _, err := fmt.Fprintf(out, "%d\t%d\t%d\t%d\t%d\n", log.Jobs[e.Job].ID, e.At, e.Expected, e.Start, e.Late); err != nil {
			return err
		}
	}
	return out.Flush()
}
