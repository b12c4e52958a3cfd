package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
)

// The window of a group that has a template. Its jobs are made one by one, in the order of their numbers, so many
// that no more than the window are under way, and no limit of their user is passed; until then a job is
// a number. A job enters in one commit with the count of those that have:
//
//	1 2 3 4 5 6 7 8 9 ...
//	└─ ended ─┘ └ under way ┘ └ wait: nothing of them is kept
//	            └── window ─┘
//	└──── Entered ──────────┘
//
// A journal that was rolled back may count less than were made. So after a start nobody enters before this
// broker has read its own control directories, and, if it was rolled back, asked all members. Who was made by a
// branch that is lost is then known by a record that was learnt again (it is counted, and not made anew), or by a
// trace, and is made as one that this life found in its journal: nothing of it starts before its directory
// has spoken, and those who live. A cancelled group makes these too, and cancels them, before it ends the others.

// DefaultWindow is the window where the configuration names none.
const DefaultWindow = 1000

// maxEntering bounds the jobs that enter in one step.
const maxEntering = 128

// Expansion makes the jobs of a template by their numbers, from 1 on, without identifier, home and user. Their
// inputs are among those of the template, by what they contain.
type Expansion func(n int) (grid.Job, error)

// turn is the job whose turn it is.
type turn struct {
	job grid.Job
	err error
}

func (s *groups) routes(r *routes) {
	r.after = append(r.after, s.fill)
	onGeneral(r, groupsDue, s.due)
}

// due: what was left for later may be done now.
func (s *groups) due() {
	s.hungry = true
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		g := s.all[id]
		if g.rec.Removed && g.rec.Entered > 0 {
			s.removeMore(g)
		}
		if g.template == nil || len(g.rec.Coming) == 0 {
			continue
		}
		if left := g.since + s.limit - s.jobs.instant(); left > 0 {
			s.jobs.again(left)
		} else if s.jobs.beforeEndingRest(g.recovered) != open {
			s.jobs.again(grid.Second)
		} else {
			s.late(id.Template(), fmt.Sprintf("its files did not come within %.0f s", s.limit.Seconds()))
		}
	}
}

// fill lets jobs enter for which there is room.
func (s *groups) fill() {
	if !s.hungry {
		return
	}
	s.hungry = false
	budget := maxEntering
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		if g := s.all[id]; g.template != nil && (len(g.rec.Coming) == 0 || g.rec.CancelRequested) {
			budget -= s.enter(g, budget)
		}
	}
	if budget <= 0 {
		s.jobs.again(1)
	}
}

// enter lets jobs of a group enter, at most so many, and tells how many did.
func (s *groups) enter(g *group, most int) (entered int) {
	if s.jobs.beforeEntering(g.recovered) != open {
		s.jobs.again(grid.Second)
		return 0
	}
	if err := s.read(g); err != nil {
		s.endRest(g, grid.Failed, err.Error())
		return 0
	}
	stops := g.rec.CancelRequested && s.jobs.beforeEndingRest(g.recovered) == open
	for entered < most && g.template != nil {
		n := g.rec.Entered + 1
		if n > g.seen && (stops || g.under >= s.most(g) || !s.fits(g, n)) {
			break
		}
		s.enterOne(g, n)
		entered++
	}
	if entered > 0 && s.jobs.beforeCounting() == open {
		s.save(g, "")
	}
	if stops {
		s.reach(g, "its group")
	}
	return entered
}

func (s *groups) most(g *group) int {
	if g.rec.AtOnce > 0 {
		return min(g.rec.AtOnce, s.window)
	}
	return s.window
}

// fits tells whether the user may have the job of that number now.
func (s *groups) fits(g *group, n int) bool {
	if g.of(n).State != 0 || s.jobs.has(g.rec.ID.Job(n)) {
		return true // it takes nothing
	}
	s.make(g, n)
	if g.next.err == nil {
		switch err := s.jobs.room(&g.next.job); {
		case errors.Is(err, grid.ErrInvalid): // what it asks for cannot be
			g.next.err = err
		case err != nil:
			return false
		}
	}
	return true
}

// read reads the template of a group, once.
func (s *groups) read(g *group) (err error) {
	switch {
	case g.expansion != nil:
	case s.expand == nil:
		err = fmt.Errorf("%w: templates are not known here", grid.ErrInvalid)
	default:
		g.expansion, err = s.expand(*g.template)
	}
	return err
}

// make makes the job whose turn it is.
func (s *groups) make(g *group, n int) {
	id := g.rec.ID.Job(n)
	if g.next != nil && g.next.job.ID == id {
		return
	}
	g.next = &turn{}
	g.next.job, g.next.err = g.expansion(n)
	g.next.job.ID, g.next.job.Home, g.next.job.User = id, g.rec.User.Home, g.rec.User
}

