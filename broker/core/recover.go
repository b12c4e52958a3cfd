package core

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// recover asks the world, job by job, what became of what this site may have asked
// for before it stopped. Nothing is done twice: attempts have numbers, offers epochs.
func (c *Core) recover() {
	if last := c.latest; last > 0 && c.now-last > grid.Day {
		c.ageFrom = c.now + grid.Day
	}
	for _, j := range c.jobs {
		c.heardStamp(max(j.rec.Handoff.Epoch.Hop, j.rec.Epoch.Hop), false)
		c.heardStamp(j.rec.Epoch.Term, false)
	}
	for _, p := range c.archive {
		c.heardStamp(p.hop, false)
		c.heardStamp(p.term, false)
	}
	c.recoverRollback()
	if len(c.members) > 0 {
		c.start = c.now
		c.armGeneral(startedDue, c.cfg.EstimateDeadline)
	}
	c.recallTold()
	c.tellAgain()
	for _, j := range c.sorted() {
		c.recoverJob(j)
	}
	c.witnessed()
	c.reconcile()
	c.discardAgain()
	c.armGeneral(refreshDue, c.cfg.Refresh)
	c.armGeneral(passDue, c.cfg.Settle)
	c.armGeneral(growthDue, c.cfg.Digest)
	c.judge()
	c.armGeneral(retentionDue, grid.Minute)
}

func (c *Core) recoverJob(j *job) {
	j.heard, j.began, j.recovered = c.now, c.now, true
	// The wall clock of an earlier life may have been ahead: what is counted from then, is from now.
	j.rec.Missing, j.rec.HopsAt = min(j.rec.Missing, c.now), min(j.rec.HopsAt, c.now)
	switch j.rec.Role {
	case grid.Owning:
		c.recoverOwned(j)
	case grid.Watching:
		if j.rec.State.Terminal() {
			return
		}
		if j.rec.Handoff.Phase == grid.Committed {
			c.sendCommit(j)
		}
		c.pull(j)
		c.pursueCancel(j)
	case grid.Tombstone:
		if j.rec.Handoff.Phase == grid.Committed {
			c.sendCommit(j)
		}
		c.tellMoved(j)
	case grid.Prepared:
		c.preparedDue(j)
		c.declineRemoved(j)
	}
}

func (c *Core) recoverOwned(j *job) {
	switch j.rec.State {
	case grid.Submitted, grid.StageIn:
		c.arm(j, onUpload, c.cfg.UploadLimit)
	case grid.Ready:
		switch {
		case j.isSuperseded():
			c.letGo(j)
			return
		case !j.rec.CancelRequested:
			c.undecide(j)
		}
	case grid.Moving:
		c.recoverMoving(j)
	case grid.Assigned, grid.Running:
		c.emit(Probe{c.attempt(j)})
		c.arm(j, onBatch, c.cfg.Refresh)
	case grid.Finished:
		c.collect(j)
	}
	if j.isSuperseded() {
		c.relinquish(j)
		if j.rec.Role != grid.Owning {
			return
		}
	}
	if j.rec.CancelRequested {
		c.pursueCancel(j)
	}
	c.report(j) // whatever the home had acknowledged, it hears of the restart
}

// recoverMoving: an offer that was not committed is dead. If its attempt was being
// withdrawn, a probe says so, and there is another.
func (c *Core) recoverMoving(j *job) {
	c.sendAbort(c.handoffID(j), "the owner was restarted")
	c.dropOffer(j, "the offer died with a restart of this broker")
}

// sweep drops folders that nothing needs: what a crash left behind between the save
// of an end and its Discard. One that is being accepted is needed. A journal that was
// rolled back does not know what is needed, and start tokens lie there; nor does one that has
// a duplicate. So what no record is of is put aside only when it is seen strayLooks times, which are
// minutes apart, and when the batch system has nothing of it: perhaps this journal was put back,
// and nobody could say so.
func (c *Core) sweep(e Folders) {
	if c.rolled != nil || c.starting() {
		return
	}
	seen := map[grid.JobID]int{}
	for _, id := range e.Jobs {
		j := c.peek(id)
		if j == nil && c.accepted[id] == nil && len(seen) < maxStrays {
			seen[id] = c.orphans[id] + 1
		}
		switch {
		case c.accepted[id] != nil || j != nil && !j.gone():
		case j != nil:
			c.note(id, "", "removing the folder of a job that is not here")
			c.emit(Discard{Job: id})
		case seen[id] >= strayLooks && !c.hasStray(id):
			c.emit(SetAside{Job: id, Foreign: id.Site() != c.cfg.Site.Name})
		}
	}
	c.orphans = seen
}

// gone tells that a record is all that is kept of the job here.
func (j *job) gone() bool {
	return !j.rec.Kept && (j.rec.Removed || j.rec.Role == grid.Declined || j.rec.Role == grid.Tombstone && j.rec.Handoff.Phase == grid.NoHandoff)
}

// justEnded is how long, in truth, the Discard of an ended job may take to be done.
const justEnded = grid.Minute

// discardAgain drops what the jobs that ended here shortly before the last life did
// have left: their Discard may have died with it.
func (c *Core) discardAgain() {
	last := c.latest
	var list []Discard
	for j := range c.all() {
		id := j.rec.Job.ID
		kept := c.home(j) && j.rec.State.Terminal() && !j.rec.Removed
		if (kept && j.rec.State != grid.Lost || j.gone()) && j.rec.Ended >= last-justEnded {
			list = append(list, Discard{Job: id, Keep: kept})
		}
	}
	slices.SortFunc(list, func(a, b Discard) int { return cmp.Compare(a.Job, b.Job) })
	for _, d := range list {
		c.emit(d)
	}
}
