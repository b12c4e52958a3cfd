package core

import (
	"fmt"

	"gbroker/grid"
)

// Damaged control files. The start token and the files beside it say whether an attempt has
// started and how it has ended; what was deleted or torn of them does not mend by itself, and
// the job must have an end all the same. So when they have been damaged for patience, long
// enough to put a folder back, the job goes by what the batch system proves without them:
//
//	it shows the attempt waiting       Withdraw, and Kill where that cannot be decided
//	it shows it running                RUNNING, until its end is seen, or it is cancelled, or the token is back and says that it never starts
//	nothing of it runs or will: Ended  FAILED; KILLED where that was wanted; rerunnable: again
//	it knows nothing of it             LOST: it may still run
//
// While the batch system does not answer nothing is decided. An administrator who knows more
// says so by `gbroker job end`; see end.go.

// patience is how long control files must have been damaged.
const patience = 5 * grid.Minute

// damaged takes word of the present attempt of a job whose control files cannot be believed:
// what is known of it without them.
func (c *execution) damaged(j *job, p grid.Progress, why string) {
	if j.damaged == 0 {
		j.damaged = c.now
		j.rec.Reason = "its control files are damaged: " + clip(why)
		c.save(j, j.rec.Reason)
	}
	c.arm(j, onBatch, c.cfg.Refresh)
	if c.now-j.damaged < patience {
		return
	}
	switch p.Phase {
	case grid.Waiting:
		c.withdraw(j)
		c.emit(Kill{c.attempt(j)})
	case grid.Started:
		c.runsUnseen(j)
	case grid.Ended:
		c.provenDead(j, p)
	case grid.Unknown, grid.Withdrawn:
		c.lose(j, "its control files are damaged, and the batch system does not know it")
	}
}

// mended: the control files can be believed again.
func (c *execution) mended(j *job) {
	if j.damaged != 0 {
		j.damaged = 0
		j.rec.Reason = ""
		c.save(j, "its control files can be read again")
	}
}

// runsUnseen: that it runs is known, but not since when.
func (c *execution) runsUnseen(j *job) {
	if j.rec.State == grid.Running {
		return
	}
	c.ownership.abandon(j, "it has started")
	c.become(j, grid.Running)
	j.rec.Started = c.now
	c.save(j, "it runs, as far as is known without its control files")
	if j.rec.CancelRequested || j.isSuperseded() && !j.givenUp() {
		c.emit(Kill{c.attempt(j)})
	}
}

// provenDead: nothing of the attempt runs, nor ever will.
func (c *execution) provenDead(j *job, p grid.Progress) {
	c.runsUnseen(j)
	if j.rec.CancelRequested && p.Cause != grid.ByWalltime {
		p.Cause = grid.ByRequest
	}
	p.Finished = max(p.Finished, j.rec.Started)
	j.damaged = 0
	c.finished(j, p)
}

// lose gives up a job that this site owns and of which nothing is known.
func (c *execution) lose(j *job, why string) {
	if j.rec.Attempt > 0 {
		c.emit(Kill{c.attempt(j)}) // should it be there after all
	}
	c.ownership.abandon(j, why)
	j.awaits = false
	c.end(j, grid.Lost, why+": it may still run")
}

// untaken is for an attempt that was to be withdrawn, and whose token nobody can take.
func (c *execution) untaken(j *job, why string) {
	c.note(j.rec.Job.ID, "", "withdrawing "+c.attempt(j).String()+": "+why)
	c.home.refuseClaim(j)
	if j.rec.Handoff.Phase == grid.Withdrawing {
		c.ownership.abandon(j, "its control files are damaged")
		c.become(j, grid.Assigned)
		c.save(j, "stays: its control files are damaged")
	}
	if j.rec.CancelRequested || j.isSuperseded() && !j.givenUp() {
		c.emit(Kill{c.attempt(j)})
	}
	if j.damaged == 0 {
		c.emit(Probe{c.attempt(j)})
		return
	}
	c.arm(j, onBatch, c.cfg.Refresh)
}

// unreadable: the control directory of a job that this life found in its journal cannot say
// which attempts there were.
func (c *execution) unreadable(j *job) {
	switch {
	case j.rec.Role == grid.Prepared && j.damaged == 0:
		j.damaged = c.now
	case j.rec.Role == grid.Prepared && c.now-j.damaged >= patience: // it may have been owned: its home hears that it has left a trace
		c.traces[j.rec.Job.ID] = j.rec.Handoff.Epoch
		j.reconciled, j.damaged = true, 0
	case j.rec.Role != grid.Owning || j.rec.State == grid.Assigned || j.rec.State == grid.Running:
		return // nothing is started for it, or its attempt is asked after
	case j.damaged == 0:
		j.damaged = c.now
		j.rec.Reason = "its control directory cannot be read"
		c.save(j, j.rec.Reason)
	case c.now-j.damaged >= patience:
		c.lose(j, fmt.Sprintf("its control directory could not be read for %.0f s, so that nobody knows whether it has run", (c.now-j.damaged).Seconds()))
	}
}
