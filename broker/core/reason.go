package core

import (
	"fmt"

	"gbroker/grid"
)

// What people read of a job: the reason of its state, and what holds it up in that state. Nobody looks at these texts to learn
// what is so. They are compared here and nowhere else: so that what people read already is neither saved nor shown again, and
// to make one text of several.

// reasoned gives a job the reason of its state; false where it has that already.
func (j *job) reasoned(why string) (news bool) {
	news = j.rec.Reason != why
	j.rec.Reason = why
	return news
}

// obstructed has a job say what holds it up in its state, "" is nothing; false where it says that already.
func (j *job) obstructed(by string) (news bool) {
	news = j.rec.Obstacle != by
	j.rec.Obstacle, j.untold = by, untold{}
	return news
}

// remark adds to the reason of a job's state.
func (j *job) remark(text string) {
	if j.rec.Reason != "" {
		text = j.rec.Reason + "; " + text
	}
	j.rec.Reason = text
}

// noted adds how a part has ended to what is told of its whole, where there is more to say than that it is well.
func noted(whys []string, p *grid.AllocatedPart, r *grid.Record) []string {
	if r.State == grid.Completed && r.Reason == "" {
		return whys
	}
	return append(whys, fmt.Sprintf("part %d at %s: %s %s", p.Rank+1, p.Site, r.State, r.Reason))
}

// shows has people see why nothing becomes of a job.
func (c *kernel) shows(j *job, why string) {
	if j.reasoned(why) {
		c.save(j, why)
	}
}
