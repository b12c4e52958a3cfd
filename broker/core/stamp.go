package core

import "gbroker/grid"

// Stamps. The terms and hops of epochs are stamps of a hybrid logical clock: seconds by the
// clock of this site, and never less than the highest stamp that it has used or heard of.
//
// Invariant: no epoch of a job is used twice by this site, also not by two branches of its
// journal: a branch begins at a later instant than the other ended, or, where its clock was
// set back, above what the file beside the journal and the members have seen of the other.
//
// A member's word moves the clock no further than maxAhead before the site's own: a
// broken clock, or a lie, does not use up the stamps of the others.

// firstStamp is the instant of stamp 0: the beginning of 2023. The last one is in 2159.
const firstStamp grid.Tick = 1_672_531_200_000

// maxAhead bounds, in seconds, how far before this site's clock a stamp is believed.
const maxAhead = 24 * 60 * 60

// maxStamp is beyond what any clock shows: what is offered above is not taken, so that the
// hops of a job never run out.
const maxStamp = 1 << 31

// ownStamp is the present second of this site's clock.
func (c *kernel) ownStamp() uint32 {
	return uint32(min(max(0, c.now-firstStamp)/grid.Second, maxStamp))
}

// stamped is the highest stamp that this broker knows.
func (c *kernel) stamped() uint32 { return max(c.stamp, c.ownStamp()) }

// heardStamp moves the clock to a stamp that was heard of; with beyond, above it, as it may
// be one that this broker itself has used and does not know of.
func (c *kernel) heardStamp(stamp uint32, beyond bool) {
	if stamp > c.ownStamp()+maxAhead {
		return
	}
	if beyond && stamp > 0 {
		stamp++
	}
	c.stamp = max(c.stamp, stamp)
}

// nextOffer is the epoch of a new offer: after those of the offers that failed.
func (c *kernel) nextOffer(j *job) grid.Epoch {
	next := c.burnt(j)
	next.Hop = c.nextStamp(next.Hop)
	return next
}

// nextStamp is that of a new term or hop, after the last one of the job.
func (c *kernel) nextStamp(last uint32) uint32 {
	next := c.unused(last)
	c.heardStamp(next, false)
	return next
}

// Stamp is the highest stamp that was used or heard of, for the file beside the journal.
func (c *kernel) Stamp() uint32 { return c.stamp }
