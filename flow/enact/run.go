package enact

import (
	"fmt"
	"slices"
	"time"

	"gbroker/grid"
)

// States of a task.
const (
	Waiting   = "waiting"
	Given     = "handed in"
	Done      = "done"
	Reused    = "reused" // done in an earlier run, with the same inputs
	Failed    = "failed"
	Cancelled = "cancelled" // or what it needs has failed
)

// Task is how far one is.
type Task struct {
	State   string
	Attempt int
	Job     grid.JobID
	Site    string
	Prefer  string // site of the plan
	Way     int    `json:",omitempty"` // configuration in which it runs, or is planned to
	// Reservation holds the slot of its first attempt; "" is none.
	Reservation grid.ReservationID `json:",omitempty"`
	PlanEnd     time.Duration      // after the beginning of the run
	Digest      string             // of its document and its inputs
	Reason      string
	Started     grid.Tick
	Ended       grid.Tick
	// By the clock of who enacts it: when it was handed in, and when its end was known.
	Handed, Known grid.Tick
	Overhead      time.Duration // that its site took beside its run; 0 is not known
}

// Over tells that nothing more becomes of it in this run.
func (t *Task) Over() bool { return t.State != Waiting && t.State != Given }

// Well tells that what it leaves is there.
func (t *Task) Well() bool { return t.State == Done || t.State == Reused }

// Vertex is a task of a graph.
type Vertex struct {
	Name       string
	Needs      []int // those that have to end well before it
	Rerunnable bool
}

// Run is a graph, and how far its tasks are.
type Run struct {
	Graph     []Vertex
	Tasks     []Task
	Retries   int // of a rerunnable task that has failed
	Cancelled bool
	Broken    Rules
}

// Key is that of an attempt: what is handed in again under it is the same job.
func (r *Run) Key(id string, run, i, attempt int) string {
	if r.Broken&KeyWithoutAttempt != 0 {
		attempt = 0
	}
	return fmt.Sprintf("%s/%d/%d/%d", id, run, i, attempt)
}

// Due are the tasks that can be handed in, or were, most of them at a time. What can never be is cancelled; changed tells of that.
func (r *Run) Due(most int) (list []int, changed bool) {
	for moved := true; moved; {
		moved = false
		for i := range r.Tasks {
			t := &r.Tasks[i]
			if t.State != Waiting {
				continue
			}
			if why, never := r.hindered(i); never {
				t.State, t.Reason = Cancelled, why
				moved, changed = true, true
			}
		}
	}
	for i := range r.Tasks {
		if r.due(i) && len(list) < most {
			list = append(list, i)
		}
	}
	return list, changed
}

// hindered tells whether a task can never be handed in, and why.
func (r *Run) hindered(i int) (why string, never bool) {
	if r.Cancelled {
		why, never = "the workflow was cancelled", true
	}
	for _, k := range r.Graph[i].Needs {
		if t := &r.Tasks[k]; t.Over() && !t.Well() && r.Broken&FailureStaysAlone == 0 {
			why, never = fmt.Sprintf("task %s, which it needs, is %s", r.Graph[k].Name, t.State), true
		}
	}
	return why, never
}

func (r *Run) due(i int) bool {
	switch r.Tasks[i].State {
	case Given:
		return r.Broken&GivenNotResumed == 0
	case Waiting:
		lacks := func(k int) bool { return !r.Tasks[k].Well() }
		return r.Broken&NeedsUnheeded != 0 || !slices.ContainsFunc(r.Graph[i].Needs, lacks)
	}
	return false
}

// Begin notes that a task is being handed in; changed tells that this has to be durable first.
func (r *Run) Begin(i int, digest string, now grid.Tick) (begun Task, changed bool, err error) {
	t := &r.Tasks[i]
	switch {
	case t.Over():
		return begun, false, fmt.Errorf("task %s is %s", r.Graph[i].Name, t.State)
	case t.State == Given && r.Broken&AttemptAnew != 0:
		t.Attempt++
	case t.State == Given:
		return *t, false, nil
	}
	begun = *t
	begun.State, begun.Job, begun.Attempt, begun.Digest, begun.Started, begun.Ended, begun.Handed, begun.Known, begun.Overhead, begun.Site = Given, "", t.Attempt+1, digest, 0, 0, now, 0, 0, ""
	if r.Broken&GivenUnnoted == 0 {
		*t = begun
	}
	return begun, true, nil
}

// Outcome is what came of an attempt.
type Outcome struct {
	Digest         string
	Job            grid.JobID // "" is none
	Site           string
	Started, Ended grid.Tick
	Known          grid.Tick // when that was known
	Reused         bool
	Err            error // why it has not ended well
	Final          bool  // another attempt is of no use, or not wanted
}

// Take notes what came of an attempt; it tells whether anything is changed by that.
func (r *Run) Take(i int, o *Outcome) bool {
	t := &r.Tasks[i]
	if t.Over() {
		return false // cancelled before it was handed in
	}
	if t.State == Waiting && o.Err != nil {
		t.Attempt++ // it did not come as far as the broker, and counts all the same
	}
	if t.Digest = o.Digest; o.Job != "" {
		t.Job, t.Started, t.Ended, t.Known, t.Site = o.Job, o.Started, o.Ended, o.Known, o.Site
	}
	switch {
	case o.Err == nil && o.Reused:
		t.State, t.Reason = Reused, ""
	case o.Err == nil:
		t.State, t.Reason = Done, ""
	case r.Cancelled:
		t.State, t.Reason = Cancelled, o.Err.Error()
	case r.again(i) && !o.Final:
		t.State, t.Reason = Waiting, o.Err.Error()
	default:
		t.State, t.Reason = Failed, o.Err.Error()
	}
	return true
}

// again tells that a task that has failed may be handed in once more.
func (r *Run) again(i int) bool {
	rerunnable := r.Graph[i].Rerunnable || r.Broken&AllRetried != 0
	return rerunnable && (r.Tasks[i].Attempt <= r.Retries || r.Broken&RetriesUnbounded != 0)
}

// Over tells that the run has ended.
func (r *Run) Over() bool {
	return !slices.ContainsFunc(r.Tasks, func(t Task) bool { return !t.Over() })
}
