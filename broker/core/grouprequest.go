package core

import (
	"fmt"

	"gbroker/grid"
)

// submitGroup makes all jobs and the group in one step, or nothing.
func (c *home) submitGroup(e SubmitGroup) {
	if done := c.knownGroup(e); done {
		return
	}
	if err := c.mayMake(e); err != nil {
		c.emit(Answer{Token: e.Token, Err: err})
		return
	}
	g := e.Group
	g.Jobs, g.Submitted = len(e.Jobs), c.now
	for i := range e.Jobs {
		if len(e.Jobs[i].Inputs) > 0 {
			g.Coming = append(g.Coming, i+1)
		}
		c.makeJob(e.Jobs[i], "", e.Anyway)
	}
	c.groups.made(g)
	c.answerGroup(e.Token, g.ID, false)
}

// admitGroup refuses a group that is too large, or one too many.
func (c *home) admitGroup(g *grid.Group, jobs []grid.Job) error {
	most := grid.MaxGroup
	if c.cfg.User.GroupJobs > 0 {
		most = min(most, c.cfg.User.GroupJobs)
	}
	if n := len(jobs); n == 0 || n > most {
		return fmt.Errorf("%w: a group has 1 to %d jobs at this site, and this one has %d: hand them in as several groups", grid.ErrInvalid, most, n)
	}
	if l, have := c.cfg.User.Groups, c.groups.unended(g.User.Name); l > 0 && have >= l {
		return fmt.Errorf("%w: the limit `groups` of this site is %d for each user (that have not ended); %s has %d: wait until some have ended, or cancel some. "+
			"Its administrator sets `limits` in gbroker.yaml", grid.ErrNotYet, l, g.User.Name, have)
	}
	return c.admit(jobs)
}

// knownGroup answers for a key that has made a group, or a job.
func (c *home) knownGroup(e SubmitGroup) bool {
	if e.Group.Key == "" {
		return false
	}
	key := keyOf(e.Group.User, e.Group.Key)
	if id, is := c.keys[key]; is && c.peek(id) != nil {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the key is that of job %s: use another key", grid.ErrInvalid, id)})
		return true
	}
	id, is := c.groups.keys[key]
	if !is {
		return false
	}
	if g := c.groups.all[id]; !g.rec.Removed && !c.sameJobs(g, e.Jobs) {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the key is that of the group %s, which other documents asked for: use another key", grid.ErrInvalid, id)})
		return true
	}
	c.answerGroup(e.Token, id, true)
	return true
}

// sameJobs: the group was asked for with the same documents, as far as its jobs are still here.
func (c *home) sameJobs(g *group, jobs []grid.Job) bool {
	if len(jobs) != g.rec.Jobs {
		return false
	}
	for i := range jobs {
		j := c.job(g.rec.ID.Job(i + 1))
		if j != nil && !j.rec.Removed && !alike(&j.rec.Job, &jobs[i]) {
			return false
		}
	}
	return true
}

func (c *home) mayMake(e SubmitGroup) error {
	if err := c.admitGroup(&e.Group, e.Jobs); err != nil {
		return err
	}
	if c.groups.all[e.Group.ID] != nil {
		return fmt.Errorf("%w: the identifier %s is taken", grid.ErrInvalid, e.Group.ID)
	}
	for i := range e.Jobs {
		id := e.Group.ID.Job(i + 1)
		if e.Jobs[i].ID != id || c.peek(id) != nil {
			return fmt.Errorf("%w: the identifier %s is taken, or is not that of job %d", grid.ErrInvalid, id, i+1)
		}
	}
	return nil
}

// answerGroup tells of a group, and of its jobs as far as they are here.
func (c *home) answerGroup(to Token, id grid.GroupID, again bool) {
	g := c.groups.all[id]
	a := Answer{Token: to, Group: g.rec, Again: again}
	for n := range g.rec.Jobs {
		if j := c.job(id.Job(n + 1)); j != nil {
			a.Jobs = append(a.Jobs, *copyOf(&j.rec))
		}
	}
	c.emit(a)
}

func (c *home) cancelGroup(e CancelGroup) {
	g := c.groups.all[e.Group]
	if g == nil || g.rec.Removed {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the group %s", grid.ErrNotFound, e.Group)})
		return
	}
	c.groups.cancel(g, e.By)
	c.emit(Answer{Token: e.Token, Group: g.rec})
}

func (c *home) removeGroup(e RemoveGroup) {
	g := c.groups.all[e.Group]
	switch {
	case g == nil || g.rec.Removed:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the group %s", grid.ErrNotFound, e.Group)})
	case g.over != nil:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: %d of the %d jobs of the group %s have not ended; cancel it first", grid.ErrNotYet, g.rec.Jobs-len(g.over), g.rec.Jobs, e.Group)})
	default:
		record := g.rec
		c.groups.remove(g)
		c.emit(Answer{Token: e.Token, Group: record})
	}
}

// memberJobs are the jobs of groups: what a group does to them, the home does.
type memberJobs struct{ c *home }

func (m memberJobs) instant() grid.Tick { return m.c.now }

func (m memberJobs) saveGroup(g grid.Group, why string) {
	ch := grid.Saved(&g)
	if why != "" {
		ch.Events = []grid.Event{{At: m.c.now, Site: m.c.cfg.Site.Name, Why: why}}
	}
	m.c.emit(Save{ch})
	if g.Ended != 0 {
		m.c.terms.groupEnded(g.ID)
	}
}

func (m memberJobs) dropGroup(id grid.GroupID) {
	m.c.emit(Save{grid.Deleted(grid.KindGroup, string(id))})
}

func (m memberJobs) ended(id grid.JobID) bool {
	j := m.c.peek(id)
	return j == nil || j.rec.State.Terminal()
}

func (m memberJobs) release(id grid.JobID) {
	if j := m.c.jobs[id]; j != nil && (j.rec.State == grid.Submitted || j.rec.State == grid.StageIn) {
		m.c.disarm(j, onUpload)
		m.c.search.ready(j, "all of its group is here")
	}
}

func (m memberJobs) fail(id grid.JobID, why string) {
	if j := m.c.jobs[id]; j != nil && (j.rec.State == grid.Submitted || j.rec.State == grid.StageIn) {
		m.c.execution.end(j, grid.Failed, why)
	}
}

func (m memberJobs) cancelJob(id grid.JobID, by string) {
	if j := m.c.job(id); j != nil {
		m.c.wantGone(j, by)
	}
}

func (m memberJobs) removeJob(id grid.JobID) {
	if j := m.c.job(id); j != nil && !j.rec.Removed && j.rec.State.Terminal() {
		m.c.remove(j)
	}
}
