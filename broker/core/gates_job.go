package core

import "gbroker/grid"

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
	case c.kept(j) != notKept:
		return untilDue
	case c.isHome(j) && j.rec.Job.Rerunnable && !j.rec.CancelRequested:
		return open // it may run twice
	case c.isHome(j):
		return c.beforeBelated(j)
	case j.rec.HomeForgotten && !c.lives(j.rec.Job.Home):
		if j.rec.Uncertain {
			return untilCertain
		}
		return open
	case !c.hearsHome(j):
		return untilHome
	}
	return open
}

// beforeBelated is what has to be known before a job of this home starts again, or its user is told that nothing of it runs or will, which was at
// a site that is not waited for any more: that site may have given it to another, of whom this home has not heard.
func (c *gates) beforeBelated(j *job) gate {
	if j.raised != 0 && !j.rec.Unfenced && !j.passedSuccessors() && (!c.mayAskSuccessors(j) || len(j.successors) > 0) {
		return untilReported
	}
	return open
}

// beforeKilled is what has to be known before such an end of a job of this home is told, if it says that nothing of the job runs or will.
func (c *gates) beforeKilled(j *job, end grid.State) gate {
	if end == grid.Killed || end == grid.CancelledDeadline {
		return c.beforeBelated(j)
	}
	return open
}

// beforeHandingOn is what has to be known before the job is given to another site. That the home will not come
// back is the word of this site's administrator, and lets it start here alone: the next owner takes the commit for the
// word of one who has heard the home.
func (c *gates) beforeHandingOn(j *job) gate {
	if hold := c.beforeStart(j); hold != open || c.isHome(j) || c.hearsHome(j) {
		return hold
	}
	return untilHome
}

// beforePlacing is what has to be known before a place is searched for a job that is READY: one that waits for the gate of its start has its
// place here, unless this site is drained; then it is of its new version before it goes anywhere.
func (c *gates) beforePlacing(j *job) gate {
	switch {
	case j.rec.CancelRequested:
		return toBeCancelled
	case j.awaits && (!c.draining || j.rec.Altered != nil):
		return placedHere
	}
	return open
}

// hearsHome: the home of a job owned here was heard lately.
func (c *gates) hearsHome(j *job) bool {
	return j.homeHeard != 0 && c.now-j.homeHeard <= silence*c.cfg.Digest
}

// kept says what keeps a job of this home back: its terms, then the sites of a co-allocated one.
func (c *gates) kept(j *job) keeping {
	choosing := c.isHome(j) && c.wholes.choosing(&j.rec.Job)
	if k := c.terms.keepsBack(j); k != notKept && (choosing || !c.without(KeptBackStarts)) {
		return k
	}
	if choosing {
		return untilChosen
	}
	return notKept
}

// beforeDepending is what is to be said of a dependency of which that is known.
func (c *gates) beforeDepending(v verdict) verdict {
	if c.without(DependenciesIgnored) {
		return isMet
	}
	return v
}

// beforeOverdue is what has to be known before a job ends by its deadline.
func (c *gates) beforeOverdue(j *job) gate {
	switch {
	case j.rec.Role != grid.Owning, c.without(DeadlineUnseen):
		return untilOwner
	case j.rec.State.Terminal() || j.rec.End != 0:
		return itEnded
	}
	return open
}

// beforeCancel is what has to be known before a job that is owned here ends because its user wants that,
// and has not been seen to run: it may have ended elsewhere, and its user been told so; or, as it may have been given away in a part of the journal
// that is lost, run there. Of that its home need not have heard. A part is never handed on.
func (c *gates) beforeCancel(j *job) gate {
	switch {
	case j.rec.State == grid.Running:
		return open
	case j.unreconciled():
		return untilDirectory
	case !c.isHome(j) && j.rec.Job.Part != nil:
		return open
	case c.recovery.recounting() && j.rec.Uncertain:
		return untilAll
	case j.recovered && c.silent(unspoken):
		return untilNeighbours
	}
	return open
}

