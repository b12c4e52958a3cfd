package core

import (
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// ownership sees to it that each job has one owner: the handoff at both sides (handoff.go and
// commit.go at the owner, candidate.go and prepared.go at the other), the certificates that prove
// who owns a job, what one member may make this site hold, and the end of an ownership that the
// home has given to another.
type ownership struct {
	*kernel
	offers []pendingOffer // that wait for a snapshot

	estimator interface {
		estimate(b *batch, q plan.Question, reservation grid.ReservationID) grid.Estimate
		look()
		question(j *grid.Job, now grid.Tick) plan.Question
		unwelcome(home grid.PeerID) *grid.Refusal
	}
	execution interface {
		checkInputs(j *job)
		end(j *job, state grid.State, reason string)
		launch(j *job, why string)
		refusedHere(id grid.JobID, of alterable) *grid.Refusal
		withdraw(j *job)
	}
	gates interface {
		beforeBelievingReady(ready grid.JournalID) gate
		beforeAnswer(ready grid.JournalID) gate
		beforeCancel(j *job) gate
		beforeDeclining(j *job) gate
		beforeDenying() gate
		beforeDrop(j *job) gate
		beforeUnpreparing(j *job) gate
		beforeGivingUp(j *job) gate
		beforeHearing(j *job, from grid.PeerID, b wire.HandoffID) gate
		beforeLettingGo(j *job) gate
		beforeRelinquishing(j *job, m wire.Superseded) gate
		beforePlacing(j *job) gate
		beforePreparing(b wire.HandoffID) gate
		beforeOwning(j *job, from grid.PeerID, m wire.Commit, last grid.JournalID) gate
		beforeReclaiming() gate
		beforeRelying(j *job, giver grid.PeerID) gate
		beforeRepeating(j *job) gate
		beforeHandingOn(j *job) gate
		beforeHaving(j *job) gate
		beforeTaking(j *job, chain []grid.Certificate) gate
		beforeTakingBack(j *job, m wire.Declined) gate
		beforeVerdict() gate
		beforeYielding(j *job, started bool) gate
		forgotRun(j *job, from grid.PeerID, last grid.Certificate) bool
		carried(wish bool) bool
	}
	home interface {
		keepRun(j *job)
		pursueCancel(j *job)
		runForgotten(j *job)
		onCancel(from grid.PeerID, m wire.Cancel)
		sendClosed(to grid.PeerID, j *job)
	}
	recovery interface {
		askOwner(j *job)
		disowned(from grid.PeerID, m wire.Declined)
		forgotten(from grid.PeerID, j *job, certificates []grid.Certificate) gate
		gaveAway(j *job, m wire.Owned)
		growthSoon()
		hasSeen(p grid.PeerID) string
		successorNamed(j *job, version grid.Hash, certificates []grid.Certificate)
		mark(p grid.PeerID) grid.JournalID
		rolledBack(how string, at grid.JournalID)
		rolledBackTo(from grid.PeerID, at grid.JournalID)
		saw(from grid.PeerID, at grid.JournalID)
	}
	search interface {
		predicted(j *job)
		ready(j *job, why string)
		undecide(j *job)
	}
	terms interface {
		wantsBack(j *job) bool
	}
}

func (c *ownership) routes(r *routes) {
	onMessage(r, c.offer)
	onMessage(r, c.onAccept)
	onMessage(r, c.onRefuse)
	onMessage(r, c.onReady)
	onMessage(r, c.onAbort)
	onMessage(r, c.onCommit)
	onMessage(r, c.onOwned)
	onMessage(r, c.onInquire)
	onMessage(r, c.onInquireReply)
	onMessage(r, c.onDeclined)
	onMessage(r, c.onUnknown)
	onMessage(r, c.onMoved)
	onMessage(r, c.onMovedAck)
	onMessage(r, c.superseded)
	onJob(r, onHandoff, c.handoffDue)
	onJob(r, onPrepared, c.preparedDue)
	r.accepted = c.keepalive
}
