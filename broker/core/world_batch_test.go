package core

import (
	"errors"
	"fmt"

	"gbroker/grid"
	"gbroker/plan"
)

type localJob struct {
	s        grid.Submission
	started  grid.Tick
	ended    bool
	progress grid.Progress
	arrived  bool // at the barrier of a co-allocated job
	deleted  bool
	held     bool
	hidden   grid.Tick // until then no listing shows it
	nodes    []int     // that it runs on, where nodes are told apart
}

// The batch system: FIFO over the declared cores; tokens decide starts.

func (s *site) snapshot() plan.Snapshot {
	if s.parts != nil {
		return s.parts.snapshot()
	}
	p := plan.Snapshot{At: s.w.now, Policy: plan.Policy{Kind: plan.EASY}, Site: s.facts(), Nodes: []plan.Node{{Name: "n", Cores: s.cores}}}
	for _, l := range s.local {
		switch {
		case l.ended:
		case l.started > 0:
			n := l.s.Job.Demand.Cores()
			p.Running = append(p.Running, plan.Running{Job: l.s.ID.Job, Start: l.started, End: max(s.w.now+1, l.started+l.s.Limit),
				Shares: []plan.Share{{Node: 0, Processes: n, Cores: n}}})
		case s.tokens[l.s.ID] == "" && !l.deleted && l.hidden <= s.w.now:
			p.Waiting = append(p.Waiting, plan.Waiting{Job: l.s.ID.Job, Demand: l.s.Job.Demand, Limit: l.s.Limit, Ineligible: l.held})
		}
	}
	return p
}

func (s *site) find(id grid.AttemptID) *localJob {
	for _, l := range s.local {
		if l.s.ID == id {
			return l
		}
	}
	return nil
}

func (s *site) launch(sub grid.Submission) Event {
	failed := s.w.rnd.Float64() < s.w.faults.batchError
	if !failed || s.w.rnd.Float64() < 0.5 {
		if s.find(sub.ID) == nil {
			l := &localJob{s: sub}
			s.local = append(s.local, l)
			s.w.after(1, s.schedule)
			if s.w.rnd.Float64() < s.w.faults.operator {
				s.operate(l)
			}
		}
	}
	if failed {
		return Launched{ID: sub.ID, Err: errors.New("the answer was lost")}
	}
	return Launched{ID: sub.ID, Local: grid.LocalID(sub.ID.Tag())}
}

// operate is somebody at the site who does something to our local job, soon.
func (s *site) operate(l *localJob) {
	w := s.w
	w.after(grid.Tick(1+w.rnd.Int64N(3000)), func() {
		switch w.rnd.IntN(3) {
		case 0:
			w.logf("%s: the local job of %s is deleted", s.name, l.s.ID)
			l.deleted = l.started == 0
		case 1:
			l.hidden = w.now + grid.Tick(w.rnd.Int64N(4000))
		case 2:
			l.held = l.started == 0
			w.after(20*grid.Second, func() { l.held = false; s.schedule() })
		}
		s.schedule()
	})
}

// schedule starts what fits, in order; it goes on while the broker is down.
func (s *site) schedule() {
	if s.parts != nil {
		s.parts.schedule()
		return
	}
	free := s.cores
	for _, l := range s.local {
		n := l.s.Job.Demand.Cores()
		switch {
		case l.ended || l.deleted || l.held || s.tokens[l.s.ID] == "withdrawn":
		case l.started > 0:
			free -= n
		case n <= free:
			free -= n
			s.start(l)
		default:
			return
		}
	}
}

func (s *site) start(l *localJob) {
	w := s.w
	s.tokens[l.s.ID] = "started"
	s.parts.started(l)
	id := l.s.ID.Job
	w.starts[id] = append(w.starts[id], fmt.Sprintf("%s %s at %d", s.name, l.s.ID, w.now))
	w.logf("%s STARTS %s", s.name, l.s.ID)
	w.say(s, "STARTS %s %s#%d", short(id), l.s.ID.Epoch, l.s.ID.Attempt)
	if n := len(w.starts[id]); n > 1 && (!l.s.Job.Rerunnable || l.s.ID.Epoch.Term == 1 && w.runs(id)) {
		w.t.Fatalf("%s started more than once: %v\n%s", id, w.starts[id], w.story(id))
	}
	if w.told[id] {
		w.t.Fatalf("%s started after its user was told KILLED\n%s", id, w.story(id))
	}
	l.started = w.now + s.ahead
	s.word(s.progress(l.s.ID))
	run := grid.Tick(float64(l.s.Job.Walltime) / s.speed * (0.3 + 0.7*w.rnd.Float64()))
	if w.tell != nil { // a transcript rests on no chance
		run = grid.Tick(float64(l.s.Job.Walltime) / s.speed / 2)
	}
	why := grid.ByItself
	if w.rnd.Float64() < w.faults.disappear {
		why, run = grid.Disappeared, run/2
	}
	w.after(run, func() { s.endLocal(l, why) })
}

func (s *site) endLocal(l *localJob, why grid.Cause) {
	if l.ended {
		return
	}
	l.ended = true
	l.progress = grid.Progress{ID: l.s.ID, Phase: grid.Ended, Started: l.started, Finished: s.w.now + s.ahead, Cause: why}
	s.word(l.progress)
	s.schedule()
}

// word is the batch system's own word of a change; like every word it may be lost.
func (s *site) word(p grid.Progress) {
	if s.w.rnd.Float64() >= s.w.faults.batchError {
		s.later(1, Progressed{Progress: p})
	}
}

// runs reports that the program of a job is running somewhere, in truth.
func (w *world) runs(id grid.JobID) bool {
	for _, s := range w.sites {
		for _, l := range s.local {
			if l.s.ID.Job == id && l.started > 0 && !l.ended {
				return true
			}
		}
	}
	return false
}

func (s *site) withdraw(id grid.AttemptID) Event {
	if s.tokens[id] == "started" {
		return Withdrawn{ID: id}
	}
	s.tokens[id] = "withdrawn"
	if s.w.rnd.Float64() < s.w.faults.batchError {
		return Withdrawn{ID: id, Err: errors.New("the answer was lost")}
	}
	s.w.after(1, s.schedule)
	return Withdrawn{ID: id, Done: true}
}

func (s *site) kill(id grid.AttemptID) {
	if l := s.find(id); l != nil && l.started > 0 {
		s.w.after(2, func() { s.endLocal(l, grid.ByRequest) })
	}
}

func (s *site) progress(id grid.AttemptID) grid.Progress {
	l := s.find(id)
	switch {
	case s.tokens[id] == "withdrawn":
		return grid.Progress{ID: id, Phase: grid.Withdrawn}
	case l == nil, l.hidden > s.w.now && !l.ended, l.deleted && s.tokens[id] == "":
		return grid.Progress{ID: id}
	case l.ended:
		return l.progress
	case l.started > 0:
		return grid.Progress{ID: id, Phase: grid.Started, Started: l.started, Local: "l"}
	}
	return grid.Progress{ID: id, Phase: grid.Waiting, Local: "l", Arrived: l.arrived, Hosts: []string{string(s.name) + "0:1"}, Rendezvous: string(s.name) + "0:20001"}
}