// beforeFailing is what has to be known before a job ends that has not been seen to run, whatever its end: as before a cancel; and whether one has it
// that may have got it from a site that is not waited for any more.
func (c *gates) beforeFailing(j *job) gate {
	if hold := c.beforeCancel(j); hold != open {
		return hold
	}
	return c.beforeBelated(j)
}

// unspoken is how long, in deadlines of an EstimateRequest, a job of this home that was in the journal
// at the start waits for members that have not spoken: if the journal was rolled back, it
// may have run elsewhere. What is handed in later does not wait.
const unspoken = 30

// carried is the wish to cancel a job, where the job changes hands: it stays, whatever the epoch.
func (c *gates) carried(wish bool) bool { return wish && !c.without(CancelFenced) }

// beforeObeying is what has to be known before a wish to cancel counts that was said at an epoch.
func (c *gates) beforeObeying(j *job, at grid.Epoch) gate {
	if c.without(CancelFenced) && at != j.rec.Epoch {
		return forAnother
	}
	return open
}

// beforeEnd is what has to be known before an administrator's word ends a job here.
func (c *gates) beforeEnd(j *job) gate {
	switch {
	case j.rec.State.Terminal():
		return itEnded
	case j.rec.Role != grid.Owning:
		return untilOwner
	case j.rec.End != 0:
		return untilOutput
	}
	return open
}

// beforeTelling is what has to be known before the user of a job that another site has is told its end.
func (c *gates) beforeTelling(j *job) gate {
	switch {
	case j.rec.CancelRequested && c.without(CancelledToldEarly):
		return open
	case !j.bringing():
		return untilOwner
	case len(j.rec.Outputs) > 0:
		return untilOutput
	}
	return open
}

// beforeAgain is what has to be known before a job starts again that was, or may be, at a site whose
// word is not waited for. Harmless is an administrator's word that nothing of it runs there.
func (c *gates) beforeAgain(j *job, harmless bool) gate {
	switch {
	case j.rec.Job.Rerunnable, c.without(ForgetStartsAll):
		return open
	case j.rec.End != 0:
		return itEnded
	case harmless && j.rec.Job.Part == nil: // a part does not begin again without the others
		return open
	case j.rec.Started > 0:
		return itStarted
	}
	return itMayRun
}

// beforeStanding is what has to be known before an attempt that waits in the batch system proves that its job is here: what others saw of a part of this
// journal that is lost, where it was, or may have been, submitted after that. The job may have been handed over in it.
func (c *gates) beforeStanding(j *job) gate {
	if j.rec.Uncertain && j.rec.Unproven {
		return untilAll
	}
	return open
}

// beforeRunningAgain is what has to be known before a job whose attempt here was lost counts as one that has not ended: it may have run to
// its end here, in a part of this journal that is lost, and its home know that.
func (c *gates) beforeRunningAgain(j *job) gate {
	if !c.isHome(j) && j.homeHeard == 0 && c.recovery.recounting() {
		return untilCertain
	}
	return open
}

// beforeLettingGo is what has to be known before a superseded job whose attempt has ended without a result is let go: its home may
// have heard since that what may run once has started here, and wait for its end; or it has given the job up for an end that came before
// any start, which this site is to tell again if that home is set back.
func (c *gates) beforeLettingGo(j *job) gate {
	switch never := j.rec.State == grid.StageOut && j.rec.Started == 0; {
	case never && j.givenUp(), !never && j.rec.State >= grid.Running && !j.rec.Job.Rerunnable && !j.givenUp():
		return untilHome
	}
	return open
}

// beforeDrop is what has to be known before what a job has left here is dropped.
func (c *gates) beforeDrop(j *job) gate {
	switch {
	case j.rec.Kept:
		return keptHere
	case j.hasResult():
		return untilTaken
	case j.rec.State == grid.Lost:
		return itMayRun
	}
	return open
}
