package core

import "gbroker/grid"

// What has to be known before something is done.

// gates tell what has to be known first. They take no events.
type gates struct {
	*kernel
	recovery interface {
		begunAnew() bool
		recounting() bool
	}
}

// starting waits, for a moment after a start, until it is known of every member whether
// it lives, else all jobs would stay here; and until those that live have said what they
// saw of this broker's journal, which may have been rolled back.
func (c *gates) starting() bool { return c.silent(1) }

// silent reports that a member has not spoken in this life, within so many deadlines of
// an EstimateRequest for the word whether it lives, and as many more for what it saw.
func (c *gates) silent(deadlines grid.Tick) bool {
	since, first := c.now-c.start, deadlines*c.cfg.EstimateDeadline
	if c.start == 0 || since >= 2*first {
		return false
	}
	for _, m := range c.members {
		if !m.heard && since < first || m.live != grid.Dead && !m.told {
			return true
		}
	}
	return false
}

// unsure reports that this journal may lack what this broker once knew: it was rolled
// back, is a new one, or the others have not been heard on that.
func (c *gates) unsure() bool {
	return c.recovery.recounting() || c.recovery.begunAnew() || c.starting()
}

// whole reports that this journal lacks nothing, as far as the owner of a job and all
// who live have said what they saw of it.
func (c *gates) whole(owner grid.PeerID) bool {
	if c.unsure() || !c.members[owner].told {
		return false
	}
	for _, m := range c.members {
		if m.live == grid.Alive && !m.told {
			return false
		}
	}
	return true
}

// gate is what has to be known before something is done, if that is not known yet.
type gate uint8

// The gates of a start.
const (
	open            gate = iota // nothing more has to be known
	untilAll                    // the journal was rolled back: all members are asked first
	forNobody                   // the home has given the job to another, or given it up
	untilDirectory              // its control directory
	untilNeighbours             // what they saw of this broker
	untilCertain                // the home alone knows whether it has run
	untilHome                   // the home has not been heard lately
)

// String is for people.
func (g gate) String() string {
	return [...]string{
		"may start", "waits until all neighbours were asked: the journal was rolled back", "superseded",
		"waits for the word of its control directory", "waits until the neighbours have said what they saw of this broker",
		"waits for its home, which alone knows whether it has run: the journal was rolled back", "waits for the word of its home",
	}[g]
}

// beforeStart is what has to be known before an attempt of the job may be handed to the batch system, or
// the job to another site.
func (c *gates) beforeStart(j *job) gate {
	switch {
	case c.recovery.recounting():
		return untilAll
	case j.isSuperseded():
		return forNobody
	case j.unreconciled():
		return untilDirectory
	case j.recovered && c.silent(unspoken):
		return untilNeighbours
	case c.isHome(j):
		return open
	case j.rec.HomeForgotten && !c.lives(j.rec.Job.Home):
		if j.rec.Uncertain {
			return untilCertain
		}
		return open
	case j.homeHeard == 0 || c.now-j.homeHeard > silence*c.cfg.Digest:
		return untilHome
	}
	return open
}

// beforeCancel is what has to be known before a job that is owned here ends because its user wants that,
// and has not been seen to run: it may have ended elsewhere, and its user been told so.
func (c *gates) beforeCancel(j *job) gate {
	switch {
	case j.rec.State == grid.Running:
		return open
	case j.unreconciled():
		return untilDirectory
	case !c.isHome(j):
		return open
	case c.recovery.recounting() && j.rec.Uncertain:
		return untilAll
	case j.recovered && c.silent(unspoken):
		return untilNeighbours
	}
	return open
}

// unspoken is how long, in deadlines of an EstimateRequest, a job of this home that was in the journal
// at the start waits for members that have not spoken: if the journal was rolled back, it
// may have run elsewhere. What is handed in later does not wait.
const unspoken = 30
