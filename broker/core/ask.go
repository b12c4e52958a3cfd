package core

import (
	"gbroker/grid"
)

// What has to be heard before an attempt is submitted, or a job handed on.

// unspoken is how long, in deadlines of an EstimateRequest, a job of this home that was in the journal
// at the start waits for members that have not spoken: if the journal was rolled back, it
// may have run elsewhere. What is handed in later does not wait.
const unspoken = 30

// mustAsk says what has to be heard before an attempt of the job may be handed to the
// batch system, or the job to another site; "" is nothing.
func (c *Core) mustAsk(j *job) string {
	switch {
	case c.rolled != nil:
		return "waits until all neighbours were asked: the journal was rolled back"
	case j.isSuperseded():
		return "superseded"
	case j.unreconciled():
		return "waits for the word of its control directory"
	case j.recovered && c.silent(unspoken):
		return "waits until the neighbours have said what they saw of this broker"
	case c.home(j):
		return ""
	case j.rec.HomeForgotten && !c.lives(j.rec.Job.Home):
		if j.rec.Uncertain {
			return "waits for its home, which alone knows whether it has run: the journal was rolled back"
		}
		return ""
	case j.homeHeard == 0 || c.now-j.homeHeard > silence*c.cfg.Digest:
		return "waits for the word of its home"
	}
	return ""
}

// lives tells that a member is there. A forgotten home that is has a say again.
func (c *Core) lives(p grid.PeerID) bool {
	return c.members[p] != nil && c.members[p].live == grid.Alive
}

// await keeps a job out of the batch system until mustAsk has nothing to say.
func (c *Core) await(j *job, why string) {
	j.awaits = true
	if j.rec.State != grid.Ready || j.rec.Reason != why {
		c.become(j, grid.Ready)
		j.rec.Reason = why
		c.save(j, why)
	}
	c.backoff(j, onHandoff)
}
