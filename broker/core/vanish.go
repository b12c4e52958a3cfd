package core

import (
	"cmp"
	"fmt"

	"gbroker/grid"
)

// An attempt that the batch system does not show any more. A listing cannot say what
// became of it: it may be hidden for a while, deleted by an operator, or lost. It
// counts as vanished only after goodListings in a row that lack it and a grace
// time, which is in the record; then the start token decides:
//
//	waiting ─ vanished ─► Withdraw ─ never starts ─► submitted anew
//	                          └ had started ─► RUNNING, unseen ─ vanished ─► FAILED; rerunnable: again

// goodListings is how many good answers in a row must lack an attempt.
const goodListings = 3

// maxAttempts bounds how often a rerunnable job is started again by one owner.
const maxAttempts = 20

// seenAttempt: the batch system, or the control files, know the attempt.
func (c *execution) seenAttempt(j *job) {
	j.misses = 0
	if j.rec.Missing != 0 {
		j.rec.Missing = 0
		c.save(j, "")
	}
}

// unseenAttempt: neither the batch system nor the control files know the attempt
// to wait, run or have ended.
func (c *execution) unseenAttempt(j *job, phase grid.Phase) {
	waits := j.rec.State == grid.Assigned
	switch {
	case waits && (phase == grid.Withdrawn || j.rec.Local == ""):
		why := "the batch system does not know it"
		if phase == grid.Withdrawn {
			why = "its attempt is withdrawn"
		}
		if j.reasoned(cmp.Or(j.rec.Reason, why)) { // what was found first stays
			c.show(j)
		}
		c.withdraw(j)
	case phase == grid.Withdrawn && j.rec.State == grid.Running: // by the batch system alone it was taken to run; see damaged.go
		c.emit(Kill{c.attempt(j)})
		c.provenDead(j, grid.Progress{ID: c.attempt(j), Phase: grid.Ended, Cause: grid.Disappeared, Finished: c.now, Detail: "it was taken to run, and its start token says that it never does"})
	case phase == grid.Withdrawn || !waits && j.rec.State != grid.Running:
	case !c.vanished(j):
		c.arm(j, onBatch, c.cfg.Refresh)
	case waits:
		j.rec.Reason = fmt.Sprintf("the batch system has not shown it for %.0f s", (c.now - j.rec.Missing).Seconds())
		c.show(j)
		c.withdraw(j)
	default:
		c.emit(Kill{c.attempt(j)}) // if it is only hidden, it does not outlive its end
		why := fmt.Sprintf("it had started, and nothing was heard of it for %.0f s", (c.now - j.rec.Missing).Seconds())
		if !c.again(j, why) {
			c.end(j, grid.Failed, why)
		}
	}
}

// vanished counts one good listing that lacks the attempt.
func (c *execution) vanished(j *job) bool {
	j.misses++
	if j.rec.Missing == 0 {
		j.rec.Missing = c.now
		c.save(j, "the batch system does not show it")
	}
	return j.misses >= goodListings && c.now-j.rec.Missing >= c.cfg.Grace
}

// startedUnseen: the token says that a vanished attempt has started. It may be a
// listing that hides it: the same patience again.
func (c *execution) startedUnseen(j *job) {
	c.become(j, grid.Running)
	j.rec.Started = c.now
	j.rec.Missing, j.misses = 0, 0
	c.save(j, "started, and the batch system does not show it")
	c.emit(Probe{c.attempt(j)})
	c.arm(j, onBatch, c.cfg.Refresh)
	if j.rec.CancelRequested {
		c.emit(Kill{c.attempt(j)})
	}
}

// again starts a rerunnable job a second time here, after an attempt was lost.
func (c *execution) again(j *job, why string) bool {
	if !j.rec.Job.Rerunnable || j.rec.CancelRequested || j.rec.Attempt >= maxAttempts {
		return false
	}
	c.become(j, grid.Ready)
	j.rec.Run, j.worn = grid.Run{Attempt: j.rec.Attempt}, true // it may wait, and be handed on, before it is launched
	j.rec.Reason = why
	j.rec.Uncertain = j.rec.Uncertain || c.gates.beforeRunningAgain(j) != open
	c.save(j, "to be started again: "+why)
	c.launch(j, "submitted again: "+why)
	return true
}
