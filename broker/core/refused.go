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
// What was refused is the job as it was then: one that its user has altered since may be taken.
//
// Where no other site can run it either, the job ends with the words of the refusal. Where
// one could that does not answer, this one is tried again after the while: an
// administrator may have mended it.

// refusedFor is how long a refusal is believed.
const refusedFor = 10 * grid.Minute

// refusal is why a site would not take a job, when it said so, and of what.
type refusal struct {
	why string
	at  grid.Tick
	of  alterable
}

// alterable is what of a job may be altered, and what a batch system may refuse it for.
type alterable struct {
	walltime  grid.Tick
	queue     grid.QueueName
	processes int
}

func alterableOf(j *grid.Job) alterable { return alterable{j.Walltime, j.Queue, j.Demand.Processes()} }

// refuses notes that a site would not take the job now or in a while. What passes by itself is no such refusal: it is waited for
// where the job is (launch), or the site is not asked for a moment (onRefuse).
func (c *kernel) refuses(j *job, p grid.PeerID, why string) {
	if j.refused == nil {
		j.refused = map[grid.PeerID]refusal{}
	}
	j.refused[p] = refusal{why, c.now, alterableOf(&j.rec.Job)}
}

// refusedBy is why a job cannot run at a site whatever is told of its plan; nil if nothing is known.
func (c *kernel) refusedBy(j *job, p grid.PeerID) *grid.Refusal {
	return c.refused(j, p, alterableOf(&j.rec.Job))
}

// refused is that of a job as it may have been altered since.
func (c *kernel) refused(j *job, p grid.PeerID, of alterable) *grid.Refusal {
	if r, said := j.refused[p]; said && c.now-r.at < refusedFor && r.of == of {
		return &grid.Refusal{Kind: grid.Permanent, Reason: r.why}
	}
	return nil
}

// refusedHere is what is known of that for this site.
func (c *execution) refusedHere(id grid.JobID, of alterable) *grid.Refusal {
	if j := c.jobs[id]; j != nil {
		return c.refused(j, c.cfg.Self, of)
	}
	return nil
}
