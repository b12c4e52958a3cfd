package core

import (
	"gbroker/grid"
	"gbroker/reserve"
)

// What numbers count. The gates themselves are made of these, and all machines number what they make: so they stand at the kernel, below
// the gates of actions.

// burnt is the last epoch that nobody may get again: an offer that failed burns its hop.
func (c *kernel) burnt(j *job) grid.Epoch {
	if last := j.rec.Handoff.Epoch; j.rec.Epoch.Before(last) && !c.without(EpochReused) {
		return last
	}
	return j.rec.Epoch
}

// unused is the least stamp after the last one of a job that no branch of the journal can have used for it.
func (c *kernel) unused(last uint32) uint32 {
	if c.without(EpochReused | StampsCounted) {
		return last + 1
	}
	return max(last+1, c.stamped())
}

// heedsLives tells that a position counts in its own life alone.
func (c *kernel) heedsLives() bool { return !c.without(LivesIgnored) }

// reserving are the operator's rules of reservations, by which the book judges.
func (c *gates) reserving(r reserve.Rules) reserve.Rules {
	r.Without = reserve.Broken{
		TentativeNeverExpires: c.without(TentativeNeverExpires), OverlapAllowed: c.without(OverlapAllowed), LeaseNotChecked: c.without(LeaseNotChecked),
	}
	return r
}
