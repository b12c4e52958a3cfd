package pool

import (
	"cmp"
	"fmt"
	"slices"

	"gbroker/grid"
)

// Replication is what a bag of tasks does with computers that are free when no task waits (WorkQueue with Replication). The zero value replicates nothing.
type Replication struct {
	Kind ReplicationKind
	Most int // copies of a task at once, the first included
	// Informed begins a task only where it is foreseen to end, and a copy before those that run.
	Informed bool
}

// ReplicationKind is what becomes of what is cut off.
type ReplicationKind uint8

// Kinds of replication. A task runs twice only if its job declares that it may.
const (
	NoReplication ReplicationKind = iota
	WQR                           // a task that runs is begun on another computer; the first end counts, the others are stopped; a copy that is cut off is gone
	WQRR                          // and a task all of whose copies are cut off begins anew, before others
	WQRFT                         // and it goes on from its last checkpoint, on a computer of the same platform
)

var replications = []string{"none", "wqr", "wqr-r", "wqr-ft"}

func (k ReplicationKind) String() string { return replications[k] }

// ParseReplication reads the name of a kind.
func ParseReplication(name string) (ReplicationKind, error) {
	if i := slices.Index(replications, name); i >= 0 {
		return ReplicationKind(i), nil
	}
	return 0, fmt.Errorf("there is no replication %q; there are %v", name, replications)
}

// Task is one of a bag that is not done.
type Task struct {
	Job
	On         []int     // computers on which it runs
	Ends       grid.Tick // when the first of these is foreseen to end; [Never] is not foreseen
	Lost       bool      // all that ran were cut off
	Checkpoint float64   // the work that its last checkpoint saves
	Wrote      string    // the platform on which that was written
}

// Start is a task that begins on a computer. Work is what is left for it there.
type Start struct {
	Task, Computer int
	Work           float64
}

// Begin says which tasks begin on the computers that are free. Those that do not run come first, the lost ones before the others; then those that run on
// the fewest computers, the longest left first. Strong computers choose first. No computer gets two.
func (r Replication) Begin(now grid.Tick, computers []Computer, tasks []Task) (out []Start) {
	free := strongest(now, computers, tasks)
	runs, ends := make([]int, len(tasks)), make([]grid.Tick, len(tasks))
	for i := range tasks {
		runs[i], ends[i] = len(tasks[i].On), tasks[i].Ends
	}
	for _, c := range free {
		best := -1
		for i := range tasks {
			if r.may(&computers[c], &tasks[i], runs[i]) && (best < 0 || prior(tasks, runs, i, best) < 0) && r.sooner(now, &computers[c], &tasks[i], runs[i], ends[i]) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		work := r.left(&computers[c], &tasks[best])
		end := computers[c].Forecast.End(now, work)
		if runs[best] == 0 || end < ends[best] {
			ends[best] = end
		}
		runs[best]++
		out = append(out, Start{best, c, work})
	}
	return out
}

// strongest are the computers that are free, first who would end first what tasks have to do on average.
func strongest(now grid.Tick, computers []Computer, tasks []Task) (free []int) {
	work := 0.0
	for i := range tasks {
		work += (tasks[i].Work - tasks[i].Checkpoint) / float64(len(tasks))
	}
	ends := make([]grid.Tick, len(computers))
	for i := range computers {
		if computers[i].Free <= now {
			free, ends[i] = append(free, i), computers[i].Forecast.End(now, work)
		}
	}
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(ends[a], ends[b]) })
	return free
}

// may tells whether a task may begin on a computer.
func (r Replication) may(c *Computer, t *Task, runs int) bool {
	switch {
	case runs > 0:
		return r.Kind != NoReplication && t.Twice && runs < r.Most && c.Lacks(&t.Job) == ""
	case t.Lost:
		return (t.Rerunnable && r.Kind >= WQRR || r.Kind == WQRFT && t.saved(c)) && c.Lacks(&t.Job) == ""
	}
	return c.Lacks(&t.Job) == ""
}

// saved tells that a task can go on from its checkpoint on a computer.
func (t *Task) saved(c *Computer) bool {
	return t.Checkpoints && t.Checkpoint > 0 && t.Wrote == c.Platform()
}

// left is the work of a task on a computer.
func (r Replication) left(c *Computer, t *Task) float64 {
	if r.Kind == WQRFT && t.saved(c) {
		return max(0, t.Work-t.Checkpoint)
	}
	return t.Work
}

// sooner tells whether a task would end on a computer, and before it does on those that have it, where that is asked for.
func (r Replication) sooner(now grid.Tick, c *Computer, t *Task, runs int, ends grid.Tick) bool {
	if runs == 0 {
		ends = Never
	}
	return !r.Informed || c.Forecast.End(now, r.left(c, t)) < ends
}

// prior orders tasks.
func prior(tasks []Task, runs []int, a, b int) int {
	lost := func(i int) int {
		if tasks[i].Lost {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(runs[a], runs[b]), cmp.Compare(lost(a), lost(b)), cmp.Compare(tasks[b].Priority, tasks[a].Priority),
		cmp.Compare(tasks[b].Work-tasks[b].Checkpoint, tasks[a].Work-tasks[a].Checkpoint), cmp.Compare(a, b))
}
