package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// recovery finds out what this broker does not know: after a restart (recover.go), after a time in
// which nobody listened (stall.go), with a journal that was put back or lost (lives.go, rollback.go,
// recount.go, learn.go, lostpart.go), from the control directories (reconcile.go, traces.go) and
// from what users were told (told.go); and that there are two of it (duplicate.go).
type recovery struct {
	*kernel
	highWater map[grid.PeerID][]grid.JournalID // how far members' journals were seen to be
	boots     map[grid.PeerID][]uint64         // lives of members heard, in order
	rolled    *rollback                        // this journal was rolled back, and not all were asked
	bereft    bool                             // this journal replaces one that was lost
	learnt    map[grid.PeerID]int              // jobs learnt as lost, by the member that told of them
	stalls    uint32                           // of this life, after which members were asked what they saw

	reconciling bool                        // Reconcile is under way
	anew        bool                        // and is asked once more: its answer may be of before
	traced      bool                        // all control directories of jobs without a record were read
	untold      map[grid.JobID]*grid.Record // ends that users were told of jobs without a record; see told.go
	elsewhere   map[grid.JobID]trail        // members' traces of jobs that a group is to make anew

	estimator interface {
		judge()
	}
	execution interface {
		collect(j *job)
		lose(j *job, why string)
		unreadable(j *job)
		withdraw(j *job)
	}
	gates interface {
		beforeAbsence() gate
		beforeAgain(j *job, harmless bool) gate
		beforeDenying() gate
		beforeDismissing(owner grid.PeerID, at grid.Epoch) gate
		beforeDrop(j *job) gate
		beforeGoingOn() gate
		beforeUnpreparing(j *job) gate
		beforeResuming(j *job, from grid.PeerID, of wire.HandoffID) gate
		beforeYielding(j *job, started bool) gate
		notStarted(j *job) bool
		provesItself(j *job, from grid.PeerID, m wire.Report, over grid.Hash) bool
		toldBefore() []grid.Record
		witness() grid.Witness
	}
	home interface {
		awaitHome(j *job)
		keepRun(j *job)
		newJob(of grid.Job, key string, anyway bool) *job
		pull(j *job)
		pursueCancel(j *job)
		report(j *job)
		reportOf(j *job) wire.Report
		runOnceReported(j *job, why string)
		sendClosed(to grid.PeerID, j *job)
		terminal(j *job, s grid.State)
	}
	ownership interface {
		abandon(j *job, why string)
		decline(j *job, why string)
		declineRemoved(j *job)
		dropOffer(j *job, why string)
		handoffDue(j *job)
		handoffID(j *job) wire.HandoffID
		letOffer(j *job)
		letGo(j *job)
		ownerLost(j *job, owner grid.PeerID)
		preparedDue(j *job)
		release(a *acceptance)
		relinquish(j *job)
		sendAbort(b wire.HandoffID, why string)
		sendCommit(j *job)
		tellMoved(j *job)
		unproven(job *grid.Job, digest grid.Hash, certificates []grid.Certificate) doubt
	}
	relay interface {
		extendRequests()
	}
	search interface {
		extendRound()
		undecide(j *job)
	}
	terms interface{ recover() }
}

func newRecovery(k *kernel) *recovery {
	c := &recovery{
		kernel: k, learnt: map[grid.PeerID]int{}, highWater: map[grid.PeerID][]grid.JournalID{}, boots: map[grid.PeerID][]uint64{},
		untold: map[grid.JobID]*grid.Record{}, elsewhere: map[grid.JobID]trail{},
	}
	for p, seen := range k.cfg.Seen {
		c.highWater[p] = slices.Clone(seen[max(0, len(seen)-wire.MaxJournals):])
	}
	return c
}

func (c *recovery) routes(r *routes) {
	onEvent(r, func(Boot) { c.recover() })
	onEvent(r, c.stall)
	onEvent(r, c.reconciled)
	onEvent(r, c.peerJournal)
	onEvent(r, c.resume)
	onEvent(r, c.hadDuplicate)
	onMessage(r, c.onSeen)
	onMessage(r, c.onRecount)
	onMessage(r, c.onRecounted)
	onMessage(r, c.recall)
	onMessage(r, c.recalled)
	onMessage(r, c.recallRefused)
	onGeneral(r, seenDue, c.askSeen)
	onGeneral(r, growthDue, c.tellGrowth)
	onGeneral(r, recountDue, c.recount)
	onGeneral(r, reconcileDue, c.reconcile)
	r.stopped = c.stopped
}
