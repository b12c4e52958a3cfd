package core

import (
	"fmt"

	"gbroker/grid"
)

// The owner's dealings with its batch system:
//
//	launch ─► ASSIGNED ─ Progressed(started) ─► RUNNING ─ Progressed(ended) ─► FINISHED ─► Collect ─► close
//	   ▲          │ the launch failed, or nobody knows the attempt
//	   └ attempt+1 ◄─ Withdraw: the token says it never starts
//
// The attempt is on disk before Launch leaves; so after a crash it is asked for by
// its number, and never submitted a second time under the same one.

// maxFails bounds the failures in a row of a launch that are not known to pass by themselves.
const maxFails = 20

// launch puts a new attempt into the local queue.
func (c *execution) launch(j *job, why string) {
	switch hold := c.gates.beforeStart(j); hold {
	case open:
	case untilDue:
		j.rec.Local, j.awaits = "", false
		c.search.ready(j, why)
		return
	default:
		c.await(j, c.gates.why(j, hold))
		return
	}
	if j.fails >= maxFails {
		c.end(j, grid.Failed, fmt.Sprintf("%d attempts failed; the last: %s", j.fails, j.rec.Reason))
		return
	}
	bound, lacks := c.bound(j)
	if lacks != nil && lacks.MayPass() {
		c.await(j, words(lacks)) // no other site has its reservation: it is confirmed here, or over, soon
		return
	}
	j.awaits = false
	if lacks != nil {
		c.refuses(j, c.cfg.Self, words(lacks))
		c.search.ready(j, words(lacks))
		return
	}
	if c.isHome(j) {
		c.search.predicted(j)
	}
	j.worn = j.worn || j.rec.Started > 0
	keep := c.isHome(j) || j.rec.Job.Rerunnable
	j.rec.Run = grid.Run{Attempt: j.rec.Attempt + 1}
	j.misses = 0
	j.launched = c.attempt(j)
	c.estimator.expect(j)
	c.become(j, grid.Assigned)
	c.save(j, why)
	c.emit(Launch{
		Keep: keep, Fresh: keep && j.worn,
		Submission: grid.Submission{
			ID: c.attempt(j), Job: c.whole(j),
			Limit:    c.limitOf(&j.rec.Job),
			Expected: runTime(j.rec.Job.Walltime, c.cfg.Site.Speed),
			Age:      c.now - j.rec.Submitted, Reservation: string(bound.id), Reached: c.reached(j.rec.Job.Part),
		},
	})
}

func (c *execution) launched(e Launched) {
	j := c.current(e.ID)
	if j == nil || j.rec.State != grid.Assigned {
		return
	}
	if e.Err != nil {
		// It may have been submitted all the same: the token decides, then a new attempt.
		if e.Kind != grid.Temporary {
			j.fails++
		}
		j.rec.Reason = "submission failed: " + clip(e.Err.Error())
		c.save(j, j.rec.Reason)
		if e.Kind == grid.Permanent {
			why := "its batch system has refused the job: "
			if e.Source {
				why = "" // it says so itself
			}
			c.refuses(j, c.cfg.Self, why+clip(e.Err.Error()))
			c.withdraw(j)
			return
		}
		c.arm(j, onBatch, min(c.cfg.Retry<<min(j.rec.Attempt, 20), c.cfg.RetryMax))
		return
	}
	j.fails, j.worn = 0, false
	j.rec.Local, j.rec.Reason = e.Local, ""
	c.save(j, "")
	c.arm(j, onBatch, c.cfg.Refresh)
}

// batchDue looks after an attempt: one that was not taken is withdrawn, others are probed.
func (c *execution) batchDue(j *job) {
	if j.rec.Role != grid.Owning {
		return
	}
	switch j.rec.State {
	case grid.Assigned:
		if j.rec.Local == "" {
			c.withdraw(j)
			return
		}
		c.emit(Probe{c.attempt(j)})
	case grid.Running:
		c.emit(Probe{c.attempt(j)})
	case grid.Finished:
		c.collect(j)
	}
}

// withdraw asks for the token of the present attempt.
func (c *execution) withdraw(j *job) {
	if !c.withdraws(j) {
		j.withdrawing = c.attempt(j)
		c.emit(Withdraw{j.withdrawing})
	}
}

// withdraws tells that the token of the present attempt is being asked for.
func (c *kernel) withdraws(j *job) bool { return j.withdrawing == c.attempt(j) }

