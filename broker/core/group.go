package core

import (
	"fmt"
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
// Its jobs are handed in with it, or made from a template as their turn comes: see window.go.
// What became of each is kept in a few bytes, beside its record and longer (grid.Results).
//
// What stands on groups (sweeps, jobs over several sites, workflows) hears of two moments, in the
// step that brings them, so that what it saves then is durable with them or not at all:
//
//   - this job has ended: [groups.jobEnded], once for each job. A workflow lets the jobs go that
//     waited for it; a sweep hands in the next;
//   - all jobs have ended: [groups.allEnded], once for the group. A part of a co-allocated job that
//     ended before its time is seen by the first, and the others are cancelled by [groups.cancel].
//
// It keeps its own jobs back with Coming, as whoever comes will keep back what is not yet due.
//
// The machine asks the rest of Core for what the jobs need by [groupJobs] alone.
type groups struct {
	jobs   groupJobs
	all    map[grid.GroupID]*group
	keys   map[submissionKey]grid.GroupID
	window int // jobs of one group that are under way at most
	expand func(grid.Template) (Expansion, error)
	hungry bool      // there may be room for jobs whose turn has not come
	limit  grid.Tick // for the files of a template to come
}

// groupJobs is what groups need of the jobs.
type groupJobs interface {
	// became is what became of a job: nothing of one that has not ended. One that is not here any more is lost.
	became(id grid.JobID) grid.Result
	// release lets a job be searched a place for, if it was kept back.
	release(id grid.JobID)
	// fail ends a job that was kept back.
	fail(id grid.JobID, why string)
	// cancelJob asks for the end of a job, if it has not ended.
	cancelJob(id grid.JobID, by string)
	// removeJob removes an ended job.
	removeJob(id grid.JobID)
	// room says why no more jobs of a user may be made now.
	room(j *grid.Job) error
	// enter makes a job from a template. A recovered one may have been made before, by a branch of this
	// journal.
	enter(j grid.Job, anyway, recovered bool)
	// has tells of a job that has a record.
	has(id grid.JobID) bool
	// knownOf is the end of a job without a record that a lost branch has made: as it was told, or LOST where it has been at a site. 0 is none.
	knownOf(id grid.JobID) grid.State
	// What has to be known first: see gates_group.go.
	beforeEntering(recovered bool) gate
	beforeCounting() gate
	beforeEndingRest(recovered bool) gate
	beforeFailing(id grid.JobID) gate
	// tell writes beside the journal what users are about to be told of a job that has no record.
	tell(r grid.Record)
	// again brings [groups.due] after a while.
	again(in grid.Tick)
	save(e grid.Entity, why string)
	drop(k grid.Kind, key string)
	// discard drops the files of a template.
	discard(id grid.JobID)
	instant() grid.Tick
}

// group is a group with what became of its jobs.
type group struct {
	rec       grid.Group
	results   []*grid.Results // by page
	under     int             // jobs that have entered, and not ended
	template  *grid.Template  // until all jobs have entered
	expansion Expansion
	next      *turn     // the job whose turn is next, where it was made and had no room
	recovered bool      // it was in the journal when this life began, or here over a stall
	seen      int       // a branch of this journal has made the jobs up to that number
	since     grid.Tick // the files of its template are waited for
}

func (g *group) open() bool { return g.rec.Ended == 0 }

// page has the result of the n-th job.
func (g *group) page(n int) *grid.Results {
	k := (n - 1) / grid.ResultsPage
	for len(g.results) <= k {
		g.results = append(g.results, nil)
	}
	if g.results[k] == nil {
		g.results[k] = &grid.Results{Group: g.rec.ID, Page: k}
	}
	return g.results[k]
}

func (g *group) of(n int) grid.Result {
	if k := (n - 1) / grid.ResultsPage; k < len(g.results) {
		return g.rec.Of(g.results[k], n)
	}
	return grid.Result{}
}

func newGroups(jobs groupJobs) *groups {
	return &groups{jobs: jobs, all: map[grid.GroupID]*group{}, keys: map[submissionKey]grid.GroupID{}, window: DefaultWindow}
}

// add takes up a group, of the journal or new.
func (s *groups) add(rec grid.Group) *group {
	g := &group{rec: rec}
	s.all[rec.ID] = g
	if rec.Key != "" {
		s.keys[keyOf(rec.User, rec.Key)] = rec.ID
	}
	return g
}

// markRecovered: jobs of the groups that are here may have been made in another branch of this journal, or by another with a copy of it.
func (s *groups) markRecovered() {
	for _, g := range s.all {
		g.recovered = true
	}
}

// take takes up groups of the journal, and what lies beside them.
func (s *groups) take(list []grid.Group, templates []grid.Template, results []grid.Results) {
	for _, rec := range list {
		g := s.add(rec)
		g.recovered = true
		if !rec.Made() && !rec.Removed {
			g.rec.Entered = rec.Jobs // also of one that is older than this field
		}
	}
	for i := range results {
		r := &results[i]
		if g := s.all[r.Group]; g != nil && r.Page >= 0 && r.Page <= g.rec.Jobs/grid.ResultsPage {
			*g.page(r.Page*grid.ResultsPage + 1) = *r
		}
	}
	for i := range templates {
		t := &templates[i]
		if g := s.all[t.Group]; g != nil && g.rec.Entered < g.rec.Jobs && g.open() {
			g.template = t
		}
	}
	for _, g := range s.all {
		for n := 1; n <= g.rec.Entered && g.open(); n++ {
			if g.of(n).State == 0 {
				g.under++
			}
		}
	}
}

// of is the group of a job, and its number in it, if there is one that is not at its end.
func (s *groups) of(id grid.JobID) (*group, int) {
	name, n := id.Group()
	if of, is := id.TemplateOf(); is {
		name = of
	}
	g := s.all[name]
	if g == nil || n > g.rec.Jobs || !g.open() {
		return nil, 0
	}
	return g, n
}

// result is what became of a job of a group that has not been removed; waits tells that it is one.
func (s *groups) result(id grid.JobID) (of grid.Result, waits bool) {
	name, n := id.Group()
	if g := s.all[name]; g != nil && n > 0 && n <= g.rec.Jobs && !g.rec.Removed {
		return g.of(n), g.of(n).State == 0
	}
	return of, false
}

// outline is what is known of a job of a group that has no record.
func (s *groups) outline(id grid.JobID) (r grid.Record, known bool) {
	name, n := id.Group()
	if g := s.all[name]; g != nil && n > 0 && n <= g.rec.Jobs && !g.rec.Removed {
		return g.rec.Outline(n, g.of(n)), true
	}
	return r, false
}

// unended counts the groups of a user that have not ended.
func (s *groups) unended(user string) (n int) {
	for _, g := range s.all {
		if g.open() && g.rec.User.Name == user {
			n++
		}
	}
	return n
}

// save saves a group, and why it changed.
func (s *groups) save(g *group, why string) {
	rec := g.rec
	s.jobs.save(&rec, why)
}

// saveResults saves the page of the n-th job.
func (s *groups) saveResults(g *group, n int) {
	r := *g.page(n)
	r.Of = slices.Clone(r.Of)
	s.jobs.save(&r, "")
}

// made begins with a group whose jobs were made in this step, or which has a template.
func (s *groups) made(rec grid.Group, t *grid.Template) {
	if t == nil {
		rec.Entered = rec.Jobs
	} else {
		s.jobs.save(t, "")
	}
	g := s.add(rec)
	g.template, g.under = t, g.rec.Entered
	s.save(g, fmt.Sprintf("%d jobs accepted from %s", rec.Jobs, rec.User.Name))
	if len(rec.Coming) == 0 {
		s.release(g)
	} else if t != nil {
		s.awaitFiles(g)
	}
}

// awaitFiles waits for the files of a template, from now on: a time in which nobody listened does not count.
func (s *groups) awaitFiles(g *group) {
	g.since = s.jobs.instant()
	s.jobs.again(s.limit)
}

// awaitAnew waits anew for the files of templates that have not come.
func (s *groups) awaitAnew() {
	for _, g := range s.all {
		if g.template != nil && len(g.rec.Coming) > 0 {
			s.awaitFiles(g)
		}
	}
}

func (s *groups) release(g *group) {
	s.hungry = true
	for n := 1; n <= g.rec.Entered && !g.rec.Made(); n++ {
		s.jobs.release(g.rec.ID.Job(n))
	}
}

// keepsBack: the job waits for the files of others of its group.
func (s *groups) keepsBack(id grid.JobID) bool {
	g, _ := s.of(id)
	return g != nil && len(g.rec.Coming) > 0
}

// complete: all files of all jobs of the group have come, and so those of this one.
func (s *groups) complete(id grid.JobID) bool {
	g, _ := s.of(id)
	return g != nil && !g.rec.Made() && len(g.rec.Coming) == 0
}

// brought: the files of this very job have come, and its group waits for those of others, if for any.
func (s *groups) brought(id grid.JobID) bool {
	g, n := s.of(id)
	return g != nil && !g.rec.Made() && !slices.Contains(g.rec.Coming, n)
}

// arrived: all files of the job, or of the template, are here.
func (s *groups) arrived(id grid.JobID) {
	g, n := s.of(id)
	if g == nil || !slices.Contains(g.rec.Coming, n) {
		return
	}
	g.rec.Coming = slices.DeleteFunc(slices.Clone(g.rec.Coming), func(k int) bool { return k == n })
	if len(g.rec.Coming) > 0 {
		s.save(g, "")
		return
	}
	s.save(g, "all files are here")
	s.release(g)
}

// beforeLate is what has to be known before the files of a job that did not come end its group: each of the jobs that end with it is asked for.
func (s *groups) beforeLate(id grid.JobID) gate {
	g, n := s.of(id)
	if g == nil || !slices.Contains(g.rec.Coming, n) {
		return open
	}
	for k := 1; k <= g.rec.Entered; k++ {
		if closed := s.jobs.beforeFailing(g.rec.ID.Job(k)); closed != open {
			return closed
		}
	}
	return open
}

// late: the files of the job did not come in time. No other job of its group begins then.
func (s *groups) late(id grid.JobID, why string) bool {
	g, n := s.of(id)
	if g == nil || !slices.Contains(g.rec.Coming, n) {
		return false
	}
	for k := 1; k <= g.rec.Entered; k++ {
		if k != n {
			s.jobs.fail(g.rec.ID.Job(k), fmt.Sprintf("job %d of its group: %s", n, why))
		}
	}
	if n > 0 {
		s.jobs.fail(id, why)
	}
	s.endRest(g, grid.Failed, why)
	return true
}
