package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gbroker/grid"
)

// Dependencies. A job waits at its home until each of them has come true; then it is taken out of
// its terms, durably, so that what it was about may be removed. Jobs depend on jobs and groups of the
// same home and user that were there before them, so there are no cycles:
//
//	kind         of a job                             of a group
//	after        has started, or has ended            all have
//	afterany     has ended                            all have
//	afterok      has ended COMPLETED, exit status 0   all have
//	afternotok   has ended otherwise                  all have ended, one of them so
//	aftercorr                                         afterok, of its job of the same number
//	singleton    no earlier job of the same user and name is left
//
// One that can never come true ends the job: FAILED, with that as the reason; so what depends on it
// goes on, as afternotok, or ends likewise. Nothing waits for ever.
//
//	a job is saved that has started or ended, a group that has ended ─► stirred ─► at the end of the
//	step all that wait for it are weighed ─► the search, or the end ─► stirred ...

// waitsFor is for people.
func waitsFor(list []grid.Dependency) string {
	d := list[0]
	text := "it waits for " + strings.TrimSpace(string(d.Kind)+" "+d.On)
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// await has the job looked at now, and whenever something moves that it waits for.
func (c *terms) await(j *job) {
	id := j.rec.Job.ID
	for _, d := range j.rec.Job.Terms.After {
		key := c.keyOf(j, d)
		if c.awaited[key] == nil {
			c.awaited[key] = map[grid.JobID]bool{}
		}
		c.awaited[key][id] = true
	}
	if len(j.rec.Job.Terms.After) > 0 {
		c.weighed = append(c.weighed, id)
	}
}

// keyOf is by what a dependency is found when something moves.
func (c *terms) keyOf(j *job, d grid.Dependency) string {
	switch d.Kind {
	case grid.Singleton:
		return nameKey(j)
	case grid.AfterCorr:
		_, n := j.rec.Job.ID.Group()
		return string(grid.GroupID(d.On).Job(n))
	}
	return d.On
}

// nameKey is no identifier.
func nameKey(j *job) string { return keyOfName(&j.rec.Job) }

func keyOfName(j *grid.Job) string { return j.User.Name + "\x00" + j.Name }

// handedIn is when a new job was handed in: now, and after all others of its name, also where the clock
// was set back. Singletons go by that order: a job that depends on one could be before it else, and both
// would wait for ever.
func (c *terms) handedIn(of *grid.Job) grid.Tick {
	if last := c.newest[keyOfName(of)]; last > c.now {
		return last + 1
	}
	return c.now
}

// noteMoved: a job of this home is saved. Those are stirred that wait for what it has done.
func (c *terms) noteMoved(j *job) {
	r := &j.rec
	if ended := r.State.Terminal(); r.Job.Name != "" && !r.Removed {
		key := nameKey(j)
		if ended && c.named[key][r.Job.ID] {
			c.stir(key)
			if delete(c.named[key], r.Job.ID); len(c.named[key]) == 0 {
				delete(c.named, key)
				delete(c.newest, key)
			}
		} else if !ended {
			if c.named[key] == nil {
				c.named[key] = map[grid.JobID]bool{}
			}
			c.named[key][r.Job.ID] = true
			c.newest[key] = max(c.newest[key], r.Submitted)
		}
	}
	if r.State < grid.Running {
		return
	}
	clear(c.said)
	c.stir(string(r.Job.ID))
	if g, n := r.Job.ID.Group(); n > 0 {
		c.stir(string(g))
	}
}

func (c *terms) stir(key string) {
	if len(c.awaited[key]) > 0 && !slices.Contains(c.stirred, key) {
		c.stirred = append(c.stirred, key)
	}
}

// groupEnded: all jobs of a group have.
func (c *terms) groupEnded(id grid.GroupID) {
	clear(c.said)
	c.stir(string(id))
}

// settleDependencies weighs the jobs that wait for what has moved in this step, and so on.
func (c *terms) settleDependencies() {
	for _, id := range slices.Sorted(maps.Keys(c.vain)) { // in each step: time alone may open that gate
		if j := c.jobs[id]; j == nil || c.gates.beforeFailing(j) == open {
			delete(c.vain, id)
			c.weighed = append(c.weighed, id)
		}
	}
	if len(c.stirred)+len(c.weighed) == 0 {
		return
	}
	c.said = map[grid.Dependency]judgement{}
	for len(c.stirred)+len(c.weighed) > 0 {
		list := c.weighed
		for _, key := range c.stirred {
			list = append(list, slices.Sorted(maps.Keys(c.awaited[key]))...)
		}
		c.stirred, c.weighed = nil, nil
		for _, id := range list {
			if j := c.jobs[id]; j != nil {
				c.weigh(j)
			}
		}
	}
}

// weigh looks at what a job still waits for.
func (c *terms) weigh(j *job) {
	r := &j.rec
	var left, met []grid.Dependency
	for _, d := range r.Job.Terms.After {
		v, why := c.verdict(j, d)
		v = c.gates.beforeDepending(v)
		switch {
		case r.State.Terminal():
			c.forgetWait(j, d)
		case v == isNever && r.Role == grid.Owning && r.State < grid.Running && !r.CancelRequested:
			if c.gates.beforeFailing(j) == open {
				c.fail(j, why)
				return
			}
			c.vain[r.Job.ID] = true
			left = append(left, d)
		case v == isMet:
			met = append(met, d)
		default:
			left = append(left, d)
		}
	}
	if r.State.Terminal() || len(met) == 0 {
		return
	}
	for _, d := range met {
		c.forgetWait(j, d)
	}
	t := r.Job.Terms
	t.After = left
	r.Job.Terms = t
	c.save(j, "come true: "+listOf(met))
	c.due(j)
}

// fail ends a job one of whose dependencies can never come true.
func (c *terms) fail(j *job, why string) {
	for _, d := range j.rec.Job.Terms.After {
		c.forgetWait(j, d)
	}
	c.execution.end(j, grid.Failed, why)
}

func (c *terms) forgetWait(j *job, d grid.Dependency) {
	key := c.keyOf(j, d)
	if delete(c.awaited[key], j.rec.Job.ID); len(c.awaited[key]) == 0 {
		delete(c.awaited, key)
	}
}

func listOf(list []grid.Dependency) string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = strings.TrimSpace(string(d.Kind) + " " + d.On)
	}
	return strings.Join(texts, ", ")
}