// withdrawn: the token has decided.
func (c *execution) withdrawn(e Withdrawn) {
	j := c.current(e.ID)
	if j == nil {
		c.strayWithdrawn(e)
		return
	}
	j.withdrawing = grid.AttemptID{}
	switch {
	case j.over():
		c.strayWithdrawn(e)
	case e.Err != nil && e.Damaged:
		c.untaken(j, e.Err.Error())
	case e.Err != nil:
		c.note(e.ID.Job, "", "withdrawing "+e.ID.String()+": "+e.Err.Error())
		if j.rec.Handoff.Phase != grid.Withdrawing {
			c.arm(j, onBatch, c.cfg.Refresh)
		}
	case j.later != (grid.AttemptID{}) && e.Done:
		c.recovery.behind(j, j.later)
	case !e.Done:
		if j.later != (grid.AttemptID{}) {
			j.reconciled, j.later = true, grid.AttemptID{}
		}
		c.home.refuseClaim(j)
		c.startedAfterAll(j)
	case j.isSuperseded():
		c.ownership.letGo(j)
	case j.claim != nil && !j.rec.CancelRequested:
		c.home.adopt(j, *j.claim)
	case j.rec.CancelRequested && c.gates.beforeCancel(j) != open:
		j.rec.Local = ""
		c.ownership.abandon(j, "cancelled")
		c.become(j, grid.Ready)
		c.save(j, "withdrawn, to be cancelled: "+c.gates.beforeCancel(j).String())
		c.backoff(j, onCancelling)
	case j.rec.CancelRequested:
		c.ownership.abandon(j, "cancelled")
		end, why := c.cancelled(j)
		c.end(j, end, why)
	case j.rec.Handoff.Phase == grid.Withdrawing && c.gates.beforeHandingOn(j) != open:
		j.rec.Local = ""
		c.ownership.dropOffer(j, "the offer died: the job "+c.gates.beforeHandingOn(j).String())
	case j.rec.Handoff.Phase == grid.Withdrawing && c.gone(j.rec.Handoff.To):
		j.rec.Local = ""
		c.ownership.dropOffer(j, "the offer died: the candidate cannot hear that it owns the job")
	case j.rec.Handoff.Phase == grid.Withdrawing:
		c.ownership.commit(j)
	case j.rec.State == grid.Assigned && c.refusedBy(j, c.cfg.Self) != nil:
		j.rec.Local = ""
		c.search.ready(j, "withdrawn: "+c.refusedBy(j, c.cfg.Self).Reason)
	case j.rec.State == grid.Assigned && c.draining:
		j.rec.Local = ""
		c.search.ready(j, "withdrawn: this site is drained")
	case j.rec.State == grid.Assigned && c.gates.beforeStart(j) == untilDue:
		j.rec.Local = ""
		c.search.ready(j, "withdrawn: it is kept at home")
	case j.rec.State == grid.Assigned:
		c.launch(j, "submitted again: "+j.rec.Reason)
	}
}

// startedAfterAll: the token was taken by the program's start.
func (c *execution) startedAfterAll(j *job) {
	if j.rec.Handoff.Phase == grid.Withdrawing {
		c.ownership.abandon(j, "it has started here")
		c.become(j, grid.Assigned)
		c.save(j, "stays: it had started")
	}
	if j.rec.Missing > 0 {
		c.startedUnseen(j)
		return
	}
	c.emit(Probe{c.attempt(j)})
	if j.rec.CancelRequested || j.isSuperseded() && !j.givenUp() {
		c.emit(Kill{c.attempt(j)})
	}
}

func (c *execution) progressed(e Progressed) {
	p := e.Progress
	j := c.current(p.ID)
	if j == nil {
		return
	}
	if e.Err != nil {
		c.note(p.ID.Job, "", "asking about "+p.ID.String()+": "+e.Err.Error())
		c.arm(j, onBatch, c.cfg.Refresh)
		if e.Damaged && (j.rec.State == grid.Assigned || j.rec.State == grid.Running) {
			c.damaged(j, p, e.Err.Error())
		}
		return
	}
	if j.rec.State != grid.Assigned && j.rec.State != grid.Running && j.rec.State != grid.Moving {
		return
	}
	c.mended(j)
	if p.Phase != grid.Unknown {
		c.seenAttempt(j)
	}
	if p.Phase == grid.Waiting && c.gates.beforeStanding(j) != open {
		c.withdraw(j) // it starts again when all were asked
		return
	}
	if p.Phase == grid.Waiting || p.Phase == grid.Started || p.Phase == grid.Ended {
		c.recovery.isHere(j)
	}
	switch p.Phase {
	case grid.Waiting:
		if j.rec.Local == "" && j.rec.State == grid.Assigned {
			j.rec.Local = p.Local
			c.save(j, "")
		}
		c.arrived(j, p)
		c.waitsInVain(j)
		c.arm(j, onBatch, 6*c.cfg.Refresh)
	case grid.Withdrawn, grid.Unknown:
		c.unseenAttempt(j, p.Phase)
	case grid.Started:
		c.running(j, p)
		c.stands(j, p)
	case grid.Ended:
		c.running(j, p)
		c.finished(j, p)
	}
}

