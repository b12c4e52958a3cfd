package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// beforeDenying is what has to be known before this broker says of a job of its own name that there is
// none: its journal may lack what it once knew.
func (c *gates) beforeDenying() gate {
	switch {
	case c.recovery.recounting():
		return untilAll
	case c.recovery.begunAnew():
		return untilLearnt
	}
	return c.beforeSearch()
}

// beforeDismissing is what has to be known before one who claims a job of this home that has no
// record is told to let it go: as far as he and all who live have said what they saw, the journal lacks nothing; nor was he missing when that was asked.
func (c *gates) beforeDismissing(owner grid.PeerID, at grid.Epoch) gate {
	if g := c.beforeDenying(); g != open {
		return g
	}
	if c.recovery.missed(owner, at) {
		return untilLearnt
	}
	for p, m := range c.members {
		if (p == owner || m.live == grid.Alive) && !m.told {
			return untilNeighbours
		}
	}
	return open
}

// beforeVerdict is what has to be known before a candidate is told what became of a handoff.
func (c *gates) beforeVerdict() gate {
	if c.recovery.recounting() {
		return untilAll
	}
	return open
}

// beforeCertain is what has to be known before the acknowledgement of its home says that a job was not given away in a part of this
// journal that is lost: the home need not have heard of that.
func (c *gates) beforeCertain() gate {
	if c.recovery.recounting() {
		return untilAll
	}
	return open
}

// beforeHearing is what has to be known before what a candidate says of a handoff counts: that it
// is the one which is open with him.
func (c *gates) beforeHearing(j *job, from grid.PeerID, b wire.HandoffID) gate {
	h := j.rec.Handoff
	if b.To == from && h.To == from && h.Phase != grid.NoHandoff && (h.Epoch == b.Epoch || c.without(OfferUnbound)) {
		return open
	}
	return forAnother
}

// beforeGivingUp is what has to be known before an offer is given up: a silence that is long enough.
func (c *gates) beforeGivingUp(j *job) gate {
	switch {
	case j.heard == 0 && c.now-j.began >= c.cfg.AcceptDeadline:
		return open
	case j.heard != 0 && c.now-j.heard >= c.cfg.Lease && !c.without(NoLease):
		return open
	}
	return untilSilent
}

// beforeRepeating is what has to be known before a Commit is said once more.
func (c *gates) beforeRepeating(j *job) gate {
	if j.committed && c.without(CommitNotRepeated) {
		return forNobody
	}
	return open
}

// beforeTakingBack is what has to be known before a job that was committed is taken back: the candidate's word never
// to own it, from the journal that was ready, or a later life of that.
func (c *gates) beforeTakingBack(j *job, m wire.Declined) gate {
	switch hold, k := c.beforeReturning(j), j.rec.Candidate; {
	case hold != open:
		return hold
	case m.Journal.Incarnation != k.Incarnation, m.Journal.Life == k.Life && m.Journal.Sequence < k.Sequence:
		return untilForgotten // that journal is not the one that was ready: it may have owned
	case m.Journal.Life != k.Life && m.Ready != k:
		return untilInquired // a later life of it, if it reaches so far: it is to say so
	}
	return open
}

// beforeResuming is what has to be known before a job that another should own, and says never to own, goes on at its home:
// that it is the owner, was not made so by this home itself, which knows the journal that was READY (see beforeTakingBack), has never said that it owns it, that nothing
// that may run once has started, and that who gave it away does not take it back.
func (c *gates) beforeResuming(j *job, from grid.PeerID, of wire.HandoffID) gate {
	r := &j.rec
	switch {
	case !c.isHome(j), r.Role != grid.Watching, r.Owner != from, r.Epoch != of.Epoch, of.To != from, r.State.Terminal(), j.asked == 0:
		return forAnother
	case c.beforeReturning(j) != open:
		return c.beforeReturning(j)
	case r.Handoff.Epoch == r.Epoch, r.Report > 0, r.Adopted != (grid.Epoch{}), r.Job.Part != nil, r.End != 0, !r.Job.Rerunnable && r.Started > 0:
		return untilForgotten
	case c.members[j.giver()] != nil && j.letGo != r.Epoch:
		return untilGiver
	}
	return open
}

// beforeReturning is what has to be known before a job that another had, or was to get, is this site's again, by whatever word of his: a
// branch of this journal that is lost may have taken it back before, on the same word, and given it to a third.
func (c *gates) beforeReturning(j *job) gate {
	switch {
	case c.without(ReturnedUnasked):
		return open
	case c.recovery.recounting():
		return untilAll
	case j.recovered && c.silent(unspoken):
		return untilNeighbours
	}
	return open
}

// beforeRelinquishing is what has to be known before the word of its home ends what runs here of a job that may run once: that it is the
// answer to what was reported last. One that answers an older report may be late, and the run adopted since; the last is answered too.
func (c *gates) beforeRelinquishing(j *job, m wire.Superseded) gate {
	if m.Answers != 0 && m.Answers < j.rec.Report && j.rec.State >= grid.Running && !j.rec.Job.Rerunnable {
		return overtaken
	}
	return open
}

