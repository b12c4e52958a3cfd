package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// A site is forgotten, and a job that may run once is to start again, as nothing of it can run there any more. That site may have
// given it to another before, an heir of whom this home has not heard. An heir reports it (see beforeStart). One whose journal was put
// back or lost since does not know that it was one; its control directory does:
//
//	home: Recall, to all ──► no record, and no attempt   Error
//	                     └─► no record, and an attempt   Error{Had: its epoch} ──► LOST

// askHeirs asks all members for a job whose term was raised.
func (c *recovery) askHeirs(j *job) {
	if !j.awaitsHeirs() || c.now-j.raised > silence*c.cfg.Digest {
		return
	}
	for _, p := range c.neighbours() {
		c.send(p, wire.Recall{Job: j.rec.Job.ID})
	}
}

// awaitsHeirs: nothing of the job was started at the term that was raised.
func (j *job) awaitsHeirs() bool {
	return j.raised != 0 && j.rec.Role == grid.Owning && j.rec.State == grid.Ready && j.rec.Attempt == 0
}

// hadOnce: a member that has no record of a job had it at an epoch. If that was not known here when the term was raised, its
// program may have run there.
func (c *recovery) hadOnce(j *job, at grid.PeerID, epoch grid.Epoch) {
	if !c.isHome(j) || !j.awaitsHeirs() || !j.raisedFrom.Before(epoch) {
		return
	}
	j.rec.Reason = c.nameOf(at) + " had it, and has lost its journal since: it may not run twice"
	c.home.terminal(j, grid.Lost)
}
