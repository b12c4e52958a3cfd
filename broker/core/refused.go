package core

import "gbroker/grid"

// A batch system may refuse a job for good: its user has no account there, its queue
// takes no such job. It would refuse the next attempt too. So the attempt is withdrawn by
// its token, like any that failed, and a place is searched for anew; this site is none
// for that job for a while:
//
//	launch ─► refused ─► Withdraw ─ never starts ─► READY, searched for, not here
//
// A site elsewhere that had accepted the job and cannot have one of its inputs says so in its Refuse: that is
// believed as long.
//
// Where no other site can run it either, the job ends with the words of the refusal. Where
// one could that does not answer, this one is tried again after the while: an
// administrator may have mended it.

// refusedFor is how long a refusal is believed.
const refusedFor = 10 * grid.Minute

// refusal is why a site would not take a job, and when it said so.
type refusal struct {
	why string
	at  grid.Tick
}

// refuses notes that a site would not take the job now or in a while.
func (c *kernel) refuses(j *job, p grid.PeerID, why string) {
	if j.refused == nil {
		j.refused = map[grid.PeerID]refusal{}
	}
	j.refused[p] = refusal{why, c.now}
}

// refusedBy is why a job cannot run at a site whatever is told of its plan; nil if nothing is known.
func (c *kernel) refusedBy(j *job, p grid.PeerID) *grid.Refusal {
	if r, said := j.refused[p]; said && c.now-r.at < refusedFor {
		return &grid.Refusal{Kind: grid.Permanent, Reason: r.why}
	}
	return nil
}

// refusedHere is what is known of that for this site.
func (c *execution) refusedHere(id grid.JobID) *grid.Refusal {
	if j := c.jobs[id]; j != nil {
		return c.refusedBy(j, c.cfg.Self)
	}
	return nil
}
