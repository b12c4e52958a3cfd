package core

import (
	"fmt"

	"gbroker/grid"
)

// submitGroup makes all jobs and the group in one step, or nothing; or the group and its template.
func (c *home) submitGroup(e SubmitGroup) {
	if done := c.knownGroup(e); done {
		return
	}
	if err := c.mayMake(e); err != nil {
		c.emit(Answer{Token: e.Token, Err: err})
		return
	}
	g := e.Group
	g.Submitted = c.now
	if t := e.Template; t != nil {
		if len(t.Inputs) > 0 {
			g.Coming = []int{0}
		}
	} else {
		g.Jobs = len(e.Jobs)
	}
	for i := range e.Jobs {
		if len(e.Jobs[i].Inputs) > 0 {
			g.Coming = append(g.Coming, i+1)
		}
		c.makeJob(e.Jobs[i], "", e.Anyway)
	}
	c.groups.made(g, e.Template)
	c.answerGroup(e.Token, g.ID, false)
}

// admitGroup refuses a group that is too large, or one too many.
func (c *home) admitGroup(e *SubmitGroup) error {
	g, l := &e.Group, c.cfg.User
	most, n := atMost(grid.MaxGroup, l.GroupJobs), len(e.Jobs)
	if e.Template != nil {
		most, n = atMost(grid.MaxSweep, l.SweepJobs), g.Jobs
	}
	if n < 1 || n > most {
		return fmt.Errorf("%w: such a group has 1 to %d jobs at this site, and this one has %d: hand them in as several groups", grid.ErrInvalid, most, n)
	}
	if have := c.groups.unended(g.User.Name); l.Groups > 0 && have >= l.Groups {
		return fmt.Errorf("%w: the limit `groups` of this site allows each user %d groups that have not ended; %s has %d: wait until some have ended, or cancel some. "+
			"Its administrator sets `limits` in gbroker.yaml", grid.ErrNotYet, l.Groups, g.User.Name, have)
	}
	if t := e.Template; t != nil {
		return c.within(g.User.Name, usage{documents: t.Size(), bytes: t.Inputs.Size()}, "this sweep is", "make it smaller")
	}
	return c.admit(e.Jobs)
}

func atMost(most, limit int) int {
	if limit > 0 {
		return min(most, limit)
	}
	return most
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
	if g := c.groups.all[id]; !g.rec.Removed && (g.rec.Template != e.Group.Template || !g.rec.Made() && !c.sameJobs(g, e.Jobs)) {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the key is that of the group %s, which other documents, or the same with other arguments, asked for: 'gclient status %s' shows it; only for other jobs use another key", grid.ErrInvalid, id, id)})
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
		if j == nil || j.rec.Removed {
			continue
		}
		if known := j.handedIn(c.whole(j)); !alike(&known, &jobs[i]) {
			return false
		}
	}
	return true
}

func (c *home) mayMake(e SubmitGroup) error {
	if err := c.admitGroup(&e); err != nil {
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
	for n := 0; n < g.rec.Jobs && !g.rec.Made(); n++ {
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
	case g.open():
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: %d of the %d jobs of the group %s have not ended; cancel it first", grid.ErrNotYet, g.rec.Jobs-g.rec.Ends.Sum(), g.rec.Jobs, e.Group)})
	default:
		record := g.rec
		c.groups.remove(g)
		c.emit(Answer{Token: e.Token, Group: record})
	}
}

// templateUploaded makes the list of the files of a template final. Asked again it answers the same.
func (c *home) templateUploaded(e Uploaded) bool {
	name, is := e.Job.TemplateOf()
	g := c.groups.all[name]
	if !is || g == nil {
		return false
	}
	if g.template != nil && len(g.rec.Coming) > 0 {
		t := *g.template
		t.Inputs = e.Inputs
		g.template = &t
		c.emit(Save{grid.Saved(&t)})
		c.groups.arrived(e.Job)
	}
	c.emit(Answer{Token: e.Token, Group: g.rec, Record: g.rec.Outline(0, grid.Result{})})
	return true
}
