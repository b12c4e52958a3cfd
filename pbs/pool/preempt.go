package pool

import (
	"slices"

	"gbroker/grid"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// preempt takes a computer from a job without a deadline for one that no plan ends in time any more, by [desks.Rearrange]; false where there is none to be had.
// Who gives way writes checkpoints, of which one has come, and goes on from that elsewhere, or there afterwards. s.mu is held.
func (s *System) preempt(now grid.Tick, computers []*computer, list []*entry, jobs []desks.Job, kept map[*computer]*entry) bool {
	running, gives := s.running(computers)
	if !slices.ContainsFunc(gives, func(v *entry) bool { return v != nil }) {
		return false
	}
	planned := s.config.Rule.Plan(now, s.desks(now, computers, false), jobs)
	var endangered []desks.Job
	var of []*entry
	for i, e := range list {
		if p, ok := planned.Place(i); !ok || p.End > e.Deadline {
			endangered, of = append(endangered, jobs[i]), append(of, e)
		}
	}
	all := make([]desks.Computer, len(computers))
	for i, c := range computers {
		if all[i] = c.desk(); !s.ready(c) {
			running = append(running, desks.Running{Job: desks.Job{}, Computer: i}) // nobody gets it
		}
	}
	for _, a := range desks.Rearrange(now, all, running, endangered) {
		if a.Job < len(running) {
			continue
		}
		e, c, v := of[a.Job-len(running)], computers[a.Computer], gives[a.Computer]
		if k := kept[c]; v == nil || a.End > e.Deadline || k != nil && !(turn{c, k}).lets(e) {
			continue
		}
		s.log.Info("a job gives way to one whose deadline is near", zap.Stringer("attempt", v.id), zap.Stringer("for", e.id), zap.String("computer", c.name))
		s.again(v)
		return true
	}
	return false
}

// running are the jobs that computers have, and for each computer the one that it would give away, where that is all that it has; s.mu is held.
func (s *System) running(computers []*computer) (list []desks.Running, gives []*entry) {
	o := offersOf(computers)
	gives = make([]*entry, len(computers))
	for i, c := range computers {
		for _, e := range c.jobs {
			r := desks.Running{Job: s.asked(e, o), Computer: i}
			r.Checkpoints = len(c.jobs) == 1 && s.ready(c) && e.givesWay()
			if r.Checkpoints {
				gives[i] = e
			}
			list = append(list, r)
		}
	}
	return list, gives
}

// givesWay tells that a job may be stopped for another and lose little: it has no deadline, runs, and has brought a checkpoint.
func (e *entry) givesWay() bool {
	return e.Deadline == 0 && e.Rerunnable && e.Wrote != "" && e.began != 0 && !e.killed && !e.ending && !e.returning && !e.raced
}
