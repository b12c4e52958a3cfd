package pool

import (
	"bytes"
	"cmp"
	"slices"

	"gbroker/grid"
)

// Replication is what a bag of tasks does with computers that are free when no task waits (WorkQueue with Replication).
type Replication uint8

// Kinds of replication. A task runs twice only if its job declares that it may.
const (
	NoReplication Replication = iota
	WQR                       // a task that runs is begun on another computer; the first end counts, the others are stopped; a replica that is cut off is gone
	WQRR                      // and a task all of whose replicas are cut off begins anew, before others
	WQRFT                     // and it goes on from its last checkpoint, where the system is the same
)

// Task is one of a bag that is not done.
type Task struct {
	Job
	On         []int   // computers on which it runs
	Lost       bool    // all that ran were cut off
	Checkpoint float64 // the work that its last checkpoint saves
	Wrote      string  // the system on which that was written
}

// Start is a task that begins on a computer. Work is what is left for it there.
type Start struct {
	Task, Computer int
	Work           float64
}

// Replicate says which tasks begin on the computers that are free. Those that do not run come first, the lost ones before the others; then those that run on
// the fewest computers, up to most of them, the longest left first, where another computer would end them sooner than those that have them. Strong computers choose first.
func (k Replication) Replicate(now grid.Tick, computers []Computer, tasks []Task, most int) (out []Start) {
	free := make([]int, 0, len(computers))
	for i := range computers {
		if computers[i].Free <= now {
			free = append(free, i)
		}
	}
	slices.SortStableFunc(free, func(a, b int) int {
		return cmp.Compare(computers[b].Forecast.mean, computers[a].Forecast.mean)
	})
	runs := make([]int, len(tasks))
	for i := range tasks {
		runs[i] = len(tasks[i].On)
	}
	for _, c := range free {
		best := -1
		for i := range tasks {
			if k.may(&computers[c], &tasks[i], runs[i], most) && k.sooner(now, computers, c, &tasks[i], runs[i]) && (best < 0 || prior(tasks, runs, i, best) < 0) {
				best = i
			}
		}
		if best >= 0 {
			runs[best]++
			out = append(out, Start{best, c, k.left(&computers[c], &tasks[best])})
		}
	}
	return out
}

// may tells whether a task may begin on a computer.
func (k Replication) may(c *Computer, t *Task, runs, most int) bool {
	switch {
	case c.Lacks(&t.Job) != "":
		return false
	case runs > 0:
		return k != NoReplication && t.Twice && runs < most
	case t.Lost:
		return t.Rerunnable && k >= WQRR || k == WQRFT && t.Checkpoints && t.Wrote == c.System
	}
	return true
}

// left is the work of a task on a computer.
func (k Replication) left(c *Computer, t *Task) float64 {
	if k == WQRFT && t.Checkpoints && t.Checkpoint > 0 && t.Wrote == c.System {
		return max(0, t.Work-t.Checkpoint)
	}
	return t.Work
}

// sooner tells whether a replica would end before those that run.
func (k Replication) sooner(now grid.Tick, computers []Computer, c int, t *Task, runs int) bool {
	if runs == 0 {
		return true
	}
	end := computers[c].Forecast.End(now, k.left(&computers[c], t))
	for _, on := range t.On {
		if computers[on].Free <= end {
			return false
		}
	}
	return end < Never
}

// prior orders tasks.
func prior(tasks []Task, runs []int, a, b int) int {
	lost := func(i int) int {
		if tasks[i].Lost {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(runs[a], runs[b]), cmp.Compare(lost(a), lost(b)), cmp.Compare(tasks[b].Priority, tasks[a].Priority), cmp.Compare(tasks[b].Work, tasks[a].Work), cmp.Compare(a, b))
}

// Result is what a computer says a task came to. The digests are of its outputs.
type Result struct {
	Computer string
	Digest   []byte
	Trusted  bool // the computer's result needs no second
}

// Verdict is what results of one task come to.
type Verdict uint8

// Verdicts.
const (
	Undecided Verdict = iota // one more is needed, of another computer
	Agreed
)

// Compare says which result of a task counts: that of a trusted computer, else one that two computers agree on. Liars are the computers whose results differ from it.
func Compare(results []Result) (v Verdict, counts int, liars []string) {
	counts = slices.IndexFunc(results, func(r Result) bool { return r.Trusted })
	for i := 0; i < len(results) && counts < 0; i++ {
		for k := range i {
			if results[i].Computer != results[k].Computer && bytes.Equal(results[i].Digest, results[k].Digest) {
				counts = k
			}
		}
	}
	if counts < 0 {
		return Undecided, -1, nil
	}
	for _, r := range results {
		if !bytes.Equal(r.Digest, results[counts].Digest) && !slices.Contains(liars, r.Computer) {
			liars = append(liars, r.Computer)
		}
	}
	return Agreed, counts, liars
}
