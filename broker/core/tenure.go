package core

import (
	"fmt"

	"gbroker/grid"
)

// What this broker is to a job, and how far its handoff is, each changes by one word, which looks the change up in the tables of package
// grid. One that the table lacks is a mistake of this program: this Core cannot go on.

// turn changes what this broker is to the job.
func (c *kernel) turn(j *job, to grid.Role) {
	if !j.rec.Role.CanBecome(to, c.isHome(j)) {
		c.failed = fmt.Errorf("%w: job %s is %v, and cannot become %v", grid.ErrInvalid, j.rec.Job.ID, j.rec.Role, to)
	}
	j.rec.Role = to
}

// enter changes how far the handoff of the job is.
func (c *kernel) enter(j *job, to grid.HandoffPhase) {
	if !j.rec.Handoff.Phase.CanBecome(to) {
		c.failed = fmt.Errorf("%w: the handoff of job %s is %v, and cannot become %v", grid.ErrInvalid, j.rec.Job.ID, j.rec.Handoff.Phase, to)
	}
	j.rec.Handoff.Phase = to
}

// beginTenure replaces who owns the job, all that is true of his tenure alone, and what is known of a run: nobody tells a former owner what
// becomes of the job, and where it comes back nothing of an earlier run is true.
func (c *kernel) beginTenure(j *job, t grid.Tenure, run grid.Run) {
	c.turn(j, t.Role)
	c.enter(j, t.Handoff.Phase)
	j.rec.Tenure, j.rec.Run, j.ofTenure = t, run, ofTenure{heard: c.now}
}

// ownsAt makes this site the owner, from that epoch on. Its reports are numbered anew, so by no number of the last tenure can be
// told what its home has heard of this one.
func (c *kernel) ownsAt(j *job, epoch grid.Epoch) {
	if j.rec.Certified != (grid.Hash{}) {
		j.certify(nil, grid.Hash{}) // they are of a version that went from here
	}
	c.beginTenure(j, j.rec.Next(grid.Owning, c.cfg.Self, epoch), grid.Run{})
}