// beforeReclaiming is what has to be known before a job is taken back from an owner that does not know it: it may have
// started there.
func (c *gates) beforeReclaiming() gate {
	if c.without(UnknownTakenBack) {
		return open
	}
	return untilForgotten
}

// beforePreparing is what has to be known before an offer is considered: that this site has not owned the job at that epoch, in
// a journal that is lost, or until it ended elsewhere. Then the offer is a late copy, and whoever has heard nothing of that run would say that it was committed.
func (c *gates) beforePreparing(b wire.HandoffID) gate {
	switch {
	case c.without(LateOffersCount):
		return open
	case !c.recovery.read():
		return untilDirectory
	case !c.recovery.tracesOf(b.Job).Before(b.Epoch):
		return itMayRun
	case !c.closed[b.Job].epoch.Before(b.Epoch):
		return itEnded
	}
	return open
}

// beforeOwning is what has to be known before this site owns a job by a Commit.
func (c *gates) beforeOwning(j *job, from grid.PeerID, m wire.Commit, last grid.JournalID) gate {
	prepared, k := j.rec.Role == grid.Prepared && j.rec.Handoff.Epoch == m.Handoff.Epoch, m.Journal
	switch {
	case c.beforeBelievingReady(m.Ready) != open:
		return journalBehind
	case prepared && (j.before(k) || !k.SameLife(last) && k != (grid.JournalID{}) || c.notMeant(m.Ready)):
		// It was said before this offer was PREPARED, or to the journal that was here before: of
		// a handoff of which nothing is left here. The Offer was a copy too.
		return untilInquired
	case prepared && j.rec.Owner == from && j.sum() == m.Handoff.Digest:
		return open
	case c.without(CommitCreates) && j.rec.Role != grid.Owning && !m.Handoff.Epoch.Before(j.rec.Handoff.Epoch):
		return open
	}
	return forAnother
}

// beforeDeclining is what has to be known before this site gives its word never to own a job that is PREPARED: what
// others and its control directory tell of the branches of this journal that are lost, as one of those may have owned it.
func (c *gates) beforeDeclining(j *job) gate {
	switch {
	case c.recovery.recounting():
		return untilAll
	case j.unreconciled():
		return untilDirectory
	}
	return open
}

// beforeUnpreparing is what has to be known before a job that is PREPARED is given up by the word of others: its control directory, as this site may have owned
// it in a part of its journal that is lost.
func (c *gates) beforeUnpreparing(j *job) gate {
	if j.unreconciled() {
		return untilDirectory
	}
	return open
}

// beforeTaking is what has to be known before a Commit makes this site the owner, by its certificate: the commit of an
// owner elsewhere than home is not taken without a chain that proves it.
func (c *gates) beforeTaking(j *job, chain []grid.Certificate) gate {
	if c.isHome(j) || j.rec.Owner == j.rec.Job.Home || len(chain) > 0 || c.without(CommitCreates) {
		return open
	}
	return untilHome
}

// beforeRelying is what has to be known before the Commit by which this site owns a job counts as a word of its home, which lets it start: the Commit
// may be older than what the home has done since, and so may what that has said of the job; and in an earlier life the job may
// have been owned, and ended, by this very Commit.
func (c *gates) beforeRelying(j *job, giver grid.PeerID) gate {
	if j.stalled || j.recovered || giver != j.rec.Job.Home && c.now-j.began > c.cfg.Lease {
		return untilHome
	}
	return open
}

// beforeHaving is what has to be known before a job is owned that this life found PREPARED: whether its inputs are here. They may have been dropped in a part of this
// journal that is lost.
func (c *gates) beforeHaving(j *job) gate {
	if len(j.rec.Job.Inputs) == 0 || j.inputsHere || c.isHome(j) {
		return open
	}
	return untilInputs
}

// beforeBelievingReady: what was READY is not in this journal. It was rolled back since, and may have owned the job.
func (c *gates) beforeBelievingReady(ready grid.JournalID) gate {
	if ready.Incarnation == c.cfg.Journal.Incarnation && !c.reaches(ready) {
		return journalBehind
	}
	return open
}

// notMeant: another journal of this site was READY. It is lost, and may have owned the job.
func (c *gates) notMeant(ready grid.JournalID) bool {
	return ready.Incarnation != 0 && ready.Incarnation != c.cfg.Journal.Incarnation
}

// beforeAnswer is what has to be known before the answer to an Inquire counts: that it is of no question of a journal that is lost, like an offer that
// is a late copy.
func (c *gates) beforeAnswer(ready grid.JournalID) gate {
	if c.notMeant(ready) && !c.without(LateOffersCount) {
		return forAnother
	}
	return open
}

// claimant is who reports a job, by its epoch.
type claimant uint8

const (
	theOwner claimant = iota // that its home knows
	ofLater                  // epoch, or of the same: nobody that its home knows
	ofOlder                  // epoch, which is over
)