// running notes the start, once.
func (c *execution) running(j *job, p grid.Progress) {
	if j.rec.State != grid.Running {
		c.ownership.abandon(j, "it has started")
		if p.Cause == grid.NeverRan && p.Phase == grid.Ended {
			return
		}
		c.become(j, grid.Running)
		c.terms.tooLate(j)
		j.rec.Started = p.Started
		if p.Local != "" {
			j.rec.Local = p.Local
		}
		c.estimator.began(&j.rec)
		if p.Started == 0 {
			j.rec.Started = c.now // its token was taken and nobody has seen when: a part of a job over several sites counts as begun
		}
		c.save(j, "started")
	}
	c.arm(j, onBatch, 6*c.cfg.Refresh)
	if (j.rec.CancelRequested || j.isSuperseded() && !j.givenUp()) && p.Phase == grid.Started {
		c.emit(Kill{c.attempt(j)})
	}
}

// ends maps why an attempt ended to the terminal state of its job.
var ends = map[grid.Cause]grid.State{
	grid.ByItself: grid.Completed, grid.ByWalltime: grid.CancelledWalltime, grid.ByRequest: grid.Killed,
	grid.NeverRan: grid.Failed, grid.Disappeared: grid.Failed, grid.Alone: grid.Failed,
	grid.CutOff: grid.Lost, grid.Unbrought: grid.Failed,
}

// finished notes the end and has the output collected.
func (c *execution) finished(j *job, p grid.Progress) {
	if p.Cause == grid.Disappeared && c.again(j, "its supervisor vanished: "+p.Detail) {
		return
	}
	if j.isSuperseded() && c.gates.beforeLettingGo(j) == open && p.Cause != grid.ByItself && p.Cause != grid.ByWalltime {
		c.ownership.letGo(j)
		return
	}
	c.become(j, grid.Finished)
	j.rec.Finished = p.Finished
	j.rec.End = ends[p.Cause]
	j.rec.Reason = p.Detail
	j.rec.Usage = p.Usage
	if p.Cause == grid.ByRequest && !j.rec.CancelRequested {
		// Nobody wanted that: it was started between our look and the removal for a move.
		j.rec.End = grid.Failed
		j.rec.Reason = "killed by this broker's own withdrawal for a move, after it had started"
	}
	if p.Cause == grid.ByRequest && j.rec.CancelRequested && c.overdue(j) {
		j.rec.End, j.rec.Reason = grid.CancelledDeadline, "it still ran at its deadline"
	}
	switch p.Cause {
	case grid.ByItself, grid.ByWalltime, grid.ByRequest:
		j.rec.HasExit, j.rec.ExitCode, j.rec.Signal = true, p.ExitCode, p.Signal
	}
	c.estimator.learn(&j.rec)
	c.save(j, "ended: "+j.rec.End.String())
	c.collect(j)
}

// end closes a job that leaves nothing behind.
func (c *execution) end(j *job, state grid.State, reason string) {
	j.rec.End = state
	j.rec.Reason = reason
	j.rec.Outputs = nil
	c.close(j, reason)
}

// close gives the job its terminal state where this is the home; else the home is
// told until it has everything.
func (c *execution) close(j *job, why string) {
	c.disarm(j, onBatch)
	if c.isHome(j) {
		c.home.conclude(j)
		return
	}
	j.rec.End = j.provable(j.rec.End)
	c.become(j, grid.StageOut)
	c.save(j, why)
}

// await keeps a job out of the batch system until the gate of its start is open, and its reservation is confirmed.
func (c *execution) await(j *job, why string) {
	j.awaits = true
	was := j.rec.State
	c.become(j, grid.Ready)
	if news := j.reasoned(why); news || was != grid.Ready {
		c.save(j, why)
	}
	c.backoff(j, onHandoff)
}
