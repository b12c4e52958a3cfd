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
	each(ctx, len(got), o, func(i int, stop func() bool) {
		task := tasks[i%len(tasks)]
		if out, ok := task.Model.Run(task.Rule, o.Seed+uint64(i/len(tasks)), stop); ok {
			got[i] = &out
		}
	})
	for i, t := range tasks {
		list, whole := column(got, i, len(tasks))
		partial = partial || !whole
		if len(list) > 0 {
			rows = append(rows, Row{t.Rule.Name, t.Model, list})
		}
	}
	return rows, partial
}

// each does so many things in order, some at a time, until the context ends.
func each(ctx context.Context, n int, o Options, do func(i int, stop func() bool)) {
	queue := make(chan int)
	var mu sync.Mutex
	var group sync.WaitGroup
	done := 0
	for range max(1, o.Workers) {
		group.Go(func() {
			for i := range queue {
				do(i, func() bool { return ctx.Err() != nil })
				mu.Lock()
				done++
				if o.Seen != nil {
					o.Seen(done, n)
				}
				mu.Unlock()
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	group.Wait()
}

// column are the outcomes of one of so many tasks, by seed, and whether there are all.
func column[T any](got []*T, task, of int) (list []T, whole bool) {
	whole = true
	for i := task; i < len(got); i += of {
		if got[i] == nil {
			whole = false
			continue
		}
		list = append(list, *got[i])
	}
	return list, whole
}

// Mean and deviation of a measure over the seeds.
func (r *Row) Mean(of func(*Outcome) float64) (mean, sd float64) { return meanOf(r.Outcomes, of) }

func meanOf[T any](outcomes []T, of func(*T) float64) (mean, sd float64) {
	n := float64(len(outcomes))
	for i := range outcomes {
		mean += of(&outcomes[i]) / n
	}
	if n < 2 {
		return mean, 0
	}
	for i := range outcomes {
		d := of(&outcomes[i]) - mean
		sd += d * d / (n - 1)
	}
	return mean, math.Sqrt(sd)
}
