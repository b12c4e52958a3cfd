package core

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// recover asks the world, job by job, what became of what this site may have asked
// for before it stopped. Nothing is done twice: attempts have numbers, offers epochs.
func (c *recovery) recover() {
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
	c.groups.recover(c.cfg.Unwritten)
	c.cfg.Unwritten = nil
	c.wholes.recover(c.sorted())
	c.terms.recover()
	c.witnessed()
	c.reconcile()
	c.armGeneral(refreshDue, c.cfg.Refresh)
	c.armGeneral(passDue, c.cfg.Settle)
	c.armGeneral(growthDue, c.cfg.Digest)
	if c.cfg.Tell > 0 {
		c.armGeneral(startsDue, c.cfg.Tell)
	}
	c.estimator.judge()
	c.armGeneral(retentionDue, grid.Minute)
}

func (c *recovery) recoverJob(j *job) {
	j.heard, j.began, j.recovered = c.now, c.now, true
	j.worn = true // of attempts before the last one nothing is known any more, also where it has been elsewhere since, and has none
	// The wall clock of an earlier life may have been ahead: what is counted from then, is from now.
	j.rec.Missing, j.rec.HopsAt = min(j.rec.Missing, c.now), min(j.rec.HopsAt, c.now)
	if c.again(j) {
		c.awaitSuccessors(j, j.lastHad())
	}
	switch j.rec.Role {
	case grid.Owning:
		c.recoverOwned(j)
	case grid.Watching:
		if j.rec.State.Terminal() {
			return
		}
		if j.rec.Handoff.Phase == grid.Committed {
			c.ownership.sendCommit(j)
		}
		c.home.pull(j)
		c.home.pursueCancel(j)
	case grid.Tombstone:
		if j.rec.Handoff.Phase == grid.Committed {
			c.ownership.sendCommit(j)
		}
		c.ownership.tellMoved(j)
	case grid.Prepared:
		c.ownership.preparedDue(j)
		c.ownership.declineRemoved(j)
	}
}

// again: a job of this home that may run once is to start at a term that was raised, and has not since; or any other has its term raised, and
// may be cancelled. Who may have got it before was not heard, as far as this life knows.
func (c *recovery) again(j *job) bool {
	r := &j.rec
	if !c.isHome(j) || r.Job.Part != nil || r.Epoch.Term <= 1 || r.State.Terminal() {
		return false
	}
	return r.Job.Rerunnable || r.Role == grid.Owning && r.State <= grid.Ready && r.Attempt == 0 && r.Epoch.Hop == 0
}

func (c *recovery) recoverOwned(j *job) {
	switch j.rec.State {
	case grid.Submitted, grid.StageIn:
		c.awaitFiles(j)
	case grid.Ready:
		switch {
		case j.isSuperseded():
			c.ownership.letGo(j)
			return
		case !j.rec.CancelRequested:
			// A part at its site has its place. The new version of a job is made when that might start: until then it may be elsewhere as it was.
			if j.awaits = j.rec.Altered != nil || j.rec.Job.Part != nil && !c.isHome(j); j.awaits {
				c.backoff(j, onHandoff)
			}
			c.search.undecide(j)
		}
	case grid.Moving:
		c.recoverMoving(j)
	case grid.Assigned, grid.Running:
		if c.wholes.has(&j.rec) {
			break
		}
		c.emit(Probe{c.attempt(j)})
		c.arm(j, onBatch, c.cfg.Refresh)
	case grid.Finished:
		c.execution.collect(j)
	}
	if j.isSuperseded() {
		c.ownership.relinquish(j)
		if j.rec.Role != grid.Owning {
			return
		}
	}
	if j.rec.CancelRequested {
		c.home.pursueCancel(j)
	}
	if !c.isHome(j) {
		// It hears of the restart, and what acknowledges an older report may be of before: it is no word on this life. Nor is what
		// acknowledges one of a part of this journal that is lost, by the same numbers.
		j.rec.Report = c.branchReport(j.rec.Report)
		c.home.awaitHome(j)
	}
}

// recoverMoving: an offer that was not committed is dead. If its attempt was being
// withdrawn, a probe says so, and there is another.
func (c *recovery) recoverMoving(j *job) {
	c.ownership.sendAbort(c.ownership.handoffID(j), "the owner was restarted")
	c.ownership.dropOffer(j, "the offer died with a restart of this broker")
}

// gone tells that a record is all that is kept of the job here.
func (j *job) gone() bool { return isGone(&j.rec) }

func isGone(r *grid.Record) bool {
	return !r.Kept && (r.Removed || r.Role == grid.Declined || r.Role == grid.Tombstone && r.Handoff.Phase == grid.NoHandoff)
}

// justEnded is how long, in truth, the Discard of an ended job may take to be done.
const justEnded = grid.Minute

// lastLife is since when something may have been left undone by the last life: shortly before
// its latest instant, or before now where the clock was set back since.
func (c *recovery) lastLife() grid.Tick { return min(c.latest, c.now) - justEnded }

// discardAgain drops what the jobs that ended here shortly before the last life did
// have left: their Discard may have died with it. What a journal that was put back takes for that may be of a run that it lacks: so
// the control directories are read before.
func (c *recovery) discardAgain() {
	since := c.lastLife()
	var list []Discard
	for j := range c.all() {
		id := j.rec.Job.ID
		kept := c.isHome(j) && j.rec.State.Terminal() && !j.rec.Removed
		if (kept && c.gates.beforeDrop(j) == open || j.gone()) && j.rec.Ended >= since {
			list = append(list, Discard{Job: id, Keep: kept})
		}
	}
	slices.SortFunc(list, func(a, b Discard) int { return cmp.Compare(a.Job, b.Job) })
	for _, d := range list {
		if d.Keep {
			c.emit(d)
		} else {
			c.discard(d.Job)
		}
	}
}