// admitTerms refuses a job that waits for what is not known here, or for what has passed. One of a sweep was admitted before its turn
// came: it ends by its deadline, as all do that have waited too long.
func (c *terms) admitTerms(j *grid.Job) error {
	t := &j.Terms
	if t.Deadline != 0 && t.Deadline <= c.now && !c.groups.shares(j.ID) {
		return fmt.Errorf("%w: the deadline %s has passed", grid.ErrInvalid, t.Deadline.Stamp())
	}
	for _, d := range t.After {
		if err := c.unknownTo(j, d); err != nil {
			return fmt.Errorf("%w: the dependency %s: %w", grid.ErrInvalid, strings.TrimSpace(string(d.Kind)+" "+d.On), err)
		}
	}
	return nil
}

// unknownTo says why a job cannot wait for that; nil where it can.
func (c *terms) unknownTo(j *grid.Job, d grid.Dependency) error {
	if d.Kind == grid.Singleton {
		if j.Name == "" {
			return errors.New("a job without a name has no namesakes: name it")
		}
		return nil
	}
	if site := grid.JobID(d.On).Site(); site != c.cfg.Site.Name {
		return fmt.Errorf("a job waits for jobs of its own home alone, and the home of that one is %s: hand this one in there", site)
	}
	made := c.groups.shares(j.ID) // when its sweep was handed in it was there: a tombstone tells how it has ended
	of, group := grid.User{}, grid.GroupID("")
	if id, err := grid.ParseGroupID(d.On); err == nil {
		g := c.groups.all[id]
		if g == nil || g.rec.Removed && !made {
			return errors.New("this group is not known here, or was removed")
		}
		of, group = g.rec.User, id
		if _, n := j.ID.Group(); d.Kind == grid.AfterCorr && (n == 0 || n > g.rec.Jobs) {
			return fmt.Errorf("that group has the jobs 1 to %d, and this is job %d of a group (0 is of none)", g.rec.Jobs, n)
		}
	} else {
		k := c.job(grid.JobID(d.On))
		if k == nil || k.rec.Removed && !made || !c.isHome(k) {
			return errors.New("this job is not known here, or was removed")
		}
		of = k.rec.Job.User
	}
	switch {
	case of != j.User:
		return errors.New("it belongs to another user")
	case d.Kind == grid.AfterCorr && group == "":
		return errors.New("aftercorr is of a group: write its identifier, which ends with .all")
	}
	return nil
}
