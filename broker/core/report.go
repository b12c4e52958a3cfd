package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// report sends the present report and arms its repetition. Its number is on disk:
// save raises it with every change (see save).
func (c *home) report(j *job) {
	if j.rec.Role == grid.Tombstone {
		c.ownership.tellMoved(j)
		return
	}
	if c.isHome(j) || j.rec.Role != grid.Owning || j.rec.Closed {
		return
	}
	c.send(j.rec.Job.Home, c.reportOf(j))
	if j.acked && j.rec.State != grid.StageOut {
		c.arm(j, onReport, c.cfg.Digest)
	} else {
		c.backoff(j, onReport)
	}
}

func (c *home) reportOf(j *job) wire.Report {
	r := &j.rec
	m := wire.Report{
		Job: r.Job.ID, Epoch: r.Epoch, Number: r.Report, State: r.State, Attempt: r.Attempt, Local: r.Local,
		Started: c.ago(r.Started), Finished: c.ago(r.Finished),
		End: r.End, ExitCode: r.ExitCode, HasExit: r.HasExit, Signal: r.Signal, Reason: r.Why(),
		Cancel: r.Wished(), Usage: r.Usage,
	}
	if r.EstimateNow != 0 && r.State == grid.Assigned {
		m.Estimate = wire.In{Span: r.EstimateNow - c.now, Known: true}
	}
	if r.Arrived > 0 {
		m.Arrived, m.Hosts, m.Address, m.Rendezvous = c.ago(r.Arrived), r.Hosts, r.Address, r.Rendezvous
	}
	if r.State == grid.StageOut {
		m.Outputs = r.Outputs
	}
	if !j.known {
		m.Certificates, m.Version = r.Certificates, j.sum()
	}
	return m
}

func (c *home) onReportAck(from grid.PeerID, m wire.ReportAck) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || j.rec.Role != grid.Owning || j.rec.Epoch != m.Epoch {
		return
	}
	if m.Number >= j.since && !m.Closed { // who says that it has ended lets nothing start
		j.homeHeard = c.now
		if j.rec.Uncertain && c.gates.beforeCertain() == open {
			j.rec.Uncertain = false
			c.save(j, "its home knows it to be here")
		}
	}
	if m.Closed {
		c.endedBefore(j, m)
		c.closeOwner(j)
		return
	}
	if m.Number == j.rec.Report {
		j.acked, j.known = true, true
		c.ownership.adopted(j)
		if j.rec.State != grid.StageOut {
			c.arm(j, onReport, c.cfg.Digest)
		}
	}
	if m.Cancel && j.wish() {
		c.save(j, "cancel requested at home")
		c.enforceCancel(j)
	}
	if j.awaits && j.rec.State == grid.Ready && c.gates.beforeStart(j) == open {
		c.ownership.handoffDue(j)
	}
}

// reportRefused: the home may have been restored from a backup, and have forgotten that it
// knew this owner: the next report shows the certificates again.
func (c *home) reportRefused(from grid.PeerID, m wire.Error) {
	j := c.job(m.Job)
	if j == nil || m.Of != wire.KindReport || j.rec.Job.Home != from {
		return
	}
	if !j.known && j.rec.Role == grid.Owning {
		c.arm(j, onReport, c.cfg.Digest) // it has seen them: to say it again at once is no use
	}
	j.known = false
}

// endedBefore: this owner has reported the end of the job in a part of its journal that is
// lost, and the home has it all. What may be left of it here goes.
func (c *home) endedBefore(j *job, m wire.ReportAck) {
	if m.End == 0 || j.rec.End != 0 {
		return
	}
	if j.rec.Attempt > 0 {
		c.emit(Kill{c.attempt(j)})
	}
	c.ownership.abandon(j, "it had ended already")
	c.rest(j)
	r := &j.rec
	r.End, r.ExitCode, r.HasExit, r.Signal = m.End, m.ExitCode, m.HasExit, m.Signal
}

// closeOwner: the home has the end and the output.
func (c *home) closeOwner(j *job) {
	if j.rec.End == 0 {
		return // the home ended a job that still runs here: only a cancel may do that
	}
	j.rec.Closed = true
	c.hears(j, j.rec.End)
	c.turn(j, grid.Tombstone)
	j.rec.Ended = c.now
	j.rec.Kept = c.gates.beforeDrop(j) != open // what may still run keeps its folder as long as the job is kept
	c.disarm(j, onReport)
	c.save(j, "the home has it all")
	if !j.rec.Kept {
		c.emit(Discard{Job: j.rec.Job.ID})
	}
}

// onClosed: tombstones of an ended job may go. Who still owns it at an older term hears so
// that it is over: nothing may be started, and the home may not be there to say it again.
func (c *home) onClosed(from grid.PeerID, m wire.Closed) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || j.rec.Epoch.Term > m.Term {
		return
	}
	if e := j.rec.Epoch; e.Term < m.Term && j.rec.Role == grid.Owning && j.rec.State != grid.Finished && j.rec.State != grid.StageOut {
		c.ownership.superseded(from, wire.Superseded{Job: m.Job, Of: e, Epoch: grid.Epoch{Term: m.Term}})
		return
	}
	if j.rec.Role == grid.Owning && j.rec.State < grid.Running {
		c.awaitHome(j) // it may have given the job up: that word may also be of a branch of its journal that is lost
		return
	}
	// What ran here is kept to be listed, and what ended here for a home that is restored from a
	// backup, until its retention ends.
	if j.rec.Started == 0 && !j.ended() && (j.rec.Role == grid.Tombstone || j.rec.Role == grid.Declined) { // also one that still says Commit: whom it says that to is told by the home
		c.dropClosed(j)
	}
}

func (c *home) sendClosed(to grid.PeerID, j *job) {
	c.send(to, wire.Closed{Job: j.rec.Job.ID, Term: j.rec.Epoch.Term})
}
