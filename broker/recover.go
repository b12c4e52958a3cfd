package broker

import (
	"gbroker/grid"
)

// recover asks the world, job by job, what became of what this site may have asked
// for before it stopped. Nothing is done twice: attempts have numbers, offers epochs.
func (c *Core) recover() {
	for _, j := range c.sorted() {
		c.recoverJob(j)
	}
	if len(c.targets) > 0 {
		c.hold = c.now + c.cfg.AskDeadline
		c.armGeneral(holdDue, c.cfg.AskDeadline)
	}
	c.armGeneral(refreshDue, c.cfg.Refresh)
	c.armGeneral(retentionDue, grid.Minute)
}

func (c *Core) recoverJob(j *job) {
	j.heard, j.began = c.now, c.now
	switch j.rec.Standing {
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
	case grid.Past:
		if j.rec.Handoff.Phase == grid.Committed {
			c.sendCommit(j)
		}
	case grid.Prepared:
		c.preparedDue(j)
	}
}

func (c *Core) recoverOwned(j *job) {
	switch j.rec.State {
	case grid.Submitted, grid.StageIn:
		c.arm(j, onUpload, c.cfg.UploadLimit)
	case grid.Ready:
		if j.rec.CancelRequested {
			c.end(j, grid.Killed, "cancelled before it started")
			return
		}
		c.undecide(j)
	case grid.Moving:
		c.recoverMoving(j)
	case grid.Assigned, grid.Running:
		c.emit(Probe{c.attempt(j)})
		c.arm(j, onBatch, c.cfg.Refresh)
	case grid.Finished:
		c.collect(j)
	}
	if j.rec.CancelRequested {
		c.pursueCancel(j)
	}
	c.report(j) // whatever the home had acknowledged, it hears of the restart
}

// recoverMoving: an offer that was not committed is dead; a withdrawal is asked for
// again, and the token says whether it had been done.
func (c *Core) recoverMoving(j *job) {
	switch j.rec.Handoff.Phase {
	case grid.Withdrawing:
		c.withdraw(j)
		c.backoff(j, onHandoff)
	default:
		c.sendAbort(c.bond(j), "the owner was restarted")
		c.dropOffer(j, "the offer died with a restart of this broker")
	}
}

// sweep drops folders that belong to no record and to nothing that is being
// accepted: what a crash left behind.
func (c *Core) sweep(e Folders) {
	for _, id := range e.Jobs {
		if c.jobs[id] == nil && c.accepted[id] == nil {
			c.note(id, "", "removing the folder of a job that is not known")
			c.emit(Discard{Job: id})
		}
	}
}
