package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
)

// A group is a set of jobs of one user that were handed in as one. It is an entity of its own at
// their home, beside the jobs: each of them is searched a place for, handed on and ended like any
// other, and knows of its group by its name alone.
//
//	SubmitGroup ─► one commit: all jobs and the group, or nothing
//	   └► all files are here (Uploaded of each) ─► one commit: all jobs READY ─► each its own way
//	                                                                             └► the last has ended: Ended
//
// What stands on groups (sweeps, jobs over several sites, workflows) hears of two moments, in the
// step that brings them, so that what it saves then is durable with them or not at all:
//
//   - this job has ended: [groups.jobEnded], once for each job. A workflow lets the jobs go that
//     waited for it; a sweep counts, and hands in the next;
//   - all jobs have ended: [groups.allEnded], once for the group. A part of a co-allocated job that
//     ended before its time is seen by the first, and the others are cancelled by [groups.cancel].
//
// It keeps its own jobs back with Coming, as whoever comes will keep back what is not yet due.
//
// The machine asks the rest of Core for what the jobs need by [groupJobs] alone.
type groups struct {
	jobs groupJobs
	all  map[grid.GroupID]*group
	keys map[submissionKey]grid.GroupID
}

// groupJobs is what groups need of the jobs.
type groupJobs interface {
	// ended: the job has ended, or is not here any more.
	ended(id grid.JobID) bool
	// release lets a job be searched a place for, if it was kept back.
	release(id grid.JobID)
	// fail ends a job that was kept back.
	fail(id grid.JobID, why string)
	// cancelJob asks for the end of a job, if it has not ended.
	cancelJob(id grid.JobID, by string)
	// removeJob removes an ended job.
	removeJob(id grid.JobID)
	saveGroup(g grid.Group, why string)
	dropGroup(id grid.GroupID)
	instant() grid.Tick
}

// group is a group, and which of its jobs have ended.
type group struct {
	rec  grid.Group
	over map[int]bool // nil once all are
}

func newGroups(jobs groupJobs) *groups {
	return &groups{jobs: jobs, all: map[grid.GroupID]*group{}, keys: map[submissionKey]grid.GroupID{}}
}

// add takes up a group, of the journal or new.
func (s *groups) add(rec grid.Group) *group {
	g := &group{rec: rec}
	if rec.Ended == 0 {
		g.over = map[int]bool{}
	}
	s.all[rec.ID] = g
	if rec.Key != "" {
		s.keys[keyOf(rec.User, rec.Key)] = rec.ID
	}
	return g
}

// of is the group of a job, and its number in it, if there is one that is not at its end.
func (s *groups) of(id grid.JobID) (*group, int) {
	name, n := id.Group()
	g := s.all[name]
	if n == 0 || g == nil || g.over == nil || n > g.rec.Jobs {
		return nil, 0
	}
	return g, n
}

// unended counts the groups of a user that have not ended.
func (s *groups) unended(user string) (n int) {
	for _, g := range s.all {
		if g.over != nil && g.rec.User.Name == user {
			n++
		}
	}
	return n
}

// made begins with a group whose jobs were made in this step.
func (s *groups) made(rec grid.Group) {
	g := s.add(rec)
	s.jobs.saveGroup(g.rec, fmt.Sprintf("%d jobs accepted from %s", rec.Jobs, rec.User.Name))
	if len(rec.Coming) == 0 {
		s.release(g)
	}
}

func (s *groups) release(g *group) {
	for n := range g.rec.Jobs {
		s.jobs.release(g.rec.ID.Job(n + 1))
	}
}

// keepsBack: the job waits for the files of others of its group.
func (s *groups) keepsBack(id grid.JobID) bool {
	g, _ := s.of(id)
	return g != nil && len(g.rec.Coming) > 0
}

// arrived: all files of the job are here.
func (s *groups) arrived(id grid.JobID) {
	g, n := s.of(id)
	if g == nil || !slices.Contains(g.rec.Coming, n) {
		return
	}
	g.rec.Coming = slices.DeleteFunc(slices.Clone(g.rec.Coming), func(k int) bool { return k == n })
	if len(g.rec.Coming) > 0 {
		s.jobs.saveGroup(g.rec, "")
		return
	}
	s.jobs.saveGroup(g.rec, "all files are here")
	s.release(g)
}

// late: the files of the job did not come in time. No other job of its group begins then.
func (s *groups) late(id grid.JobID, why string) bool {
	g, n := s.of(id)
	if g == nil || !slices.Contains(g.rec.Coming, n) {
		return false
	}
	for k := 1; k <= g.rec.Jobs; k++ {
		if k != n {
			s.jobs.fail(g.rec.ID.Job(k), fmt.Sprintf("job %d of its group: %s", n, why))
		}
	}
	s.jobs.fail(id, why)
	return true
}

// jobEnded: the job has ended, or is gone. Told again it changes nothing.
func (s *groups) jobEnded(id grid.JobID) {
	g, n := s.of(id)
	if g == nil || g.over[n] {
		return
	}
	g.over[n] = true
	if len(g.over) == g.rec.Jobs {
		s.allEnded(g)
		return
	}
	s.arrived(id) // nobody waits for its files any more
}

// allEnded is the end of the group.
func (s *groups) allEnded(g *group) {
	g.over, g.rec.Coming = nil, nil
	g.rec.Ended = s.jobs.instant()
	s.jobs.saveGroup(g.rec, fmt.Sprintf("all %d jobs have ended", g.rec.Jobs))
}

// recover takes up again what was under way, and finds what ended while nobody looked.
func (s *groups) recover() {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		g := s.all[id]
		for n := 1; n <= g.rec.Jobs && g.over != nil; n++ {
			if s.jobs.ended(id.Job(n)) {
				s.jobEnded(id.Job(n))
			}
		}
		if g.over == nil {
			continue
		}
		if g.rec.CancelRequested {
			s.reach(g, "its group")
		}
		if len(g.rec.Coming) == 0 {
			s.release(g)
		}
	}
}

// cancel asks for the end of all jobs, once and for ever.
func (s *groups) cancel(g *group, by string) {
	if g.over == nil || g.rec.CancelRequested {
		return
	}
	g.rec.CancelRequested = true
	s.jobs.saveGroup(g.rec, "cancel requested by "+by)
	s.reach(g, by)
}

func (s *groups) reach(g *group, by string) {
	for n := 1; n <= g.rec.Jobs && g.over != nil; n++ {
		if !g.over[n] {
			s.jobs.cancelJob(g.rec.ID.Job(n), by)
		}
	}
}

// remove drops the jobs of an ended group, and leaves of it what its key needs.
func (s *groups) remove(g *group) {
	for n := range g.rec.Jobs {
		s.jobs.removeJob(g.rec.ID.Job(n + 1))
	}
	g.rec.Removed = true
	s.jobs.saveGroup(g.rec, "removed")
}

// retain drops the groups that were kept long enough, as outlived says.
func (s *groups) retain(outlived func(*grid.Group) bool) {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		if g := s.all[id]; g.over == nil && outlived(&g.rec) {
			delete(s.all, id)
			delete(s.keys, keyOf(g.rec.User, g.rec.Key))
			s.jobs.dropGroup(id)
		}
	}
}
