package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// Notices. A user is told of the begin and the end of his job where his document says, by the home, at
// least once: what is owed is on disk with what it tells, and stays there until it was sent, or given up.
//
//	begins, ends ─► saved with Owed ─► Notify ─► Notified: sent ─► saved without
//	                                      ▲            └ failed ─► again, ever later, for a day at most
//	                                      └────────────────────────┘
//
// One that fails lets the others of its job go first.

// Notify sends a notice, and is answered by Notified.
type Notify struct {
	Record grid.Record
	Owed   grid.Owed
}

// Notified tells what became of it. Final says of an error that trying again does not mend it.
type Notified struct {
	Job   grid.JobID
	Owed  grid.Owed
	Err   error
	Final bool
}

func (Notify) effect()  {}
func (Notified) event() {}

// noticeLimit is how long a notice is tried to be sent; between two tries lie noticeFirst, and ever more up to
// noticeLast: each is a line of the job's history.
const (
	noticeLimit = grid.Day
	noticeFirst = 2 * grid.Second
	noticeLast  = 2 * grid.Hour
)

// owe notes that its user is to be told of an occasion. The next save makes it durable.
func (c *terms) owe(j *job, when ...grid.Occasion) {
	if !c.isHome(j) {
		return
	}
	for _, n := range j.rec.Job.Terms.Notify {
		if slices.Contains(when, n.When) {
			j.rec.Owed = append(slices.Clip(j.rec.Owed), grid.Owed{Notice: n, At: c.now})
		}
	}
}

// oweEnd notes that of an end.
func (c *terms) oweEnd(j *job, s grid.State) {
	c.owe(j, grid.OnEnd)
	if s != grid.Completed || j.rec.ExitCode != 0 {
		c.owe(j, grid.OnFail)
	}
}

// noticeDue sends the first that is owed.
func (c *terms) noticeDue(j *job) {
	if len(j.rec.Owed) > 0 && !j.notifying {
		j.notifying = true
		c.emit(Notify{Record: *copyOf(&j.rec), Owed: j.rec.Owed[0]})
	}
}

// tellLater puts one that failed behind the others; when all have failed, they are tried again after a while.
func (c *terms) tellLater(j *job, k int) {
	failed := j.rec.Owed[k]
	j.rec.Owed = append(slices.Delete(slices.Clone(j.rec.Owed), k, k+1), failed)
	j.tries[onNotice]++
	if rounds, more := j.tries[onNotice]/len(j.rec.Owed), j.tries[onNotice]%len(j.rec.Owed); more == 0 {
		c.arm(j, onNotice, min(noticeFirst<<min(rounds-1, 20), noticeLast))
	} else {
		c.arm(j, onNotice, 1)
	}
}

func (c *terms) notified(e Notified) {
	j := c.job(e.Job)
	if j == nil {
		return
	}
	j.notifying = false
	k := slices.Index(j.rec.Owed, e.Owed)
	if k < 0 {
		return
	}
	why := fmt.Sprintf("told %s of its %s", e.Owed.To, e.Owed.When)
	switch {
	case e.Err == nil:
	case e.Final || c.now-e.Owed.At > noticeLimit:
		why = fmt.Sprintf("telling %s of its %s is given up: %s", e.Owed.To, e.Owed.When, clip(e.Err.Error()))
	default:
		c.note(e.Job, "", fmt.Sprintf("telling %s of its %s: %s", e.Owed.To, e.Owed.When, clip(e.Err.Error())))
		c.tellLater(j, k)
		return
	}
	j.rec.Owed = slices.Delete(slices.Clone(j.rec.Owed), k, k+1)
	if len(j.rec.Owed) == 0 {
		j.rec.Owed = nil
	}
	c.disarm(j, onNotice)
	c.save(j, why)
}
