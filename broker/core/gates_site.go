package core

import (
	"maps"
	"slices"

	"gbroker/grid"
)

// beforeSearch is what has to be known before a place is searched for jobs: for a moment after a
// start, of every member whether it lives, else all jobs would stay here; and what those that live
// have seen of this broker's journal, which may have been rolled back.
func (c *gates) beforeSearch() gate {
	if c.silent(1) {
		return untilNeighbours
	}
	return open
}

// beforeAnyStart is what has to be known before anything starts here, whatever job it is.
func (c *gates) beforeAnyStart() gate {
	if c.recovery.recounting() {
		return untilAll
	}
	return open
}

// why says to people what a job waits for that a gate holds.
func (c *gates) why(j *job, hold gate) string {
	switch hold {
	case untilAll:
		return c.recovery.asking()
	case untilReported:
		return c.recovery.successorsWord(j)
	}
	return hold.String()
}

// whom are those whose word is waited for, where that keeps a job back, in order.
func (c *gates) whom(j *job, hold gate) []grid.PeerID {
	if hold == untilReported && c.mayAskSuccessors(j) {
		return slices.Sorted(maps.Keys(j.successors))
	}
	return nil
}

// beforeStrays is what has to be known before what the batch system has, and no record, is removed
// from it: it may be of a record that was lost, and that its home has.
func (c *gates) beforeStrays() gate {
	if c.recovery.recounting() {
		return untilAll
	}
	return open
}

// beforeLosing is what has to be known before a reservation is lost of which the batch system has made something else, as the book says: what the
// members saw of this journal, which may be of before a change.
func (c *gates) beforeLosing() gate { return c.beforeSearch() }

// beforeSweep is what has to be known before folders are put aside that no record needs: start tokens lie there.
func (c *gates) beforeSweep() gate {
	if c.recovery.recounting() {
		return untilAll
	}
	if c.silent(unspoken) {
		return untilNeighbours
	}
	return open
}

// beforeAbsence is what has to be known before the silence of others over a time counts: that this broker listened.
func (c *gates) beforeAbsence() gate {
	if c.without(AbsenceOverStall) {
		return open
	}
	return untilNeighbours
}

// beforeGoingOn is what has to be known before this broker goes on though its journal was rolled back.
func (c *gates) beforeGoingOn() gate {
	if c.without(RollbackUnseen) {
		return open
	}
	return untilAll
}

// toldBefore is what the file beside the journal says of the ends that users were told.
func (c *gates) toldBefore() []grid.Record {
	if c.without(EndsUntold) {
		return nil
	}
	return c.cfg.Told
}

// witness is what the file beside the journal says of how far that had come.
func (c *gates) witness() grid.Witness {
	if c.without(WitnessUnread) {
		return grid.Witness{}
	}
	return c.cfg.Witness
}
