package faults

import (
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// settle lets the last words be said and folders be swept, then checks S8 and what the
// brokers believe in the end.
func (w *world) settle() {
	if w.result.Violation != nil {
		return
	}
	w.until(w.now+settleBound, nil)
	for _, s := range w.sites {
		if w.result.Violation != nil {
			return
		}
		if !s.gone {
			w.leftRecords(s)
			w.leftJobs(s)
			w.leftFolders(s)
			w.leftCapacity(s)
			w.leftBudgets(s)
		}
	}
}

// leftRecords: no broker waits for anything about a job that has ended.
func (w *world) leftRecords(s *site) {
	for r := range s.disk.load() {
		f := w.truth.facts[r.Job.ID]
		if w.excused(f) || f.told == 0 {
			continue
		}
		if r.Role == grid.Owning && !r.State.Terminal() || r.Role == grid.Prepared || r.Handoff.Phase != grid.NoHandoff {
			w.violate("S8", r.Job.ID, "%s has ended, and %s still has it: %s", r.Job.ID, s.name(), sayRecord(s, &r))
		}
	}
}

// leftJobs: no local job of ours is left.
func (w *world) leftJobs(s *site) {
	for _, l := range s.batch.jobs {
		if f := w.truth.facts[l.sub.ID.Job]; f != nil && !w.excused(f) {
			w.violate("S8", f.id, "%s has ended, and its attempt %s is left in the batch system of %s", f.id, l.sub.ID, s.name())
		}
	}
}

// leftFolders: folders are of jobs that are at home here and not removed, or in records that need them.
func (w *world) leftFolders(s *site) {
	for _, f := range w.truth.sorted() {
		if s.disk.folders[f.id] == nil || w.excused(f) {
			continue
		}
		r := s.disk.records[f.id]
		if r != nil && r.Kept {
			continue
		}
		if r == nil || r.Removed || f.home != s && r.Role != grid.Owning {
			w.violate("S8", f.id, "the folder of %s is left at %s", f.id, s.name())
		}
	}
}

// leftCapacity: a site that holds nothing says that it could start a job on all of its
// nodes at once.
func (w *world) leftCapacity(s *site) {
	if len(s.batch.jobs) > 0 || len(s.batch.holds) > 0 || len(s.members) == 0 || s.host.Core() == nil || s.host.busy {
		return
	}
	h := &s.host
	q := wire.Question{Job: grid.NewJobID(s.name(), "00000000000000000000000000"), Demand: cores(s.facts.Processes), Walltime: grid.Second}
	shot, err := s.batch.snapshot(&s.host)
	if err != nil {
		return
	}
	effects := h.Core().Step(h.now(), core.Message{From: s.members[0].Peer, Message: wire.EstimateRequest{Round: 1, Questions: []wire.Question{q}}})
	effects = append(effects, h.Core().Step(h.now(), core.Looked{Snapshot: shot})...)
	for _, e := range effects {
		if send, ok := e.(core.Send); ok {
			if t, ok := send.Message.(wire.EstimateReply); ok && len(t.Answers) == 1 && t.Answers[0].Job == q.Job {
				if a := t.Answers[0].Estimate; a.Refusal != nil || a.Wait > 0 {
					w.violate("S8", "", "nothing is left at %s, and it says that a job would have to wait %v s, %+v", s.name(), a.Wait.Seconds(), a.Refusal)
				}
				return
			}
		}
	}
}
