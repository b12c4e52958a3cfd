package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Claims of an older epoch. A site that was forgotten, cut off or rolled back comes
// back and reports a job as its own, which the home has given to another meanwhile:
//
//	home:  older claim ─ not ended ──────────────────────► Superseded
//	                   └ a result ─ the new attempt has not started ─► adopted
//	                              └ it has ───────────────► Superseded{Keep}: kept beside, at that site
//	owner: Superseded ─► on disk ─ waiting: Withdraw ─► let go
//	                             ├ running: Kill ─────► let go
//	                             └ ended:   its result is reported; adopted, or kept here
//
// A job that was given up for LOST is superseded by nobody: what waits is withdrawn,
// because its user was told and may have handed it in again; what runs may end, and
// its result is gained.

// claimed is the epoch at which the present owner of a job reports.
func claimed(r *grid.Record) grid.Epoch {
	if r.Adopted != (grid.Epoch{}) {
		return r.Adopted
	}
	return r.Epoch
}

// isResult reports that m tells the end of a program that ran and was not cut off.
func isResult(m wire.Report) bool {
	return m.State == grid.StageOut && m.Started.Known && (m.End == grid.Completed || m.End == grid.CancelledWalltime)
}

// oldClaim answers a report of an epoch that is over.
func (c *Core) oldClaim(from grid.PeerID, j *job, m wire.Report) {
	answer := wire.Superseded{Job: m.Job, Of: m.Epoch, Epoch: j.rec.Epoch, Owner: j.rec.Owner}
	switch {
	case !isResult(m):
	case !slices.Contains(j.rec.Trail, from):
		answer.Keep = true // nobody here knows that it had the job
	case j.rec.State == grid.Lost, c.notStarted(j) && j.rec.Attempt == 0, j.rec.State == grid.Ready && c.notStarted(j):
		c.adopt(j, claim{from, m})
		return
	case c.notStarted(j):
		j.claim = &claim{from, m} // the token says whether it has started
		c.withdraw(j)
		return
	default:
		answer.Keep = true
		c.note(m.Job, from, fmt.Sprintf("a result of epoch %s is kept at %s: the job has started again since", m.Epoch, c.nameOf(from)))
	}
	c.send(from, answer)
}

// notStarted reports that this site, the home, owns the job and has not seen it start.
func (c *Core) notStarted(j *job) bool {
	if j.rec.Role != grid.Owning || j.rec.CancelRequested {
		return false
	}
	switch j.rec.State {
	case grid.Ready, grid.Assigned, grid.Moving:
		return true
	}
	return false
}

// claim is a result of an older epoch that may become the job's.
type claim struct {
	from grid.PeerID
	m    wire.Report
}

// adopt takes the result of an older epoch. The epoch itself stays: nobody can own
// at the older one.
func (c *Core) adopt(j *job, k claim) {
	j.claim = nil
	c.abandon(j, "a result came from an older owner")
	for t := range j.due {
		c.disarm(j, concern(t))
	}
	r := &j.rec
	r.Tenure = r.Next(grid.Watching, k.from, r.Epoch)
	r.Handoff.Phase = grid.NoHandoff
	r.Adopted = k.m.Epoch
	j.heard = c.now
	c.apply(j, k.from, k.m)
	c.pull(j)
}

// refuseClaim: the new attempt had started before the claim could be adopted.
func (c *Core) refuseClaim(j *job) {
	if j.claim == nil {
		return
	}
	k := *j.claim
	j.claim = nil
	c.send(k.from, wire.Superseded{Job: k.m.Job, Of: k.m.Epoch, Epoch: j.rec.Epoch, Owner: j.rec.Owner, Keep: true})
}

// lostHeard: the owner of a job that was given up for lost is heard after all.
func (c *Core) lostHeard(from grid.PeerID, j *job, m wire.Report) {
	switch m.State {
	case grid.Running, grid.Finished:
		c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Cancel: j.rec.CancelRequested})
	case grid.StageOut:
		if !isResult(m) { // no more is known than before
			c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true})
			return
		}
		j.heard = c.now
		c.apply(j, from, m)
		c.pull(j)
	default:
		c.send(from, wire.Superseded{Job: m.Job, Of: m.Epoch, Epoch: j.rec.Epoch})
	}
}

// superseded: the home says that this site's ownership is over.
func (c *Core) superseded(from grid.PeerID, m wire.Superseded) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || j.rec.Role != grid.Owning || j.rec.Epoch != m.Of || m.Epoch.Before(m.Of) {
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
	case !j.hasResult():
		c.letGo(j)
	}
	// Else it answers an older report: to a result the home says Keep, or Closed when it has it.
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

// relinquish ends what this site still has of a superseded job.
func (c *Core) relinquish(j *job) {
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
		c.withdraw(j)
	}
	c.backoff(j, onCancelling)
}

// letGo makes a superseded job a tombstone.
func (c *Core) letGo(j *job) {
	c.abandon(j, "its home has given it to another")
	for k := range j.due {
		c.disarm(j, concern(k))
	}
	j.rec.Role = grid.Tombstone
	j.rec.Ended = c.now
	if j.rec.End != 0 {
		c.hears(j, j.rec.End)
	}
	if j.rec.Kept {
		c.save(j, "superseded; its result is kept here")
		return
	}
	c.save(j, "superseded: dropped here")
	c.emit(Discard{Job: j.rec.Job.ID})
}
