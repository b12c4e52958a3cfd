package core

import (
	"fmt"

	"gbroker/grid"
)

// UserLimits bound what the unended jobs of one user of this site may take together; 0 is
// no limit. Jobs that ended are bounded by their retention.
type UserLimits struct {
	Jobs      int
	Processes int   // of those that have not started
	Documents int64 // bytes of what their documents say
	Bytes     int64 // of the files that they bring
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
func (c *Core) usageOf(j *job) usage {
	r := &j.rec
	if !c.home(j) || r.State.Terminal() {
		return usage{}
	}
	u := usage{jobs: 1, documents: r.Job.DocumentSize(), bytes: r.Job.Inputs.Size()}
	if r.Started == 0 {
		u.processes = r.Job.Demand.Processes()
	}
	return u
}

// count keeps the sums by user.
func (c *Core) count(j *job, now usage) {
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

// admit refuses a job by which its user would have more than the limits allow.
func (c *Core) admit(j *grid.Job) error {
	have, l := c.users[j.User.Name], c.cfg.User
	for _, k := range []struct {
		what             string
		have, more, most int64
		way              string
	}{
		{"jobs", int64(have.jobs), 1, int64(l.Jobs), "that have not ended"},
		{"processes", int64(have.processes), int64(j.Demand.Processes()), int64(l.Processes), "of jobs that have not started"},
		{"documents", have.documents, j.DocumentSize(), l.Documents, "in bytes of the documents of jobs that have not ended"},
		{"bytes", have.bytes, j.Inputs.Size(), l.Bytes, "of the files of jobs that have not ended"},
	} {
		if k.most == 0 || k.have+k.more <= k.most {
			continue
		}
		way := "wait until some have ended, or cancel some"
		if k.more > k.most {
			way = "make the job smaller"
		}
		return fmt.Errorf("%w: the limit `%s` of this site is %d for each user (%s); %s has %d, and this job is %d more: %s. "+
			"Its administrator sets `limits` in gbroker.yaml", grid.ErrNotYet, k.what, k.most, k.way, j.User.Name, k.have, k.more, way)
	}
	return nil
}
