package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// home answers for the jobs of this site's users, from submission to removal, wherever they are
// owned; and reports those owned here to their homes.
type home struct {
	*kernel
	budgets interface {
		admit(j *grid.Job) error
	}
	estimator interface {
		judge()
		lookAgain()
	}
	execution interface {
		end(j *job, state grid.State, reason string)
		withdraw(j *job)
	}
	gates interface {
		beforeCancel(j *job) gate
		beforeFailing(j *job) gate
		beforeKilled(j *job, end grid.State) gate
		beforeCertain() gate
		beforeStart(j *job) gate
		beforeAcknowledging(j *job, m wire.Report) gate
		beforeAdopting(j *job, from grid.PeerID, m wire.Report) gate
		beforeAgain(j *job, harmless bool) gate
		beforeCounting() gate
		beforeDrop(j *job) gate
		beforeEndingRest(recovered bool) gate
		beforeEntering(recovered bool) gate
		beforeObeying(j *job, at grid.Epoch) gate
		beforeTelling(j *job) gate
		hadIt(j *job, from grid.PeerID, m wire.Report) bool
		provesItself(j *job, from grid.PeerID, m wire.Report, over grid.Hash) bool
		claims(j *job, from grid.PeerID, m wire.Report) claimant
		why(j *job, hold gate) string
		whom(j *job, hold gate) []grid.PeerID
	}
	ownership interface {
		abandon(j *job, why string)
		adopted(j *job)
		believe(j *job, certificates []grid.Certificate, started bool) doubt
		declineRemoved(j *job)
		handedOver(j *job)
		handoffDue(j *job)
		heardVersion(from grid.PeerID, j *job, version grid.Hash, certificates []grid.Certificate)
		inputsFetched(e Fetched)
		letOffer(j *job)
		notRepeated(j *job)
		relinquish(j *job)
		superseded(from grid.PeerID, m wire.Superseded)
		tellMoved(j *job)
	}
	recovery interface {
		askSuccessors(j *job)
		awaitSuccessors(j *job, but grid.PeerID)
		askOwner(j *job)
		givenAway(from grid.PeerID, j *job, m wire.Report) bool
		knownOf(id grid.JobID) grid.State
		hadOnce(j *job, at grid.PeerID, epoch grid.Epoch)
		successorForgotten(j *job, e Forget)
		spokenFor(j *job, who grid.Forgotten)
		madeAgain(j *job) (ended bool)
		reconcile()
		forgets(who grid.Forgotten)
		supplant(from grid.PeerID, j *job, certificates []grid.Certificate, started bool) gate
		unknownReport(from grid.PeerID, m wire.Report)
	}
	search interface {
		ready(j *job, why string)
	}
	terms interface {
		admitTerms(j *grid.Job) error
		await(j *job)
		due(j *job)
		handedIn(of *grid.Job) grid.Tick
		tooLate(j *job)
		groupEnded(id grid.GroupID)
		oweEnd(j *job, s grid.State)
		word(j *job, m wire.ReportAck) wire.ReportAck
	}
}

func (c *home) routes(r *routes) {
	onEvent(r, c.submit)
	onEvent(r, c.uploaded)
	onEvent(r, c.cancelRequest)
	onEvent(r, c.submitGroup)
	onEvent(r, c.cancelGroup)
	onEvent(r, c.removeGroup)
	onEvent(r, c.removeRequest)
	onEvent(r, c.furnished)
	onEvent(r, c.forget)
	onEvent(r, c.fetched)
	onEvent(r, c.exported)
	onEvent(r, c.exportedAgain)
	onMessage(r, c.onReport)
	onMessage(r, c.onReportAck)
	onMessage(r, c.onCancel)
	onMessage(r, c.onClosed)
	onMessage(r, c.reportRefused)
	onJob(r, onReport, c.report)
	onJob(r, onCancelling, c.cancelDue)
	onJob(r, onUpload, c.uploadDue)
	onJob(r, onPull, c.pull)
	onGeneral(r, refreshDue, c.refresh)
	onGeneral(r, retentionDue, c.retain)
}

// Home and owner. The owner reports at every change and at intervals until the home
// has acknowledged; the last report carries the end and the list of the output,
// which the home fetches before it acknowledges with Closed.
//
//	owner:  Report(n) ... Report(n) ─► ReportAck(n)          ... Report(end) ─► ReportAck(Closed): tombstone
//	home:   newer (epoch, n) ─► save ─► ReportAck            ... end ─► Fetch output ─► terminal ─► Closed

