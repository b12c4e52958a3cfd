package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// A site is forgotten, and a job that it had is to start again, or to end as cancelled: nothing of it can run there any more.
// That site may have given it to another before, a successor of whom this home has not heard. So the home raises the term, waits until
// nobody submits it any more who has heard the home before that, and asks all. It goes on when each has said that there is nothing of the job there: that one
// cannot be reached is no word. What may run twice starts again at once; the word KILLED alone waits, whoever has the job then (see killedUnheard).
//
//	home: Recall{At}, to all ─┬─► no record, and no attempt   Error{At}
//	                          ├─► handed on, or declined      Moved, Declined; Error{At}
//	                          ├─► it is there                 Recalled, Report ──► Superseded, or adopted; asked again
//	                          └─► no record, and an attempt   Error{Had: its epoch} ──► LOST
//
// A successor whose journal was put back or lost does not know that it was one; its control directory does. A member that is forgotten, or removed, is
// not asked any more: the job is LOST, unless he is fenced off; what may run twice when it is cancelled.

// awaitSuccessors begins to wait for the word of all members but one, for whom an administrator has spoken.
func (c *recovery) awaitSuccessors(j *job, but grid.PeerID) {
	j.raised = c.now
	j.successors = map[grid.PeerID]bool{}
	for p := range c.members {
		if p != but && !slices.Contains(j.rec.Fenced, p) {
			j.successors[p] = true
		}
	}
}

// lastHad is who had a job of which the term was raised: its successors are others.
func (j *job) lastHad() (p grid.PeerID) {
	if n := len(j.rec.Trail); n > 0 {
		p = j.rec.Trail[n-1]
	}
	return p
}

// askSuccessors asks those that have not said that there is nothing of the job with them.
func (c *recovery) askSuccessors(j *job) {
	if !j.awaitsSuccessors() || !c.mayAskSuccessors(j) {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(j.successors)) {
		if c.lives(p) {
			c.send(p, wire.Recall{Job: j.rec.Job.ID, At: j.rec.Epoch})
		}
	}
}

// awaitsSuccessors: nothing of the job was started at the term that was raised, or it may run twice and a cancel of it would tell KILLED.
func (j *job) awaitsSuccessors() bool {
	switch r := &j.rec; {
	case j.raised == 0 || r.State.Terminal():
		return false
	case r.Job.Rerunnable:
		return !r.Unfenced
	default:
		return r.Role == grid.Owning && r.State <= grid.Ready && !j.passedSuccessors()
	}
}

// passedSuccessors: an attempt at the term that was raised has passed that gate, in an earlier life or a branch that is lost, and was withdrawn since. What may run twice does
// not wait for it.
func (j *job) passedSuccessors() bool { return !j.rec.Job.Rerunnable && j.rec.Attempt > 0 }

// successorsWord says to people whose word a job waits for.
func (c *recovery) successorsWord(j *job) string {
	var names []string
	for p := range j.successors {
		names = append(names, c.nameOf(p))
	}
	if len(names) == 0 || !c.mayAskSuccessors(j) {
		return untilReported.String()
	}
	slices.Sort(names)
	return fmt.Sprintf("waits for the word of %s: the site that was forgotten may have given it to them; `gbroker forget %s`, if that will not come back", someOf(names), names[0])
}

// saysNone: a member has said that there is nothing of the job with him. What he says before he can be asked does not count: he may get it still.
func (c *kernel) saysNone(j *job, p grid.PeerID) {
	if c.mayAskSuccessors(j) {
		delete(j.successors, p)
	}
}

// mayAskSuccessors: nobody begins with the job any more who has heard this home before its term was raised.
func (c *kernel) mayAskSuccessors(j *job) bool { return c.now-j.raised >= silence*c.cfg.Digest }

// hadOnce: a member that has no record of a job, or no proof that it was given it, had it at an epoch. If that was not known here when the term was raised, its
// program may have run there.
func (c *recovery) hadOnce(j *job, at grid.PeerID, epoch grid.Epoch) {
	if c.isHome(j) && j.awaitsSuccessors() && j.rec.RaisedFrom.Before(epoch) {
		c.successorLost(j, c.nameOf(at)+" had it, and has lost its journal since: it may not run twice")
	}
}

// successorNamed: certificates tell who has got a job since its term was raised, by what the home knew then. He may have said before that there was
// nothing with him, and is asked anew; who is no member can be asked nothing, and was not when the term was raised. They are over the version that he had, or the
// one here.
func (c *recovery) successorNamed(j *job, version grid.Hash, certificates []grid.Certificate) {
	last := certificates[len(certificates)-1]
	over := func(v grid.Hash) bool { return c.ownership.unproven(&j.rec.Job, v, certificates) == believed }
	later := j.awaitsSuccessors() && j.rec.RaisedFrom.Before(last.Epoch) && last.Epoch.Before(j.rec.Epoch) && last.To != j.lastHad()
	switch {
	case !later || last.To == c.cfg.Self || slices.Contains(j.rec.Fenced, last.To) || !over(version) && !over(j.sum()):
	case c.members[last.To] == nil:
		c.successorLost(j, c.nameOf(last.To)+" has got it, and is no neighbour")
	case j.successors != nil:
		j.successors[last.To] = true
	}
}

// spokenFor: an administrator has spoken for one who had, or may have, a job of which the term was raised. That he is fenced off counts after a start too,
// when all are asked again, also those that have said before that there was nothing with them.
func (c *recovery) spokenFor(j *job, who grid.Forgotten) {
	delete(j.successors, who.Peer)
	if who.Fenced && j.successors != nil && !j.rec.State.Terminal() && !slices.Contains(j.rec.Fenced, who.Peer) {
		j.rec.Fenced = append(slices.Clip(j.rec.Fenced), who.Peer)
		c.save(j, "")
	}
}

// successorForgotten: likewise, and where he is not, nobody can say any more what became of it.
func (c *recovery) successorForgotten(j *job, e Forget) {
	if c.spokenFor(j, grid.Forgotten{Peer: e.Site, Fenced: e.Fenced}); !e.Fenced && j.awaitsSuccessors() {
		c.successorLost(j, fmt.Sprintf("%s was forgotten by %s: %s", c.nameOf(e.Site), e.By, mayBeSuccessor))
	}
}

// mayBeSuccessor is why a job is given up as one is forgotten who does not have it as far as its home knows.
const mayBeSuccessor = "the site that had it may have given it to this one before"

// successorsRemoved: who is no member any more cannot be asked.
func (c *recovery) successorsRemoved() {
	for _, j := range c.sorted() {
		for _, p := range slices.Sorted(maps.Keys(j.successors)) {
			if c.members[p] == nil && j.maySucceed(p) && j.awaitsSuccessors() {
				c.successorLost(j, c.nameOf(p)+" is no neighbour any more: it may have it")
			}
		}
	}
}

// successorLost: nobody can say any more whether the job has run, or will, with one who may have got it.
func (c *recovery) successorLost(j *job, why string) {
	if j.rec.Job.Rerunnable {
		j.rec.Unfenced = true
		c.save(j, why)
		c.home.pursueCancel(j)
		return
	}
	j.rec.Reason = why
	c.home.terminal(j, grid.Lost)
}
