package core

import "gbroker/grid"

// beforeRound is what has to be known before sites are asked for a whole: what an attempt of it would need. It may have been at one site.
func (c *gates) beforeRound(j *job) gate {
	switch {
	case c.recovery.recounting():
		return untilAll
	case j.unreconciled() && !c.recovery.read():
		return untilDirectory
	case j.recovered && c.silent(unspoken):
		return untilNeighbours
	case !j.rec.Job.Rerunnable:
		return c.beforeBelated(j)
	}
	return open
}

// beforeRenewing is what has to be known before a job that waits at its home is made anew: what its sites say to it as it was.
func (c *gates) beforeRenewing(j *job) gate {
	if c.wholes.inRound(j.rec.Job.ID) {
		return untilSites
	}
	return open
}

// beforeConfirming is what has to be known before it is decided to keep the reservations of a round.
func (c *gates) beforeConfirming(tentative, of int) gate {
	if tentative == of || tentative > 0 && c.without(ConfirmBeforeAllTentative) {
		return open
	}
	return untilSites
}

// beforeGo is what has to be known before parts are told to go: a branch of the journal that is lost may have given the round up, and gone on.
func (c *gates) beforeGo(arrived, of int) gate {
	if c.recovery.recounting() {
		return untilAll
	}
	if arrived == of || arrived > 0 && c.without(GoBeforeAllThere) {
		return open
	}
	return untilSites
}

// beforeAllBegun is what has to be known before parts are told that all have begun.
func (c *gates) beforeAllBegun(begun, of int) gate {
	if begun == of || begun > 0 && c.without(BegunWithoutOthers) {
		return open
	}
	return untilSites
}

// beforeReleasingAgain is what has to be known before the release of a reservation is said again.
func (c *gates) beforeReleasingAgain() gate {
	if c.without(ReleaseNotRepeated) {
		return forNobody
	}
	return open
}

// beforePassing is what has to be known before a part at its barrier may take its start token.
func (c *gates) beforePassing(told bool) gate {
	if told || c.without(TokenBeforeGo) {
		return open
	}
	return untilHome
}

// offset is how far another clock counts as ahead of this one.
func (c *gates) offset(t grid.Tick) grid.Tick {
	if c.without(ClockOffsetIgnored) {
		return 0
	}
	return t
}

// beforeSaving is what has to be known before a round that has come to a state is saved: nothing, as every state is on disk before anything is said in it.
func (c *gates) beforeSaving(to grid.AllocationState) gate {
	if to == grid.Going && c.without(GoUnsaved) {
		return untilSites
	}
	return open
}
