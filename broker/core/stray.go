package core

import "gbroker/grid"

// Strays are attempts that the batch system holds and that no live record has: left
// behind by a crash, a lost journal, or a submission that took effect late. One of
// a record that says it must not run goes at once; one of a job that is not known
// here, or has ended, only when it was seen strayLooks times, which are minutes apart. What has ended leaves
// by itself when its turn comes, but for what waits for a reservation that is gone.

const strayLooks = 2

// maxStrays bounds what is remembered of them.
const maxStrays = 10_000

func (c *execution) strayed(e Attempts) {
	hold := c.gates.beforeStrays()
	seen := map[grid.AttemptID]int{}
	for _, id := range e.IDs {
		j := c.current(id)
		if j != nil && !j.over() || hold != open && !c.isTold(id.Job) || len(seen) >= maxStrays {
			continue
		}
		seen[id] = c.strays[id] + 1
		if j == nil && c.peek(id.Job) != nil || seen[id] >= strayLooks {
			c.note(id.Job, "", "removing "+id.String()+" from the batch system: no job here has that attempt")
			c.emit(Withdraw{id})
		}
	}
	c.strays = seen
}

// isTold: the end of a job is told, which no lost branch of this journal can unsay; but LOST, of what may run still.
func (c *execution) isTold(id grid.JobID) bool {
	j := c.peek(id)
	return j != nil && j.rec.State.Terminal() && j.rec.State != grid.Lost
}

// over reports that nothing of a job is to run any more: its end is known, and perhaps not yet told.
func (j *job) over() bool { return j.rec.End != 0 || j.rec.State.Terminal() }

// hasStray reports that the batch system holds an attempt of a job.
func (c *execution) hasStray(id grid.JobID) bool {
	for at := range c.strays {
		if at.Job == id {
			return true
		}
	}
	return false
}

// strayWithdrawn: a stray that has started is ended, and one whose token nobody can take.
func (c *execution) strayWithdrawn(e Withdrawn) {
	if c.strays[e.ID] > 0 && (e.Err == nil || e.Damaged) && !e.Done {
		c.emit(Kill{e.ID})
	}
}

// isGone tells that nothing here needs the files of a job.
func (c *execution) isGone(id grid.JobID) (known, gone bool) {
	if j := c.jobs[id]; j != nil {
		return true, j.gone()
	}
	p, known := c.archive[id]
	if !known {
		return false, false
	}
	r := p.outline(id)
	return true, isGone(&r)
}

// sweep drops folders that nothing needs: what a crash left behind between the save
// of an end and its Discard. One that is being accepted is needed. A journal that was
// rolled back does not know what is needed, and start tokens lie there; nor does one that has
// a duplicate. So what no record is of is put aside only when it is seen strayLooks times, which are
// minutes apart, and when the batch system has nothing of it: perhaps this journal was put back,
// and nobody could say so.
func (c *execution) sweep(e Folders) {
	if c.gates.beforeSweep() != open {
		return
	}
	seen := map[grid.JobID]int{}
	for _, id := range e.Jobs {
		known, gone := c.isGone(id)
		if c.groups.keeps(id) {
			continue
		}
		if !known && c.accepted[id] == nil && len(seen) < maxStrays {
			seen[id] = c.orphans[id] + 1
		}
		switch {
		case c.accepted[id] != nil || known && !gone:
		case known:
			c.note(id, "", "removing the folder of a job that is not here")
			c.discard(id)
		case seen[id] >= strayLooks && !c.hasStray(id):
			c.emit(SetAside{Job: id, Foreign: id.Site() != c.cfg.Site.Name})
		}
	}
	c.orphans = seen
}
