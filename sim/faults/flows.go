package faults

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// Workflows, enacted at their home: what is decided is by package enact, and what is done about it follows package daemon/flows.
//
//   - How far a workflow is lies in a file beside the journal, which is replaced whole; a crash may come before and after that, and the
//     file may be refused.
//   - Each task is a job, with a key; its inputs are what those tasks left that it needs, as the records of their jobs say.

// enactor is a workflow, with the process that sees it through.
type enactor struct {
	w   *world
	s   *site
	rnd *rand.Rand
	n   int
	id  string

	graph   []enact.Vertex
	retries int
	jobs    []grid.Job // by task, without inputs

	disk  *enacting
	mem   *enacting // of the process that lives
	life  int       // of the process that mem is of
	under map[int]bool
	tries int

	wish bool // its user wants it cancelled
	told bool // that it has ended
}

// enacting is how far a workflow is.
type enacting struct {
	tasks            []enact.Task
	cancelled, ended bool
}

// task says of a job which task of a workflow it is.
type task struct {
	of *enactor
	i  int
}

// loadFlows plans workflows of the brokers' users.
func (w *world) loadFlows() {
	r := w.rnd.flow
	for n := range w.o.Profile.flows {
		s := w.sites[r.IntN(len(w.sites))]
		e := &enactor{w: w, s: s, rnd: r, n: n, id: fmt.Sprintf("%s.flow%d", s.name(), n), retries: r.IntN(3)}
		for i := range 3 + r.IntN(8) {
			v := enact.Vertex{Name: fmt.Sprint("t", i), Rerunnable: r.IntN(2) == 0}
			for k := range i {
				if r.IntN(3) == 0 {
					v.Needs = append(v.Needs, k)
				}
			}
			e.graph = append(e.graph, v)
			e.jobs = append(e.jobs, grid.Job{
				Home: s.peer, User: grid.User{Home: s.peer, Name: "frank"}, Name: v.Name, Program: grid.Program{Executable: "/bin/true", Arguments: arguments},
				Walltime: between(r, 5*grid.Second, grid.Minute), Rerunnable: v.Rerunnable, Demand: cores(1),
			})
		}
		w.flows = append(w.flows, e)
		w.after(between(r, grid.Second, arrivals/2), e.poll)
		if r.IntN(3) == 0 {
			w.after(between(r, grid.Minute, arrivals), func() { e.wish = true })
		}
	}
}

// run is the workflow as package enact sees it.
func (e *enactor) run() *enact.Run {
	return &enact.Run{Graph: e.graph, Tasks: e.mem.tasks, Retries: e.retries, Cancelled: e.mem.cancelled, Broken: e.w.broken.flow}
}

// poll has the process of the home look after the workflow, as long as it has not ended.
func (e *enactor) poll() {
	if e.disk != nil && e.disk.ended && e.told || e.s.gone {
		return
	}
	e.w.after(between(e.rnd, 100, 2*grid.Second), e.poll)
	if !e.s.reaches() {
		return
	}
	if e.disk == nil { // it is handed in
		e.disk = &enacting{tasks: make([]enact.Task, len(e.graph))}
		for i := range e.disk.tasks {
			e.disk.tasks[i].State = enact.Waiting
		}
		e.w.tell(e.s, "TELLS that the workflow %s of %d tasks is accepted", e.id, len(e.graph))
	}
	if e.mem == nil || e.life != e.s.host.life {
		e.mem, e.life, e.under = e.disk.clone(), e.s.host.life, map[int]bool{}
	}
	e.goOn()
}

func (e *enacting) clone() *enacting {
	return &enacting{slices.Clone(e.tasks), e.cancelled, e.ended}
}

// goOn hands in what is due, cancels what is to be, and ends what has ended.
func (e *enactor) goOn() {
	if e.wish && !e.mem.cancelled {
		e.w.tell(e.s, "the workflow %s is cancelled", e.id)
		e.mem.cancelled = true
		if e.save(); e.dead() {
			return
		}
	}
	list, changed := e.run().Due(len(e.graph))
	if changed {
		if e.save(); e.dead() {
			return
		}
	}
	for _, i := range list {
		if !e.under[i] {
			e.under[i] = true
			e.soon(30, func() { e.attempt(i) })
		}
	}
	if e.cancelJobs(); e.dead() || !e.run().Over() {
		return
	}
	e.mem.ended = true
	if !e.told {
		e.told = true
		e.w.tell(e.s, "TELLS that the workflow %s has ended", e.id)
		e.ended()
	}
	e.save()
}