// onReport is the owner's word, heard at the home.
func (c *home) onReport(from grid.PeerID, m wire.Report) {
	j := c.job(m.Job)
	if j == nil {
		c.recovery.unknownReport(from, m)
		return
	}
	if c.isHome(j) && !j.rec.State.Terminal() {
		c.ownership.heardVersion(from, j, m.Version, m.Certificates)
	}
	who := c.gates.claims(j, from, m)
	switch {
	case !c.isHome(j):
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "this site is not the home of that job"})
		return
	case malformed(m):
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "its state and its end do not fit together"})
		return
	case who == theOwner && j.rec.State.Terminal():
		c.afterItsEnd(from, j, m)
		return
	case who == theOwner:
	case who == ofOlder && m.Version == (grid.Hash{}) && c.gates.beforeAdopting(j, from, m) == keptHere:
		// He was acknowledged in a part of this journal that is lost, and has shown none since.
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "this home does not know that it has had the job: its certificates are to be shown"})
		return
	case who == ofOlder:
		c.oldClaim(from, j, m)
		return
	case j.rec.State.Terminal():
		c.claimOfEnded(from, j, m)
		return
	case j.rec.Role == grid.Owning && c.recovery.givenAway(from, j, m):
		switch c.recovery.supplant(from, j, m.Certificates, m.Started.Known) {
		case open:
		case itStarted:
			c.oldClaim(from, j, m)
			return
		default:
			return // he says it again
		}
	case j.rec.Role == grid.Owning && j.unsupplied() && len(m.Certificates) > 0:
		c.send(from, wire.Recall{Job: m.Job}) // its certificates are of the job with its files
		return
	case j.rec.Role == grid.Owning:
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "its home owns it"})
		return
	}
	if why := c.newOwner(j, from, m); who != theOwner && why != believed {
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: why.String()})
		return
	}
	if j.rec.Handoff.Phase == grid.Committed && j.rec.Handoff.To == from && j.rec.Handoff.Epoch == m.Epoch {
		c.ownership.handedOver(j) // a report of the new owner says Owned too
	}
	j.heard, j.version = c.now, m.Version
	c.saysNone(j, from) // of an older term
	// An end is the last word of an owner, also of one whose journal, and with it the number of
	// its reports, was set back: that it waits, as it says then, does not unsay that.
	newer := m.Number > j.rec.Report || j.rec.Report == 0 || m.State == grid.StageOut && !j.bringing()
	if newer && !unsays(&j.rec, m) {
		c.apply(j, from, m)
	} else {
		c.contact(j)
		c.hearEstimate(j, m)
		c.hearSetBack(j, m)
	}
	switch c.gates.beforeAcknowledging(j, m) {
	case untilOutput:
		c.pull(j)
		return
	case untilAll, untilDirectory:
		return
	case untilVersion:
		c.tellVersion(from, j)
		return
	}
	c.send(from, c.terms.word(j, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Cancel: j.rec.Wished()}))
}

// unsays: a report says that a job waits whose end its owner has told, or its start, if it may run once. That owner was put back to before that, and
// does not know yet what its control directory and batch system have of it.
func unsays(r *grid.Record, m wire.Report) bool {
	started := r.Report > 0 && r.Started > 0 && !r.Job.Rerunnable && (r.State == grid.Running || r.State == grid.Finished)
	return m.State < grid.Running && (r.State == grid.StageOut || started)
}

// newOwner says why the one who reports is not the owner. One that the home does not
// know yet is believed by its certificates.
func (c *home) newOwner(j *job, from grid.PeerID, m wire.Report) doubt {
	if n := len(m.Certificates); n == 0 || m.Certificates[n-1].To != from || m.Certificates[n-1].Epoch != m.Epoch {
		return ownedByAnother
	}
	if why := c.ownership.believe(j, m.Certificates, m.Started.Known); why != believed {
		return why
	}
	if from != j.rec.Owner { // at the same epoch: nothing of its certificates was looked at
		return ownedAtThatEpoch
	}
	return believed
}

// malformed: a report tells the end in STAGEOUT, and never one of the home's own states.
func malformed(m wire.Report) bool {
	switch m.State {
	case grid.Ready, grid.Assigned, grid.Moving, grid.Running:
		return m.End != 0
	case grid.Finished, grid.StageOut:
		return !m.End.Terminal()
	}
	return true
}

