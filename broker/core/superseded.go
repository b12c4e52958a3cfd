package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// superseded: the home says that this site's ownership is over.
func (c *ownership) superseded(from grid.PeerID, m wire.Superseded) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || j.rec.Role != grid.Owning || j.rec.Epoch != m.Of || m.Epoch.Before(m.Of) || c.gates.beforeRelinquishing(j, m) != open {
		return
	}
	if j.rec.Superseded != m.Epoch {
		j.rec.Superseded = m.Epoch
		c.save(j, "its home has given it to another, or given it up")
	}
	switch {
	case j.rec.State != grid.StageOut:
		c.relinquish(j)
	case m.Keep:
		j.rec.Kept = true
		c.letGo(j)
	case c.gates.beforeDrop(j) != untilTaken && c.gates.beforeLettingGo(j) == open:
		c.letGo(j)
	}
	// Else it answers an older report: to a result, to the end of what may run once and has started, and to that of what nobody else has,
	// the home says Keep, or Closed when it has it.
}

// adopted: the home has acknowledged what was reported since it said so. It said so of an older report, when nothing of the
// job had started here as far as it knew, and has adopted since what may run once. So its end is
// reported as ever: to let it go would leave the home waiting for one that knows nothing.
func (c *ownership) adopted(j *job) {
	if j.isSuperseded() && !j.givenUp() && !j.rec.Job.Rerunnable && j.rec.State >= grid.Running {
		j.rec.Superseded = grid.Epoch{}
		c.save(j, "its home takes what has started here after all")
	}
}

// relinquish ends what this site still has of a superseded job.
func (c *ownership) relinquish(j *job) {
	switch {
	case j.rec.State == grid.Finished || j.rec.State == grid.StageOut:
		return // the result is reported; the home says what becomes of it
	case j.rec.State == grid.Running && j.givenUp():
		return
	case j.rec.State == grid.Running:
		c.emit(Kill{c.attempt(j)})
	case j.rec.Attempt == 0 || j.rec.State == grid.Ready:
		c.letGo(j)
		return
	default:
		c.execution.withdraw(j)
	}
	c.backoff(j, onCancelling)
}

// letGo makes a superseded job a tombstone.
func (c *ownership) letGo(j *job) {
	c.abandon(j, "its home has given it to another")
	c.rest(j)
	c.turn(j, grid.Tombstone)
	j.rec.Ended = c.now
	if j.rec.End != 0 {
		c.hears(j, j.rec.End)
	}
	if j.rec.Kept = c.gates.beforeDrop(j) != open; j.rec.Kept {
		c.save(j, "superseded; its result is kept here")
		return
	}
	c.save(j, "superseded: dropped here")
	c.emit(Discard{Job: j.rec.Job.ID})
}

// hasResult reports that what is reported of the job is a result; see isResult.
func (j *job) hasResult() bool {
	r := &j.rec
	return r.State == grid.StageOut && r.Started != 0 && (r.End == grid.Completed || r.End == grid.CancelledWalltime)
}

// isSuperseded reports that what waits here of the job must not start.
func (j *job) isSuperseded() bool { return j.rec.Superseded != (grid.Epoch{}) }

// givenUp reports that nobody else owns the job: what runs may end.
func (j *job) givenUp() bool { return j.rec.Superseded == j.rec.Epoch }
