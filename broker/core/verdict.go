package core

import (
	"cmp"
	"fmt"
	"slices"

	"gbroker/grid"
)

// verdict is what is to be said of a dependency now.
type verdict uint8

const (
	notYet verdict = iota
	isMet
	isNever
)

// judgement is a verdict, and why one can never come true.
type judgement struct {
	verdict
	why string
}

// verdict says what is known of a dependency now. Many jobs may wait for one group of many.
func (c *terms) verdict(j *job, d grid.Dependency) (verdict, string) {
	switch d.Kind {
	case grid.Singleton:
		return c.alone(j), ""
	case grid.AfterCorr:
		return c.judge(j, d)
	}
	s, known := c.said[d]
	if !known {
		s.verdict, s.why = c.judge(j, d)
		c.said[d] = s
	}
	return s.verdict, s.why
}

func (c *terms) judge(j *job, d grid.Dependency) (verdict, string) {
	ends, ended, begun := c.othersOf(j, d)
	well := !slices.ContainsFunc(ends, func(e outcomeOf) bool { return !e.well })
	switch d.Kind {
	case grid.After:
		if begun {
			return isMet, ""
		}
		return notYet, ""
	case grid.AfterAny:
		if ended {
			return isMet, ""
		}
		return notYet, ""
	case grid.AfterNotOK:
		switch {
		case !ended:
			return notYet, ""
		case well:
			return isNever, fmt.Sprintf("its dependency can never come true: afternotok %s, which has ended well", d.On)
		}
		return isMet, ""
	}
	switch { // afterok, aftercorr
	case !well:
		k := slices.IndexFunc(ends, func(e outcomeOf) bool { return !e.well })
		return isNever, fmt.Sprintf("its dependency can never come true: %s %s: job %s %s", d.Kind, d.On, ends[k].id, ends[k].how)
	case ended:
		return isMet, ""
	}
	return notYet, ""
}

// outcomeOf is how one job has ended.
type outcomeOf struct {
	id   grid.JobID
	well bool
	how  string
}

// othersOf are the ends so far of the jobs that a dependency is about, whether all have ended, and
// whether all have at least begun.
func (c *terms) othersOf(j *job, d grid.Dependency) (ends []outcomeOf, ended, begun bool) {
	ids := []grid.JobID{grid.JobID(d.On)}
	if id, err := grid.ParseGroupID(d.On); err == nil {
		_, n := j.rec.Job.ID.Group()
		g := c.groups.all[id]
		switch {
		case d.Kind == grid.AfterCorr:
			ids = []grid.JobID{id.Job(n)}
		case g == nil: // kept long enough, and dropped
			return []outcomeOf{{grid.JobID(id), false, "is not known any more"}}, true, true
		case g.open() && g.rec.Entered < g.rec.Jobs: // not all are made, and there may be many
			return nil, false, false
		default:
			ids = ids[:0]
			for k := range g.rec.Jobs {
				ids = append(ids, id.Job(k+1))
			}
		}
	}
	ended, begun = true, true
	for _, id := range ids {
		of, waits := c.groups.result(id)
		k := c.peek(id)
		switch {
		case of.State != 0:
			ends = append(ends, outcomeOf{id, of.State == grid.Completed && of.ExitCode == 0, howEnded(of.State, of.ExitCode)})
		case waits && k == nil:
			ended, begun = false, false // its turn in its group has not come
		case k == nil:
			ends = append(ends, outcomeOf{id, false, "is not known any more"})
		case k.rec.State.Terminal():
			ends = append(ends, outcomeOf{id, k.rec.State == grid.Completed && k.rec.ExitCode == 0, howEnded(k.rec.State, k.rec.ExitCode)})
		default:
			ended = false
			begun = begun && (k.rec.State >= grid.Running || k.rec.Started > 0)
		}
	}
	return ends, ended, begun
}

func howEnded(state grid.State, code int) string {
	if state == grid.Completed && code != 0 {
		return "has ended with a status that is not 0"
	}
	return "has ended " + state.String()
}

// alone tells whether no earlier job of the same user and name is left.
func (c *terms) alone(j *job) verdict {
	for id := range c.named[nameKey(j)] {
		if k := c.jobs[id]; k != nil && k != j && !k.rec.State.Terminal() && earlier(k, j) {
			return notYet
		}
	}
	return isMet
}

// earlier is an order of all jobs of a home: by when they were handed in, then by number.
func earlier(a, b *job) bool {
	if d := cmp.Compare(a.rec.Submitted, b.rec.Submitted); d != 0 {
		return d < 0
	}
	g, m := a.rec.Job.ID.Group()
	if h, n := b.rec.Job.ID.Group(); g == h && m != n {
		return m < n
	}
	return a.rec.Job.ID < b.rec.Job.ID
}