// apply takes a newer report into the home's record.
func (c *home) apply(j *job, from grid.PeerID, m wire.Report) {
	r := &j.rec
	why := "heard from " + string(c.siteName(from))
	if m.State == r.State {
		why = ""
	}
	if r.Report == 0 || r.Attempt != m.Attempt { // of another run than the last that was heard of
		r.Run = grid.Run{Adopted: r.Adopted}
	}
	r.Report, j.setBack = max(r.Report, m.Number), false
	if m.Started.Known {
		c.terms.tooLate(j)
	}
	if r.State != grid.Lost { // that is not unsaid before the result is here
		c.hears(j, m.State)
	}
	r.Attempt, r.Local = m.Attempt, m.Local
	r.Started, r.Finished = c.keepInstant(r.Started, m.Started), c.keepInstant(r.Finished, m.Finished)
	if m.Started.Known && m.Finished.Known { // its run time is exact, however long the reports took
		r.Finished = r.Started + max(0, m.Started.Span-m.Finished.Span)
	}
	if r.State != grid.Lost || m.State == grid.StageOut { // it stays LOST until what it left is known
		r.End = m.End
	}
	r.ExitCode, r.HasExit, r.Signal, r.Reason, r.Usage = m.ExitCode, m.HasExit, m.Signal, m.Reason, m.Usage
	r.Arrived, r.Hosts, r.Address, r.Rendezvous = c.keepInstant(r.Arrived, m.Arrived), m.Hosts, m.Address, m.Rendezvous
	if m.Cancel {
		j.wish()
	}
	r.ContactLost = 0
	c.estimateOf(r, m)
	if m.State == grid.StageOut {
		r.Outputs, j.fails = m.Outputs, 0
	}
	c.save(j, why)
}

// keepInstant does not let an instant wander with the delay of each report.
func (c *home) keepInstant(old grid.Tick, a wire.Ago) grid.Tick {
	if old != 0 && a.Known {
		return old
	}
	return c.instant(a)
}

// hearEstimate takes what a repeated report says anew of a job that waits.
func (c *home) hearEstimate(j *job, m wire.Report) {
	if m.Number == j.rec.Report && m.State == grid.Assigned && j.rec.State == grid.Assigned {
		j.rec.Reason = m.Reason
		c.estimateOf(&j.rec, m)
		c.show(j)
	}
}

// estimateOf takes the expected start; a job that waits may have none any more.
func (c *home) estimateOf(r *grid.Record, m wire.Report) {
	switch {
	case m.Estimate.Known:
		r.EstimateNow = c.now + m.Estimate.Span
	case m.State == grid.Assigned:
		r.EstimateNow = 0
	}
}

// contact: the owner was heard.
func (c *home) contact(j *job) {
	if j.rec.ContactLost != 0 {
		j.rec.ContactLost = 0
		c.show(j)
	}
}

// awaitHome has the home acknowledge what is said to it now, before anything is started or handed on.
func (c *home) awaitHome(j *job) {
	j.homeHeard = 0
	c.save(j, "") // under a new number: what acknowledges an older one may have been said before
	j.since = j.rec.Report
}

// loseContact tells since when the owner of a job has not been heard.
func (c *home) loseContact(j *job) {
	if j.rec.ContactLost == 0 && !j.rec.State.Terminal() {
		j.rec.ContactLost = max(j.heard, 1)
		c.show(j)
	}
}

// refresh renews the estimates of waiting jobs at intervals, and looks which owners
// have not been heard.
func (c *home) refresh() {
	c.estimator.judge()
	waiting := false
	for _, j := range c.sorted() {
		c.recovery.askSuccessors(j)
		waiting = waiting || j.rec.Role == grid.Owning && j.rec.State == grid.Assigned
		if j.rec.Role == grid.Watching && c.now-j.heard > silence*c.cfg.Digest {
			c.loseContact(j)
			c.recovery.askOwner(j)
			c.forgetOverdue(j)
		}
	}
	if waiting {
		c.estimator.lookAgain()
	}
	c.armGeneral(refreshDue, c.cfg.Refresh)
}

// terminal is the end of the job at its home.
func (c *home) terminal(j *job, s grid.State) {
	s = j.provable(s)
	c.become(j, s)
	c.terms.oweEnd(j, s)
	j.rec.End = s
	j.rec.Ended = c.now
	j.rec.ContactLost = 0
	if j.rec.Role == grid.Prepared { // its owner had offered it back, and then started or ended it
		c.turn(j, grid.Watching)
	}
	c.rest(j)
	c.save(j, "the end"+because(j.rec.Reason))
	if c.gates.beforeDrop(j) == open { // what may still run keeps its folder as long as the job is kept
		c.emit(Discard{Job: j.rec.Job.ID, Keep: true})
	}
	for _, p := range j.rec.Trail {
		c.sendClosed(p, j)
	}
}
