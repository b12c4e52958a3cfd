package core

import (
	"fmt"

	"gbroker/grid"
)

// An administrator ends a job of which he knows more than this broker can:
//
//	dead   nothing of it runs, or will: FAILED, or KILLED where that was wanted; its output is collected
//	lost   whether it runs is not known: LOST
//
// Either way what the batch system may still have of it is killed. Only the site that owns a job
// ends it so; where that site is gone, its home forgets it.

// EndJob is an administrator's word on what became of a job; see end.go.
type EndJob struct {
	Token  Token
	Job    grid.JobID
	Dead   bool
	DryRun bool // only tell whether it may be ended so
	By     string
}

func (EndJob) event()         {}
func (e EndJob) token() Token { return e.Token }

func (c *execution) endJob(e EndJob) {
	j := c.job(e.Job)
	if err := c.mayEnd(e.Job, j); err != nil {
		c.emit(Answer{Token: e.Token, Err: err})
		return
	}
	if !e.DryRun {
		c.note(e.Job, "", fmt.Sprintf("ended by %s, dead: %t", e.By, e.Dead))
		if e.Dead {
			c.declareDead(j, e.By)
		} else {
			c.lose(j, "given up by "+e.By)
		}
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

func (c *execution) mayEnd(id grid.JobID, j *job) error {
	if j == nil {
		return fmt.Errorf("%w: job %s", grid.ErrNotFound, id)
	}
	switch c.gates.beforeEnd(j) {
	case itEnded:
		return fmt.Errorf("%w: job %s is %s already", grid.ErrInvalid, id, j.rec.State)
	case untilOwner:
		return fmt.Errorf("%w: %s has job %s: say it there, or, if that site will not come back, `gbroker forget`", grid.ErrInvalid, c.nameOf(j.rec.Owner), id)
	case untilOutput:
		return fmt.Errorf("%w: the program of job %s has ended (%s); its output is on its way", grid.ErrInvalid, id, j.rec.End)
	}
	return nil
}

// declareDead ends a job of which nothing runs, by an administrator's word.
func (c *execution) declareDead(j *job, by string) {
	state, reason := grid.Failed, by+" says that nothing of it runs"
	if j.rec.CancelRequested {
		state, reason = grid.Killed, "cancelled, and "+reason
	} else {
		j.rec.Unfenced = false // nor does it at a site that was given up
	}
	if j.rec.Attempt > 0 {
		c.emit(Kill{c.attempt(j)})
	}
	c.ownership.abandon(j, reason)
	j.awaits, j.damaged = false, 0
	if j.rec.Attempt == 0 || j.rec.State == grid.Ready { // it is between two attempts
		c.end(j, state, reason)
		return
	}
	c.become(j, grid.Finished)
	j.rec.End, j.rec.Reason, j.rec.Finished = state, reason, c.now
	if j.rec.Started == 0 {
		j.rec.Started = c.now
	}
	c.disarm(j, onCancelling)
	c.save(j, "ended: "+reason)
	c.collect(j)
}