// dead tells that the process that mem is of is no more.
func (e *enactor) dead() bool {
	return !e.s.host.up || e.s.host.life != e.life || e.w.result.Violation != nil
}

// soon goes on within a time, in this life of the process.
func (e *enactor) soon(within grid.Tick, do func()) { e.s.host.later(between(e.rnd, 1, within), do) }

// save replaces the file; false where it was refused, though it may be there all the same. The process may crash before and after.
func (e *enactor) save() bool {
	w := e.w
	if e.crash("before") {
		return false
	}
	fails := e.s.disk.full || w.strikes(SaveFails, e.rnd)
	if !fails || !e.s.disk.full && e.rnd.IntN(3) == 0 {
		e.disk = e.mem.clone()
	}
	w.tell(e.s, "how far %s is, is written: %v", e.id, !fails)
	return !e.crash("after") && !fails
}

// crash ends the process around a write, by chance.
func (e *enactor) crash(when string) bool {
	w := e.w
	if !w.struck(CrashAtPoint, e.rnd, 20*w.rates[CrashAtPoint]) {
		return false
	}
	w.result.Coverage[when+" save of a workflow"]++
	e.s.host.crash(between(e.rnd, 50, 90*grid.Second), when+" a write of "+e.id)
	return true
}

// attempt hands a task in, or waits for its job where that was done.
func (e *enactor) attempt(i int) {
	if t := &e.mem.tasks[i]; t.State == enact.Given && t.Job != "" {
		e.await(i, t.Job)
		return
	}
	inputs, err := e.inputs(i)
	if err != nil {
		e.take(i, nil, err)
		return
	}
	e.soon(200, func() {
		before, r := e.mem.tasks[i], e.run()
		begun, changed, err := r.Begin(i, "", e.s.host.now())
		if err != nil {
			e.under[i] = false
			return
		}
		if changed && !e.save() {
			if !e.dead() {
				e.mem.tasks[i], e.under[i] = before, false
			}
			return
		}
		key := r.Key(e.id, 1, i, begun.Attempt)
		e.soon(200, func() { e.handIn(i, key, inputs) })
	})
}

// inputs are what those tasks left that one needs.
func (e *enactor) inputs(i int) (list grid.Manifest, err error) {
	for _, k := range e.graph[i].Needs {
		r := e.s.host.view[e.mem.tasks[k].Job]
		if r == nil || len(r.Outputs) == 0 {
			return nil, fmt.Errorf("%w: what %s left is not here", grid.ErrNotFound, e.graph[k].Name)
		}
		f := r.Outputs[0]
		f.Path = e.graph[k].Name
		list = append(list, f)
	}
	return list, nil
}

// handIn hands a task in, with its key. What is not taken, or not answered for, is handed in again when poll finds it due.
func (e *enactor) handIn(i int, key string, inputs grid.Manifest) {
	w, h := e.w, &e.s.host
	again := func() { e.under[i] = false }
	if !e.s.reaches() {
		again()
		return
	}
	e.tries++
	j := e.jobs[i]
	j.ID, j.Inputs = grid.NewJobID(e.s.name(), fmt.Sprintf("F%05d%020d", e.n, e.tries)), slices.Clone(inputs)
	f := newFact(j.ID, e.s, &j)
	f.task = &task{e, i}
	w.truth.add(f)
	answered := false
	h.later(30*grid.Second, func() {
		if !answered {
			again()
		}
	})
	w.tell(e.s, "task %s of %s is handed in as %s, with the key %s", e.graph[i].Name, e.id, j.ID, key)
	h.request(func(t core.Token) core.Request { return core.Submit{Token: t, Job: j, Key: key} }, func(a core.Answer) {
		if answered = true; a.Err != nil {
			w.tell(e.s, "it is refused: %v", a.Err)
			again()
			return
		}
		w.truth.handedIn(e, i, a.Record.Job.ID)
		e.soon(2*grid.Second, func() { e.give(i, a.Record.Job.ID, inputs) })
	})
}

