package faults

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// dispatch lets one effect leave: the model of what package broker does with it. What is slow, and under which key it runs, is the same
// in both ([core.Route]).
func (h *host) dispatch(e core.Effect, pauses uint64) {
	w, s := h.s.w, h.s
	if key, ends, slow := core.Route(e); slow {
		for _, k := range ends {
			h.stop(k)
		}
		h.work(key, e, pauses)
		return
	}
	switch e := e.(type) {
	case core.Save:
		if id, r, is := e.Change.Job(); is {
			h.show(id, r)
		}
		if p, is := e.Change.Record.(*grid.Results); is && s.of == nil {
			w.truth.pageShown(s, p)
		}
	case core.Show:
		h.show(e.Record.Job.ID, e.Record)
	case core.Send:
		w.send(s, e.To, e.Message)
	case core.Answer:
		h.answer(e)
	case core.Restart:
		w.tell(s, "resumed: it starts again from its journal")
		h.Lost()
		h.stopTimer()
		h.nonce = 1 + w.rnd.disk.Uint64N(1<<62)
		h.later(0, h.begin)
	case core.Alarm:
		w.tell(s, "ALARM: %s", e.Text)
		if h.halted = e.Halted; e.Halted {
			h.later(30*grid.Second, s.relieve)
		}
	case core.AlarmOver:
		w.tell(s, "the alarm is over")
		h.halted = false
	case core.Fail:
		w.violate("S9", "", "%s: %v", s.facts.Name, e.Err)
	case core.Note:
		w.tell(s, "notes %s: %s", e.Job, e.Text)
	}
}

// work queues a slow effect. Hints and what netmon learns are of no use here.
func (h *host) work(key core.WorkKey, e core.Effect, pauses uint64) {
	switch e := e.(type) {
	case core.Look:
		h.look(key)
	case core.Reconcile:
		h.reconcile(key, e.Jobs)
	case core.Launch:
		h.launch(key, e, pauses)
	case core.Reserve:
		h.reserve(key, e)
	case core.Unreserve:
		h.unreserve(key, e.ID)
	case core.ListReservations:
		h.listReservations(key)
	case core.Gather:
		h.gather(key, e)
	case core.Withdraw:
		h.command(key, func() { h.withdraw(e.ID) })
	case core.Kill:
		h.command(key, func() { h.kill(e.ID) })
	case core.Probe:
		h.command(key, func() { h.probe(e.ID) })
	case core.Fetch:
		h.fetch(key, e)
	case core.Check:
		h.check(key, e)
	case core.Furnish:
		h.furnish(key, e)
	case core.Collect:
		h.collect(key, e)
	case core.Discard:
		h.discard(key, e)
	case core.SetAside:
		h.setAside(key, e)
	case core.Serve:
		h.serve(key, e)
	}
}

// show is what readers see from now on.
func (h *host) show(id grid.JobID, r *grid.Record) {
	if r == nil {
		delete(h.view, id)
	} else {
		h.view[id] = r
	}
	if h.s.of == nil { // users know the first one of two under one name
		h.s.w.truth.shown(h.s, id, r)
	}
}

func (h *host) answer(a core.Answer) {
	if f := h.answers[a.Token]; f != nil {
		delete(h.answers, a.Token)
		f(a)
	}
}

// request posts an event that carries a token.
func (h *host) request(event func(core.Token) core.Request, answered func(core.Answer)) {
	h.tokens++
	t := h.tokens
	h.answers[t] = answered
	h.post(event(t))
}

// look takes a snapshot of the batch system; one at a time.
func (h *host) look(key core.WorkKey) {
	s := h.s
	w := s.w
	h.do(key, &work{
		begin: func() grid.Tick { return s.batch.pace(5) },
		end: func(bool) {
			ev := core.Looked{Full: s.disk.full}
			ev.Snapshot, ev.Err = s.batch.snapshot(h)
			if w.tracing() {
				w.tell(s, "looks: %d running, %d waiting %s", len(ev.Snapshot.Running), len(ev.Snapshot.Waiting), textOf(ev.Err))
			}
			h.post(ev)
		},
	})
}

// launch prepares the sandbox, then submits, unless the decision lies before a pause.
func (h *host) launch(key core.WorkKey, e core.Launch, pauses uint64) {
	id := e.Submission.ID
	h.do(key, &work{
		begin: func() grid.Tick { return between(h.s.w.rnd.file, 1, 50) },
		end: func(stopped bool) {
			f := h.s.disk.folders[id.Job]
			switch {
			case stopped:
				h.launched(id, "", errors.New("preparing the sandbox: it was discarded"))
			case len(e.Submission.Job.Inputs) > 0 && (f == nil || !f.inputs):
				h.launched(id, "", errors.New("preparing the sandbox: an input is missing"))
			default:
				h.s.disk.folder(id.Job)
				h.submit(e.Submission, pauses)
			}
		},
	})
}

func (h *host) submit(sub grid.Submission, pauses uint64) {
	var local grid.LocalID
	var err error
	h.do(core.WorkKey{Kind: core.BatchWork, Of: string(sub.ID.Job)}, &work{
		begin: func() grid.Tick {
			if h.pauses != pauses && !h.s.w.broken.shell[submitAfterPause] {
				err = errPaused
				return 1
			}
			span := h.s.batch.pace(30)
			// What the server does is done in the middle, also if the client dies meanwhile;
			// at a blind site at once, as nobody could tell there whether it may still come.
			at := span / 2
			if h.s.batch.blind {
				at = 0
			}
			h.s.w.after(at, func() { local, err = h.s.batch.submit(sub) })
			return span
		},
		end: func(bool) { h.launched(sub.ID, local, err) },
	})
}

