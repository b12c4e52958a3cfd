package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/sim/brokers"
)

// Options say how an experiment is run.
type Options struct {
	Folder  string // from which the logs are found that the file names
	Workers int    // how many runs there are at once
	Seed    uint64 // 0 is the file's
	// Clock tells the processor time of the calling thread; nil is not measured, so that results are the same wherever they come from.
	Clock func() time.Duration
	// Seen hears how far all runs are together, of 1; it is called by several goroutines, one at a time.
	Seen func(part float64, runs, all int)
	run  engine // nil is brokers.Run
}

// engine runs one world.
type engine func(w brokers.World, stop func() bool, seen func(done, all int, now grid.Tick)) (brokers.Result, error)

// task is one run: a point, a seed, and where its measures go.
type task struct {
	of   *point
	key  string
	seed uint64
	got  *measures
	part float64 // how far it is
}

// Run runs all of an experiment. When the context ends, the results are those so far, and Partial says so.
func (e *Experiment) Run(ctx context.Context, o Options) (*Results, error) {
	tasks := e.tasks(o.Seed)
	r := &runner{Options: o, ctx: ctx, tasks: tasks, logs: newLogs(o.Folder)}
	if r.run == nil {
		r.run = brokers.Run
	}
	queue := make(chan *task)
	var all sync.WaitGroup
	for range max(1, min(o.Workers, len(tasks))) {
		all.Go(func() {
			for t := range queue {
				r.do(t)
			}
		})
	}
	for _, t := range tasks {
		if r.stopped() {
			break
		}
		queue <- t
	}
	close(queue)
	all.Wait()
	if r.failed != nil {
		return nil, r.failed
	}
	return e.results(tasks), nil
}

// tasks are all runs, without those whose results would be the same.
func (e *Experiment) tasks(seed uint64) (out []*task) {
	had := make(map[string]bool)
	for i := range e.points {
		p := &e.points[i]
		key := p.key()
		if had[key] {
			continue
		}
		had[key] = true
		base := p.Seed
		if seed != 0 {
			base = seed
		}
		for n := range p.Replications {
			out = append(out, &task{of: p, key: key, seed: base + uint64(n)})
		}
	}
	return out
}

// key names what matters to the rule of a point: two points of one key have the same results.
func (p *point) key() string { return p.keyFor(p.Brokering.Rule) }

func (p *point) keyFor(rule string) string {
	var b strings.Builder
	b.WriteString(rule)
	for _, path := range p.paths() {
		if path != "brokering.rule" && matters(rule, path) {
			fmt.Fprintf(&b, "\n%s=%s", path, p.values[path])
		}
	}
	return b.String()
}

// paths are the axes of a point, sorted.
func (p *point) paths() []string {
	out := make([]string, 0, len(p.values))
	for path := range p.values {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// nothing are the fields that a rule does not look at.
var nothing = map[string][]string{
	"none":         {"topology", "brokering", "links"},
	"oracle":       {"topology", "brokering"},
	"random":       {"brokering"},
	"least-loaded": {"brokering.reevaluate_s", "brokering.knowledge", "brokering.tell_s"},
	"published":    {"brokering.tell_s"},
}

// matters tells whether a field is looked at by a rule.
func matters(rule, path string) bool {
	return !slices.ContainsFunc(nothing[rule], func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}

// runner is an experiment under way.
type runner struct {
	Options
	ctx    context.Context
	tasks  []*task
	logs   *logs
	mu     sync.Mutex
	done   int
	failed error
}

// stopped tells whether no more is to be run.
func (r *runner) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed != nil || r.ctx.Err() != nil
}

// do runs one task.
func (r *runner) do(t *task) {
	got, err := r.measured(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if t.got = got; err != nil && r.failed == nil && r.ctx.Err() == nil {
		r.failed = fmt.Errorf("%s, seed %d: %w", strings.ReplaceAll(t.key, "\n", ", "), t.seed, err)
	}
}

func (r *runner) measured(t *task) (*measures, error) {
	w, err := t.of.world(t.seed, r.logs)
	if err != nil {
		return nil, err
	}
	from := r.time()
	result, err := r.run(w, r.stopped, func(done, all int, _ grid.Tick) { r.tell(t, float64(done)/float64(max(all, 1))) })
	if err != nil {
		return nil, err
	}
	if len(result.Jobs) != len(w.Jobs) {
		return nil, errors.New("not every job has a result")
	}
	spent := r.time() - from
	r.tell(t, 1)
	m := measure(&w, &result)
	if r.Clock != nil {
		m.values["processor_us_per_job"] = float64(spent.Microseconds()) / max(1, float64(result.Done))
	}
	m.values["sites"], m.values["degree"] = float64(len(w.Sites)), degree(&w)
	return m, nil
}

func (r *runner) time() time.Duration {
	if r.Clock == nil {
		return 0
	}
	return r.Clock()
}

// degree is how many others a site can send jobs to, in the mean.
func degree(w *brokers.World) float64 {
	if w.Brokering.Rule == brokers.Oracle {
		return float64(len(w.Sites) - 1)
	}
	n := 0
	for _, m := range w.Members {
		n += len(m)
	}
	return float64(n) / float64(len(w.Sites))
}

// tell passes on how far a run is.
func (r *runner) tell(t *task, part float64) {
	if r.Seen == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.part = part
	sum := 0.0
	for _, t := range r.tasks {
		sum += t.part
	}
	r.Seen(sum/float64(len(r.tasks)), r.done, len(r.tasks))
}
