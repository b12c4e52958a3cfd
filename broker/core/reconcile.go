package core

import (
	"slices"

	"gbroker/grid"
)

// What the control directories know. A journal may be older than what was done by it: it
// was restored from a backup, and perhaps nobody has seen how far it had come. So after
// each start, before a job that was in the journal is submitted, handed on or told to be
// cancelled, its control directory and the batch system are asked for the last attempt:
//
//	Boot ─► Reconcile ─► none that the journal lacks ─► as the journal says
//	                  └► a later one ─► the journal was rolled back; that attempt is asked after
//
// The directory may have been put back too, so that it does not say that the attempt of the journal was withdrawn: where
// that waits, its token is asked for first. If it never starts, the later one counts; if it has started, it is the one:
// nothing of what was submitted after it stands in that directory, and so does not start.
//
// Of a duplicate that ran beside this life, and had the same directories, they tell too: they are read anew when its
// administrator says that there was one.
//
// What is submitted is written down in the directory first (pbs/control), and no number is
// used before the one before it is withdrawn: behind the last one that is written down
// there is none. An attempt of a later epoch shows that this site owned the job at that
// epoch, as only an owner submits. Directories of jobs without a record, or that are done with here, are
// read too: see traces.go.

// reconcile asks for the jobs that something may still be done with here.
func (c *recovery) reconcile() {
	if c.reconciling {
		return
	}
	var ids []grid.JobID
	for _, j := range c.sorted() {
		if j.recovered && !j.reconciled && c.mayLack(j) {
			ids = append(ids, j.rec.Job.ID)
		}
	}
	if len(ids) > 0 || !c.traced {
		c.reconciling = true
		c.emit(Reconcile{ids})
	}
}

// reconcileAnew: what the directories have told is of before another wrote there, also of jobs that have come in this life.
func (c *recovery) reconcileAnew() {
	c.traced, c.anew = false, c.reconciling
	for _, j := range c.sorted() {
		if c.mayLack(j) {
			j.recovered, j.reconciled = true, false
		}
	}
	c.reconcile()
}

// mayLack: there may be attempts of the job here that the journal does not have.
func (c *recovery) mayLack(j *job) bool {
	switch j.rec.Role {
	case grid.Owning:
		return j.rec.State != grid.Finished && j.rec.State != grid.StageOut && !j.rec.State.Terminal()
	case grid.Watching:
		return !j.rec.State.Terminal()
	case grid.Tombstone:
		return j.rec.Handoff.Phase == grid.Committed
	}
	return j.rec.Role == grid.Prepared
}

// unreconciled: the control directory of a job that this life found in its journal has not spoken.
func (j *job) unreconciled() bool { return j.recovered && !j.reconciled }

// reconciled compares what there is with the records.
func (c *recovery) reconciled(e Reconciled) {
	c.reconciling = false
	if c.anew {
		c.anew = false
		c.reconcile()
		return
	}
	c.trace(e.Attempts)
	c.trace(e.Aside)
	if e.All && !c.traced {
		c.traced = true
		c.discardAgain()
	}
	last := map[grid.JobID]grid.AttemptID{}
	for _, a := range e.Attempts {
		if l, known := last[a.Job]; !known || l.Epoch.Before(a.Epoch) || l.Epoch == a.Epoch && l.Attempt < a.Attempt {
			last[a.Job] = a
		}
	}
	c.ownParts(last)
	for _, id := range e.Damaged {
		if j := c.jobs[id]; j != nil && !j.reconciled {
			c.execution.unreadable(j)
		}
	}
	for _, id := range e.Jobs {
		j := c.job(id)
		if j == nil || j.reconciled {
			continue
		}
		j.later = grid.AttemptID{}
		if a, any := last[id]; any && c.mayLack(j) && j.lacksAttempt(a) {
			c.rolledBack("its own control directories tell of attempts that it lacks", grid.JournalID{})
			if j.rec.Role == grid.Owning && j.rec.State == grid.Assigned && j.rec.Attempt > 0 {
				j.later = a
				c.execution.withdraw(j)
				continue
			}
			c.behind(j, a)
		}
		j.reconciled = true
		c.ownership.declineRemoved(j)
		if j.rec.Role == grid.Owning && j.rec.State == grid.Ready {
			c.ownership.handoffDue(j)
		}
	}
	if !c.traced || slices.ContainsFunc(c.sorted(), func(j *job) bool { return j.unreconciled() && c.mayLack(j) }) {
		c.armGeneral(reconcileDue, c.cfg.Refresh) // some could not be read
	}
}

// lacksAttempt: the journal was written before an attempt that was made here. Where the result of another was adopted the epoch has stayed, and what was made
// here at it was withdrawn before.
func (j *job) lacksAttempt(a grid.AttemptID) bool {
	r := &j.rec
	switch {
	case r.Epoch != a.Epoch:
		return r.Epoch.Before(a.Epoch)
	case r.Role == grid.Watching && r.Adopted != (grid.Epoch{}):
		return false
	}
	return r.Attempt < a.Attempt
}

// behind: this site has submitted an attempt that its journal lacks.
func (c *recovery) behind(j *job, a grid.AttemptID) {
	j.reconciled, j.later = true, grid.AttemptID{}
	if j.rec.Epoch.Before(a.Epoch) {
		c.ownedAt(j, a.Epoch)
	}
	c.ownership.abandon(j, "the journal was rolled back")
	j.rec.Run = grid.Run{Attempt: a.Attempt}
	c.begins(j, grid.Assigned)
	j.awaits = false
	c.disarm(j, onHandoff)
	c.save(j, "submitted before the journal was rolled back")
	c.emit(Probe{c.attempt(j)})
	c.arm(j, onBatch, c.cfg.Refresh)
}

// ownedAt: this site has owned the job at an epoch that its journal lacks, and does as far
// as anybody has said.
func (c *recovery) ownedAt(j *job, epoch grid.Epoch) {
	c.ownership.abandon(j, "the journal was rolled back")
	c.rest(j)
	r := &j.rec
	was := r.Tenure
	c.ownsAt(j, epoch)
	r.Report, j.since = c.branchReport(0), c.branchReport(0)+1 // the branch that is lost has used numbers at this epoch too
	c.enter(j, grid.NoHandoff)
	r.Handoff.To, r.Handoff.Epoch, r.Uncertain = "", epoch, was.Uncertain
	if epoch.Before(was.Superseded) {
		r.Superseded = was.Superseded // by a later one than this
	}
	c.waitsAgain(j)
	if c.isHome(j) {
		r.Certificates, r.Uncertain = nil, true
		r.Fenced = nil // who may have got it since is heard
	}
	j.homeHeard = 0
	if r.CancelRequested {
		c.backoff(j, onCancelling)
	}
}