var errPaused = fmt.Errorf("%w: this broker was stopped before it could submit the attempt", grid.ErrUnavailable)

func (h *host) launched(id grid.AttemptID, local grid.LocalID, err error) {
	h.s.w.tell(h.s, "submitted %s: %s %s", id, local, textOf(err))
	h.post(core.Launched{ID: id, Local: local, Err: err, Kind: grid.RefusalOf(err)})
}

// command queues a command to the batch system about an attempt.
func (h *host) command(key core.WorkKey, run func()) {
	h.do(key, &work{
		begin: func() grid.Tick { return h.s.batch.pace(15) },
		end:   func(bool) { run() },
	})
}

func (h *host) withdraw(id grid.AttemptID) {
	h.makeFolder(id)
	done, err := h.s.batch.withdraw(id)
	h.s.w.tell(h.s, "withdraws %s: %v %s", id, done, textOf(err))
	if done {
		h.s.w.truth.withdrawn(h.s, id)
	}
	h.post(core.Withdrawn{ID: id, Done: done, Err: err, Damaged: errors.Is(err, grid.ErrDamaged)})
}

func (h *host) makeFolder(id grid.AttemptID) {
	if r := h.view[id.Job]; r != nil && r.Local == "" {
		h.s.disk.folder(id.Job)
	}
}

func (h *host) kill(id grid.AttemptID) {
	err := h.s.batch.kill(id)
	h.s.w.tell(h.s, "kills %s %s", id, textOf(err))
}

func (h *host) probe(id grid.AttemptID) {
	h.makeFolder(id)
	p, err := h.s.batch.progress(id)
	p.ID = id
	h.s.w.tell(h.s, "probes %s: %s %s", id, p.Phase, textOf(err))
	h.post(core.Progressed{Progress: p, Err: err, Damaged: errors.Is(err, grid.ErrDamaged)})
}

// reconcile asks which attempts there were.
func (h *host) reconcile(key core.WorkKey, jobs []grid.JobID) {
	s := h.s
	h.do(key, &work{
		begin: func() grid.Tick { return s.batch.pace(20) },
		end: func(bool) {
			var ev core.Reconciled
			if all, err := s.batch.attempts(); err == nil && !s.disk.unreadable {
				ev.Jobs, ev.Attempts, ev.All = jobs, all, true
				for _, id := range slices.Sorted(maps.Keys(s.disk.folders)) {
					if h.untold(id) {
						ev.Attempts = append(ev.Attempts, s.disk.attempts(id)...)
					}
				}
				for _, id := range slices.Sorted(maps.Keys(s.disk.aside)) {
					for _, f := range s.disk.aside[id] {
						if h.untold(id) {
							ev.Aside = append(ev.Aside, f.attempts(id)...)
						}
					}
				}
				for _, id := range jobs {
					ev.Attempts = append(ev.Attempts, s.disk.attempts(id)...)
				}
			}
			h.post(ev)
		},
	})
}

// untold: no record tells which attempts there were.
func (h *host) untold(id grid.JobID) bool { return h.view[id] == nil || core.Bygone(h.view[id]) }

// changedAttempt tells the brokers of a site.
func (s *site) changedAttempt(id grid.AttemptID) {
	s.host.changed(id)
	if s.duplicate != nil {
		s.duplicate.host.changed(id)
	}
}

// changed is the batch system's own word of a change; like all words it may be lost.
func (h *host) changed(id grid.AttemptID) {
	if h.up && h.s.w.rnd.batch.IntN(4) > 0 {
		h.later(5, func() {
			h.command(core.WorkKey{Kind: core.BatchWork, Of: string(id.Job)}, func() { h.probe(id) })
		})
	}
}

// collect gathers what a job left.
func (h *host) collect(key core.WorkKey, e core.Collect) {
	w := h.s.w
	h.do(key, &work{
		begin: func() grid.Tick { return between(w.rnd.file, 1, 50) },
		end: func(stopped bool) {
			ev := core.Collected{Job: e.Job.ID, Epoch: e.Epoch}
			switch {
			case stopped:
				ev.Err = errors.New("it was discarded")
			case w.strikes(CollectFails, w.rnd.file):
				ev.Err = errors.New("the disk does not answer")
			default:
				h.s.disk.folder(e.Job.ID).outputs = true
				ev.Outputs = w.leaves(&e.Job)
			}
			h.post(ev)
		},
	})
}

// discard drops files.
func (h *host) discard(key core.WorkKey, e core.Discard) {
	h.do(key, &work{
		begin: func() grid.Tick { return between(h.s.w.rnd.file, 1, 20) },
		end: func(bool) {
			h.s.w.tell(h.s, "discards the files of %s (inputs and outputs stay: %v)", e.Job, e.Keep)
			if !e.Keep {
				h.s.w.truth.sweeps(h.s, e.Job, true)
				delete(h.s.disk.folders, e.Job)
			}
		},
	})
}

// setAside moves a folder away that no record here knows.
func (h *host) setAside(key core.WorkKey, e core.SetAside) {
	h.do(key, &work{
		begin: func() grid.Tick { return between(h.s.w.rnd.file, 1, 20) },
		end: func(bool) {
			h.s.w.tell(h.s, "puts the folder of %s aside", e.Job)
			h.s.w.truth.sweeps(h.s, e.Job, false)
			h.s.disk.setAside(e.Job)
		},
	})
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
