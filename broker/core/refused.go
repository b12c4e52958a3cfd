package core

import "gbroker/grid"

// A batch system may refuse a job for good: its user has no account there, its queue
// takes no such job. It would refuse the next attempt too. So the attempt is withdrawn by
// its token, like any that failed, and a place is searched for anew; this site is none
// for that job for a while:
//
//	launch ─► refused ─► Withdraw ─ never starts ─► READY, searched for, not here
//
// Where no other site can run it either, the job ends with the words of the refusal. Where
// one could that does not answer, this one is tried again after the while: an
// administrator may have mended it.

// refusedFor is how long a refusal is believed.
const refusedFor = 10 * grid.Minute

// refusedHere is why a job cannot run here whatever the plan says; nil if nothing is known.
func (c *execution) refusedHere(id grid.JobID) *grid.Refusal {
	if j := c.jobs[id]; j != nil && j.refusedAt != 0 && c.now-j.refusedAt < refusedFor {
		return &grid.Refusal{Kind: grid.Permanent, Reason: "its batch system has refused the job: " + j.refused}
	}
	return nil
}