// enterOne lets the n-th job enter.
func (s *groups) enterOne(g *group, n int) {
	id := g.rec.ID.Job(n)
	switch of := g.of(n); {
	case of.State != 0: // it was ended before its turn
		g.rec.Entered = n
	case s.jobs.has(id): // it was learnt again
		g.rec.Entered = n
		g.under++
		if of := s.jobs.became(id); of.State != 0 {
			s.jobEnded(id, of)
		}
	default:
		s.make(g, n)
		next := g.next
		g.rec.Entered, g.next = n, nil
		g.under++
		if next.err != nil {
			s.save(g, fmt.Sprintf("job %d: %v", n, next.err))
			s.jobEnded(id, grid.Result{State: grid.Failed})
			break
		}
		s.jobs.enter(next.job, g.template.Anyway, g.recovered)
	}
	if g.rec.Entered == g.rec.Jobs {
		g.template, g.expansion = nil, nil
	}
}

// endRest ends the jobs whose turn has not come.
func (s *groups) endRest(g *group, as grid.State, why string) {
	if !g.open() || g.template == nil {
		return
	}
	first := g.rec.Entered + 1
	for n := first; n <= g.rec.Jobs; n++ {
		switch {
		case g.of(n).State != 0:
		case s.jobs.has(g.rec.ID.Job(n)): // it was learnt again
			g.under++
		default:
			g.rec.Set(g.page(n), n, grid.Result{State: s.endOf(g.rec.ID.Job(n), as)})
		}
	}
	for n := first; n <= g.rec.Jobs; n += grid.ResultsPage {
		s.saveResults(g, n)
	}
	s.saveResults(g, g.rec.Jobs)
	g.rec.Entered, g.template, g.expansion, g.next = g.rec.Jobs, nil, nil, nil
	g.rec.Coming = nil // nobody waits for its files any more
	if g.rec.Ends.Sum() == g.rec.Jobs {
		s.allEnded(g)
		return
	}
	s.save(g, why)
}

// endOf is what is told of a job that fails before its turn: a branch of this journal that is lost may have had its files, and have told another end.
func (s *groups) endOf(id grid.JobID, as grid.State) grid.State {
	if before := s.jobs.knownOf(id); as == grid.Failed && before != 0 {
		return before
	}
	return as
}

// cancelOne ends a job whose turn has not come, if no lost branch of this journal may have made it.
func (s *groups) cancelOne(id grid.JobID, by string) error {
	g, n := s.of(id)
	if g == nil || n <= g.rec.Entered || s.jobs.has(id) || g.of(n).State != 0 {
		return nil
	}
	if hold := s.jobs.beforeEndingRest(g.recovered); hold != open || n <= g.seen {
		return fmt.Errorf("%w: job %s may have been made before this start: it %s", grid.ErrNotYet, id, hold)
	}
	s.save(g, fmt.Sprintf("job %d: cancelled by %s before it started", n, by))
	s.jobEnded(id, grid.Result{State: grid.Killed})
	s.jobs.tell(grid.Record{Job: grid.Job{ID: id}, State: grid.Killed, Ended: s.jobs.instant(), Run: grid.Run{End: grid.Killed}})
	return nil
}

// tellWish has the wish to cancel a group written beside the journal, under the identifier of its template:
// the jobs whose turn has not come have no records of their own.
func (s *groups) tellWish(g *group) {
	s.jobs.tell(grid.Record{Job: grid.Job{ID: g.rec.ID.Template()}, State: grid.Submitted, CancelRequested: true, Ended: s.jobs.instant()})
}

// recall brings a group up to what was told of it, or of a job of it that was never made. It tells whether
// that was meant.
func (s *groups) recall(t *grid.Record) bool {
	name, is := t.Job.ID.TemplateOf()
	if g := s.all[name]; is && g != nil && g.open() && !g.rec.CancelRequested && t.CancelRequested {
		g.rec.CancelRequested = true
		s.save(g, "cancel was requested before the journal was rolled back")
	}
	if never := t.Epoch == (grid.Epoch{}) && t.State.Terminal(); never {
		s.jobEnded(t.Job.ID, grid.Result{State: t.State})
		return true
	}
	return is
}

// sighted: a branch of this journal has made the job of that identifier. It tells whether a template makes it again.
func (s *groups) sighted(id grid.JobID) bool {
	g, n := s.of(id)
	if g == nil || n <= g.rec.Entered {
		return false
	}
	if n > g.seen {
		g.seen, s.hungry = n, true
	}
	return g.template != nil
}

// unwanted tells of a job whose group is cancelled.
func (s *groups) unwanted(id grid.JobID) bool {
	g, _ := s.of(id)
	return g != nil && g.rec.CancelRequested
}

// keeps tells of an identifier that is that of the files of a template.
func (s *groups) keeps(id grid.JobID) bool {
	name, is := id.TemplateOf()
	g := s.all[name]
	return is && g != nil && g.open()
}

// shares tells of a job whose files are those of its group.
func (s *groups) shares(id grid.JobID) bool {
	name, n := id.Group()
	g := s.all[name]
	return n > 0 && g != nil && g.rec.Made()
}

// takes is what the templates of a user take, and the files that lie beside them.
func (s *groups) takes(user string) (u usage) {
	for _, g := range s.all {
		if g.template != nil && g.rec.User.Name == user {
			u.add(usage{documents: g.template.Size(), bytes: g.template.Inputs.Size()}, 1)
		}
	}
	return u
}
