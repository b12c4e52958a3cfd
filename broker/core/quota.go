package core

import "gbroker/grid"

// UserLimits bound what the unended jobs of one user of this site may take together; 0 is
// no limit. Jobs that ended are bounded by their retention.
type UserLimits struct {
	Jobs      int
	Processes int   // of those that have not started
	Documents int64 // bytes of what their documents say
	Bytes     int64 // of the files that they bring, by URI too once that is known
	Groups    int   // that have not ended
	GroupJobs int   // of one group; grid.MaxGroup bounds it too
	SweepJobs int   // of one that makes them from a template; so does grid.MaxSweep
}

// usage is what there is of that.
type usage struct {
	jobs, processes  int
	documents, bytes int64
}

func (u *usage) add(o usage, sign int) {
	u.jobs += sign * o.jobs
	u.processes += sign * o.processes
	u.documents += int64(sign) * o.documents
	u.bytes += int64(sign) * o.bytes
}

// usageOf is what a job of a user of this site counts.
func (c *kernel) usageOf(j *job) usage {
	r := &j.rec
	if !c.isHome(j) || r.State.Terminal() || r.Job.Part != nil { // the whole counts
		return usage{}
	}
	u := c.ofJob(&r.Job)
	u.documents += j.brief
	u.bytes += j.cost.Bytes
	if to := r.Altered; to != nil && to.Processes != nil { // as it is going to be
		u.processes = *to.Processes
	}
	if u.jobs = 1; r.Started > 0 {
		u.processes = 0
	}
	return u
}

// ofJob is what a job that has not started counts, beside itself. Files that lie with its group count there.
func (c *kernel) ofJob(j *grid.Job) usage {
	u := usage{processes: j.Demand.Processes(), documents: j.DocumentSize()}
	if !c.groups.shares(j.ID) {
		u.bytes = j.Inputs.Size()
	}
	return u
}

// count keeps the sums by user.
func (c *kernel) count(j *job, now usage) {
	if now == j.counted {
		return
	}
	name := j.rec.Job.User.Name
	sum := c.users[name]
	sum.add(j.counted, -1)
	sum.add(now, 1)
	j.counted = now
	if c.users[name] = sum; sum == (usage{}) {
		delete(c.users, name)
	}
}
