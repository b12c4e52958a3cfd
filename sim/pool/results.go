package pool

import (
	"context"
	"math"
	"sync"
)

// Row is what the seeds of one rule in one model come to.
type Row struct {
	Rule     string
	Model    Model
	Outcomes []Outcome // by seed; those that were simulated
}

// Task is one rule in one model.
type Task struct {
	Rule  Rule
	Model Model
}

// Options say how tasks are run.
type Options struct {
	Seed    uint64 // of the first run
	Seeds   int
	Workers int
	Seen    func(done, all int) // one call at a time
}

// Run runs each task with each seed, the first seed of all tasks before the second. Results are the same with any number of workers. When the context
// ends, they are those so far, which may be a few seeds more for some tasks than for others, and partial is true.
func Run(ctx context.Context, tasks []Task, o Options) (rows []Row, partial bool) {
	got := make([]*Outcome, len(tasks)*o.Seeds) // by seed, then task
	queue := make(chan int)
	var mu sync.Mutex
	var group sync.WaitGroup
	done := 0
	for range max(1, o.Workers) {
		group.Go(func() {
			for i := range queue {
				task := tasks[i%len(tasks)]
				out, ok := task.Model.Run(task.Rule, o.Seed+uint64(i/len(tasks)), func() bool { return ctx.Err() != nil })
				mu.Lock()
				if ok {
					got[i] = &out
				}
				done++
				if o.Seen != nil {
					o.Seen(done, len(got))
				}
				mu.Unlock()
			}
		})
	}
	for i := range got {
		if ctx.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	group.Wait()
	for i, t := range tasks {
		row := Row{Rule: t.Rule.Name, Model: t.Model}
		for n := range o.Seeds {
			if g := got[n*len(tasks)+i]; g != nil {
				row.Outcomes = append(row.Outcomes, *g)
			} else {
				partial = true
			}
		}
		if len(row.Outcomes) > 0 {
			rows = append(rows, row)
		}
	}
	return rows, partial
}

// Mean and deviation of a measure over the seeds.
func (r *Row) Mean(of func(*Outcome) float64) (mean, sd float64) {
	n := float64(len(r.Outcomes))
	for i := range r.Outcomes {
		mean += of(&r.Outcomes[i]) / n
	}
	if n < 2 {
		return mean, 0
	}
	for i := range r.Outcomes {
		d := of(&r.Outcomes[i]) - mean
		sd += d * d / (n - 1)
	}
	return mean, math.Sqrt(sd)
}
