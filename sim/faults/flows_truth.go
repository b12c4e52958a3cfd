package faults

import (
	"slices"

	"gbroker/flow/enact"
	"gbroker/grid"
)

// What must hold of workflows:
//
//	S17  a task begins only when all that it needs has ended well, with what that has left, and is handed in once in a run, or as often as
//	     its retries allow where it is rerunnable
//	S18  a workflow ends, when all of its jobs have. Then what ended well has left what it should, what failed was tried as often as it
//	     may be, and what needs that, at whatever remove, is cancelled and nothing else

// most is how many jobs a task may be.
func (e *enactor) most(i int) int {
	if e.graph[i].Rerunnable {
		return 1 + e.retries
	}
	return 1
}

// jobsOf are the jobs that were accepted of a task.
func (t *truth) jobsOf(e *enactor, i int) (list []*fact) {
	for _, f := range t.sorted() {
		if f.task != nil && f.task.of == e && f.task.i == i && (f.accepted || e.s.disk.records[f.id] != nil) {
			list = append(list, f)
		}
	}
	return list
}

// well is the job of a task that has ended well, if there is one.
func (t *truth) well(e *enactor, i int) *fact {
	list := t.jobsOf(e, i)
	if k := slices.IndexFunc(list, func(f *fact) bool { return f.told == grid.Completed && f.exit == 0 }); k >= 0 {
		return list[k]
	}
	return nil
}

// handedIn checks S17: a task is so many jobs, and no more.
func (t *truth) handedIn(e *enactor, i int, id grid.JobID) {
	t.facts[id].accepted = true
	if list := t.jobsOf(e, i); len(list) > e.most(i) {
		e.w.violate("S17", id, "%s is the %d. job of the task %s of %s, which may be %d", id, len(list), e.graph[i].Name, e.id, e.most(i))
	}
}

// taskBegins checks S17 at the start of a program.
func (t *truth) taskBegins(f *fact, inputs grid.Manifest) {
	e, i := f.task.of, f.task.i
	for n, k := range e.graph[i].Needs {
		switch {
		case t.well(e, k) == nil:
			e.w.violate("S17", f.id, "the task %s of %s begins, and %s, which it needs, has not ended well", e.graph[i].Name, e.id, e.graph[k].Name)
			return
		case n >= len(inputs) || inputs[n].Ranges[0] != e.should(k):
			e.w.violate("S17", f.id, "the task %s of %s begins with other bytes than %s should have left", e.graph[i].Name, e.id, e.graph[k].Name)
			return
		}
	}
}

// should is what a task should leave.
func (e *enactor) should(i int) grid.Hash {
	var inputs grid.Manifest
	for _, k := range e.graph[i].Needs {
		inputs = append(inputs, grid.File{Ranges: []grid.Hash{e.should(k)}})
	}
	return e.content(i, inputs)
}

// ended checks S18 when a user is told that his workflow has ended.
func (e *enactor) ended() {
	w := e.w
	for i := range e.graph {
		t, list := &e.mem.tasks[i], w.truth.jobsOf(e, i)
		name, broken := e.graph[i].Name, func(k int) bool { return !e.mem.tasks[k].Well() }
		if k := slices.IndexFunc(list, func(f *fact) bool { r := e.s.disk.records[f.id]; return r == nil || !r.State.Terminal() }); k >= 0 {
			w.violate("S18", list[k].id, "%s is told to have ended, and %s, a job of its task %s, has not", e.id, list[k].id, name)
			return
		}
		switch stopped := slices.ContainsFunc(e.graph[i].Needs, broken); {
		case t.State == enact.Done && (w.truth.well(e, i) == nil || e.s.disk.records[t.Job].Outputs[0].Ranges[0] != e.should(i)):
			w.violate("S18", t.Job, "the task %s of %s is told to be done, and has not left what it should", name, e.id)
		case t.State == enact.Failed && !e.mem.cancelled && len(list) < e.most(i):
			w.violate("S18", t.Job, "the task %s of %s has failed (%s) as %d jobs, and may be %d", name, e.id, t.Reason, len(list), e.most(i))
		case stopped && t.State != enact.Cancelled:
			w.violate("S18", t.Job, "the task %s of %s is %s, and what it needs has not ended well", name, e.id, t.State)
		case !stopped && t.State == enact.Cancelled && !e.mem.cancelled:
			w.violate("S18", t.Job, "the task %s of %s is cancelled (%s), and nothing hindered it", name, e.id, t.Reason)
		}
	}
}

// openFlow is a workflow that has to end and has not.
func (w *world) openFlow() *enactor {
	if k := slices.IndexFunc(w.flows, func(e *enactor) bool { return !e.told && !e.s.gone }); k >= 0 {
		return w.flows[k]
	}
	return nil
}