// claims tells who it is that reports a job to its home.
func (c *gates) claims(j *job, from grid.PeerID, m wire.Report) claimant {
	switch {
	case from == j.rec.Owner && m.Epoch == claimed(&j.rec):
		return theOwner
	case !m.Epoch.Before(j.rec.Epoch):
		return ofLater
	case c.without(NoEpochCheck):
		return theOwner
	}
	return ofOlder
}

// beforeAcknowledging is what has to be known before a report is acknowledged, which lets the owner start the job:
// this journal may have been put back to before the home gave the job to itself, or to another.
func (c *gates) beforeAcknowledging(j *job, m wire.Report) gate {
	switch {
	case j.rec.State == grid.StageOut:
		return untilOutput
	case m.State < grid.Running && c.recovery.recounting():
		return untilAll
	case m.State < grid.Running && j.unreconciled() && c.recovery.mayLack(j):
		return untilDirectory
	case m.State < grid.Running && m.Version != (grid.Hash{}) && m.Version != j.sum():
		return untilVersion
	}
	return open
}

// beforeAdopting is what has to be known before the result of an older epoch becomes the job's, or the program that
// runs or has run at it, of a job that may run once. What is kept where it is, as this home has said once, may be gone since: a word on it that is late is no news.
func (c *gates) beforeAdopting(j *job, from grid.PeerID, m wire.Report) gate {
	switch {
	case !isResult(m) && (j.rec.Job.Rerunnable || !m.Started.Known || m.State < grid.Running):
		return forNobody
	case !c.hadIt(j, from, m):
		return keptHere
	case j.rec.State == grid.Lost:
		return open
	case !c.notStarted(j), j.notAdopted == m.Epoch:
		return itStarted
	case j.rec.Attempt > 0 && j.rec.State != grid.Ready:
		return untilToken
	}
	return open
}

// beforeYielding is what has to be known before this home lets another have a job, of whom certificates show it that it is his: it
// owns the job by its journal, and has given it away in a part of that which is lost; or the owner that it knows may have. Started
// tells that the other's has.
func (c *gates) beforeYielding(j *job, started bool) gate {
	own := j.rec.Role == grid.Owning
	ran := j.rec.State == grid.Running || j.rec.State == grid.Finished || j.rec.State == grid.StageOut
	switch {
	case own && !started && j.unreconciled() && c.recovery.mayLack(j):
		return untilDirectory
	case own && !ran && j.rec.Attempt > 0 && j.rec.State != grid.Ready:
		return untilToken // also where the other's has started: its end may be told at once
	case started:
		return open
	case !own && ran && j.rec.Started > 0 && !j.rec.Job.Rerunnable:
		return itStarted // a run is never handed on; of one that may run again, another may be
	case own && ran:
		return itStarted
	}
	return open
}

// forgotRun: the owner whose run this home has kept against another (beforeYielding) says that he has given the job away since. A run is never handed
// on, so nothing is left of it there, and the other was told that the job is not his.
func (c *gates) forgotRun(j *job, from grid.PeerID, last grid.Certificate) bool {
	r := &j.rec
	return r.Role == grid.Watching && r.Owner == from && last.To != from && r.Adopted != (grid.Epoch{}) &&
		r.Adopted.Before(last.Epoch) && last.Epoch.Before(r.Epoch) && !r.Job.Rerunnable
}

// hadIt: who reports a job of an older epoch is known here to have had it, or proves that: of the version that he has, or of the one here.
func (c *gates) hadIt(j *job, from grid.PeerID, m wire.Report) bool {
	return slices.Contains(j.rec.Trail, from) || c.provesItself(j, from, m, m.Version) || c.provesItself(j, from, m, j.sum())
}

// provesItself: who reports a job shows certificates over a version of it, the first of them signed by this home, that end with him.
func (c *gates) provesItself(j *job, from grid.PeerID, m wire.Report, over grid.Hash) bool {
	n := len(m.Certificates)
	return n > 0 && m.Certificates[n-1].To == from && m.Certificates[n-1].Epoch == m.Epoch &&
		c.ownership.unproven(&j.rec.Job, over, m.Certificates) == believed
}

// notStarted reports that this site, the home, owns the job and has not seen it start.
func (c *gates) notStarted(j *job) bool {
	switch {
	case j.rec.Role != grid.Owning:
		return false
	case j.rec.CancelRequested: // what is being withdrawn ends by that
		return j.rec.State <= grid.Ready
	}
	return j.rec.State <= grid.Ready || j.rec.State == grid.Assigned || j.rec.State == grid.Moving
}

// beforeChanging is what has to be known before a change is made: of one that another broker has passed on, that it was not made, and is
// not late.
func (c *gates) beforeChanging(j *job, by grid.Relayed) gate {
	switch same, older := j.rec.Overtaken(by); {
	case same:
		return itIsDone
	case older:
		return overtaken
	}
	return open
}
