package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Cancel is a sticky flag of the job. The home writes it first; the owner makes it true:
//
//	not in the local queue ─► KILLED
//	in the local queue     ─► Withdraw ─ never starts ─► KILLED
//	                              └ had started ─► Kill ─► ends by request ─► KILLED
//	owned elsewhere        ─► Cancel is repeated until the end is reported

func (c *home) cancelRequest(e CancelRequest) {
	j := c.job(e.Job)
	if j == nil {
		if err := c.groups.cancelOne(e.Job, e.By); err != nil {
			c.emit(Answer{Token: e.Token, Err: err})
			return
		}
		if r, known := c.groups.outline(e.Job); known {
			c.emit(Answer{Token: e.Token, Record: r})
			return
		}
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: job %s", grid.ErrNotFound, e.Job)})
		return
	}
	c.wantGone(j, e.By)
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

// wantGone sets the flag, once, wherever it is first heard.
func (c *home) wantGone(j *job, by string) {
	if j.rec.State.Terminal() || j.rec.End != 0 || !j.wish() {
		return
	}
	c.save(j, "cancel requested by "+by)
	c.enforceCancel(j)
}

// wish notes that the job's user wants its end; false is that this was known.
func (j *job) wish() bool {
	if j.rec.Wished() {
		return false
	}
	j.rec.CancelRequested, j.rec.Overdue = true, false
	return true
}

// endOverdue ends a job whose deadline has passed by the clock of this site, which owns it. One that is cancelled has no deadline any more.
func (c *home) endOverdue(j *job) {
	j.rec.CancelRequested, j.rec.Overdue = true, true
	c.save(j, "its deadline, "+j.rec.Job.Terms.Deadline.Stamp()+", has passed")
	c.enforceCancel(j)
}

// enforceCancel does what the flag asks, as far as this site can.
func (c *home) enforceCancel(j *job) {
	if c.wholes.has(&j.rec) {
		return // its parts are cancelled, which end it
	}
	if j.rec.Role != grid.Owning {
		c.pursueCancel(j)
		return
	}
	if c.gates.beforeCancel(j) != open {
		c.backoff(j, onCancelling)
		return
	}
	switch j.rec.State {
	case grid.Submitted, grid.StageIn, grid.Ready:
		c.endCancelled(j)
	case grid.Moving:
		if j.rec.Handoff.Phase == grid.Offering && j.rec.Attempt == 0 {
			c.ownership.abandon(j, "cancelled")
			c.endCancelled(j)
			return
		}
		c.execution.withdraw(j)
	case grid.Assigned:
		c.execution.withdraw(j)
	case grid.Running:
		c.emit(Kill{c.attempt(j)})
	}
	if !j.rec.State.Terminal() {
		c.backoff(j, onCancelling)
	}
}

// endCancelled ends a job that was to be cancelled and never started.
func (c *home) endCancelled(j *job) {
	end, why := c.cancelled(j)
	c.execution.end(j, end, why)
}

// killedUnheard keeps back the end of a job of which others may have something still that runs, or will.
func (c *home) killedUnheard(j *job) bool {
	hold := c.gates.beforeKilled(j, j.rec.End)
	if hold == open {
		return false
	}
	again := onPull
	switch {
	case j.rec.Role != grid.Owning:
	case j.rec.State == grid.Finished:
		again = onBatch
	default: // nothing of it has started here
		again = onCancelling
		if !j.unsupplied() {
			c.become(j, grid.Ready)
		}
		j.rec.End, j.rec.Local, j.rec.Reason = 0, "", ""
	}
	c.notToldYet(j, hold)
	c.backoff(j, again)
	return true
}

// notToldYet has the status of a job say whose word its end waits for, as that may last until an administrator does something: when others are waited for
// than it says, and once in each life.
func (c *home) notToldYet(j *job, hold gate) {
	now := untold{hold, c.gates.whom(j, hold)}
	if j.untold.is(now) {
		return
	}
	why := c.gates.why(j, hold)
	j.obstructed(why)
	j.untold = now
	c.save(j, "its end is not told yet: "+why)
}

// untold is what keeps back the end of a job, as its status says: the gate that is closed, and whose word would open it.
type untold struct {
	hold gate
	whom []grid.PeerID
}

func (u untold) is(o untold) bool { return u.hold == o.hold && slices.Equal(u.whom, o.whom) }

// pursueCancel repeats what is not yet confirmed.
func (c *home) pursueCancel(j *job) {
	switch {
	case !j.rec.CancelRequested || j.rec.State.Terminal() || j.rec.End != 0:
	case j.rec.Role == grid.Owning:
		c.enforceCancel(j)
	case c.isHome(j) && j.rec.Wished():
		if j.rec.Handoff.Phase == grid.NoHandoff { // Commit carries the flag itself
			c.send(j.rec.Owner, wire.Cancel{Job: j.rec.Job.ID, Epoch: j.rec.Epoch})
		}
		if c.gates.beforeTelling(j) == open {
			c.terminal(j, grid.Killed)
			return
		}
		c.backoff(j, onCancelling)
	}
}

// cancelDue: the end that was asked for is not confirmed yet.
func (c *home) cancelDue(j *job) {
	if j.isSuperseded() && j.rec.Role == grid.Owning {
		c.ownership.relinquish(j)
	}
	c.pursueCancel(j)
}

// onCancel: the home says that the job's user wants it gone.
func (c *home) onCancel(from grid.PeerID, m wire.Cancel) {
	j := c.job(m.Job)
	if j == nil || from != j.rec.Job.Home && !j.cameFrom(from) {
		c.send(from, wire.Error{Of: wire.KindCancel, Job: m.Job, Why: "no job of that home here"})
		return
	}
	if j.rec.State.Terminal() || j.rec.End != 0 {
		return
	}
	if c.gates.beforeObeying(j, m.Epoch) != open {
		return
	}
	if j.wish() {
		c.save(j, "cancel requested at home")
		if j.rec.Role == grid.Owning {
			c.enforceCancel(j)
		}
	}
	// Who was superseded has let go without a word of who owns the job now.
	if j.rec.Role == grid.Tombstone && j.rec.Owner != c.cfg.Self && j.rec.Handoff.Phase == grid.NoHandoff {
		c.send(j.rec.Owner, m) // an open Commit carries the flag itself; the home repeats until it hears the end
	}
}

// cameFrom reports that a site held the job before this one, by its certificates.
func (j *job) cameFrom(p grid.PeerID) bool {
	return slices.ContainsFunc(j.rec.Certificates, func(d grid.Certificate) bool { return d.To == p })
}