// give gives a job its files, until that is answered, and then notes which job it is.
func (e *enactor) give(i int, id grid.JobID, inputs grid.Manifest) {
	r := e.s.host.view[id]
	if len(inputs) == 0 || r != nil && r.State != grid.StageIn && r.State != grid.Submitted {
		e.given(i, id)
		return
	}
	if !e.s.reaches() || r == nil {
		e.soon(5*grid.Second, func() { e.give(i, id, inputs) })
		return
	}
	e.s.disk.folder(id).inputs = true
	answered := false
	e.s.host.request(func(t core.Token) core.Request { return core.Uploaded{Token: t, Job: id, Inputs: inputs} }, func(a core.Answer) {
		answered = true
		if f := e.w.truth.facts[id]; a.Err == nil {
			f.uploaded = true
			e.given(i, id)
		} else {
			e.soon(5*grid.Second, func() { e.give(i, id, inputs) })
		}
	})
	e.s.host.later(30*grid.Second, func() {
		if !answered {
			e.give(i, id, inputs)
		}
	})
}

func (e *enactor) given(i int, id grid.JobID) {
	if t := &e.mem.tasks[i]; t.State == enact.Given && t.Job != id {
		if t.Job = id; !e.save() && e.dead() {
			return
		}
	}
	e.await(i, id)
}

// await waits for the end of a job.
func (e *enactor) await(i int, id grid.JobID) {
	switch r := e.s.host.view[id]; {
	case r == nil:
		e.take(i, nil, fmt.Errorf("%w: job %s", grid.ErrNotFound, id))
	case !r.State.Terminal():
		e.soon(5*grid.Second, func() { e.await(i, id) })
	case r.State != grid.Completed || r.ExitCode != 0:
		e.take(i, r, fmt.Errorf("job %s is %s, with status %d", id, r.State, r.ExitCode))
	default:
		e.take(i, r, nil)
	}
}

// take notes what came of an attempt.
func (e *enactor) take(i int, r *grid.Record, err error) {
	o := enact.Outcome{Known: e.s.host.now(), Err: err, Final: errors.Is(err, grid.ErrInvalid)}
	if r != nil {
		o.Job, o.Final = r.Job.ID, r.CancelRequested
	}
	e.under[i] = false
	if e.run().Take(i, &o) {
		e.w.tell(e.s, "task %s of %s is %s %s", e.graph[i].Name, e.id, e.mem.tasks[i].State, textOf(err))
		e.save()
	}
}

// cancelJobs asks for the end of the jobs of a workflow that was cancelled.
func (e *enactor) cancelJobs() {
	for i := range e.mem.tasks {
		t := &e.mem.tasks[i]
		if !e.mem.cancelled || t.State != enact.Given || t.Job == "" || e.rnd.IntN(3) > 0 || e.dead() {
			continue
		}
		e.w.truth.facts[t.Job].wished = true
		e.s.host.request(func(k core.Token) core.Request { return core.CancelRequest{Token: k, Job: t.Job, By: "frank"} }, func(core.Answer) {})
	}
}

// leaves is what the program of a job leaves: of a task it is made of the task and what it was given.
func (w *world) leaves(j *grid.Job) grid.Manifest {
	sum := grid.Hash{}
	if f := w.truth.facts[j.ID]; f != nil && f.task != nil {
		sum = f.task.of.content(f.task.i, j.Inputs)
	}
	return grid.Manifest{{Path: "stdout", Size: 100, Mode: 0o644, Ranges: []grid.Hash{sum}}}
}

// content stands for what a task makes of its inputs.
func (e *enactor) content(i int, inputs grid.Manifest) (sum grid.Hash) {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s %d", e.id, i)
	for _, f := range inputs {
		h.Write(f.Ranges[0][:])
	}
	copy(sum[:], h.Sum(nil))
	return sum
}
