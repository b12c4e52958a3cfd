package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Home and owner. The owner reports at every change and at intervals until the home
// has acknowledged; the last report carries the end and the list of the output,
// which the home fetches before it acknowledges with Closed.
//
//	owner:  Report(n) ... Report(n) ─► ReportAck(n)          ... Report(end) ─► ReportAck(Closed): tombstone
//	home:   newer (epoch, n) ─► save ─► ReportAck            ... end ─► Fetch output ─► terminal ─► Closed

// report sends the present report and arms its repetition. Its number is on disk:
// save raises it with every change (see save).
func (c *Core) report(j *job) {
	if j.rec.Role == grid.Tombstone {
		c.tellMoved(j)
		return
	}
	if c.home(j) || j.rec.Role != grid.Owning || j.rec.Closed {
		return
	}
	c.send(j.rec.Job.Home, c.reportOf(j))
	if j.acked && j.rec.State != grid.StageOut {
		c.arm(j, onReport, c.cfg.Digest)
	} else {
		c.backoff(j, onReport)
	}
}

func (c *Core) reportOf(j *job) wire.Report {
	r := &j.rec
	m := wire.Report{
		Job: r.Job.ID, Epoch: r.Epoch, Number: r.Report, State: r.State, Attempt: r.Attempt, Local: r.Local,
		Started: c.ago(r.Started), Finished: c.ago(r.Finished),
		End: r.End, ExitCode: r.ExitCode, HasExit: r.HasExit, Signal: r.Signal, Reason: r.Why(),
		Cancel: r.CancelRequested, Usage: r.Usage,
	}
	if r.EstimateNow != 0 && r.State == grid.Assigned {
		m.Estimate = wire.In{Span: r.EstimateNow - c.now, Known: true}
	}
	if r.State == grid.StageOut {
		m.Outputs = r.Outputs
	}
	if !j.known {
		m.Certificates = r.Certificates
	}
	return m
}

func (c *Core) ago(t grid.Tick) wire.Ago {
	if t == 0 {
		return wire.Ago{}
	}
	return wire.Ago{Span: max(0, c.now-t), Known: true}
}

func (c *Core) instant(a wire.Ago) grid.Tick {
	if !a.Known {
		return 0
	}
	return c.now - a.Span
}

// onReport is the owner's word, heard at the home.
func (c *Core) onReport(from grid.PeerID, m wire.Report) {
	j := c.job(m.Job)
	switch {
	case j == nil:
		c.unknownReport(from, m)
		return
	case !c.home(j):
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "this site is not the home of that job"})
		return
	case malformed(m):
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "its state and its end do not fit together"})
		return
	case from == j.rec.Owner && m.Epoch == claimed(&j.rec):
		switch {
		case j.rec.State == grid.Lost:
			c.lostHeard(from, j, m)
			return
		case j.rec.State.Terminal() && m.State != grid.StageOut && j.rec.Finished > 0: // it has reported its end
			c.send(from, wire.ReportAck{
				Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true,
				End: j.rec.State, ExitCode: j.rec.ExitCode, HasExit: j.rec.HasExit, Signal: j.rec.Signal,
			})
			return
		case j.rec.State.Terminal() && m.State != grid.StageOut: // it was ended here, as by forget: nothing of it may start
			c.lostHeard(from, j, m)
			return
		case j.rec.State.Terminal():
			c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true})
			return
		}
	case m.Epoch.Before(j.rec.Epoch) && !c.cfg.Broken.Without(NoEpochCheck):
		c.oldClaim(from, j, m)
		return
	case j.rec.State.Terminal():
		c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true})
		return
	case j.rec.Role == grid.Owning && c.givenAway(from, j, m):
		c.supplant(from, j, m.Certificates)
	case j.rec.Role == grid.Owning && j.unsupplied() && len(m.Certificates) > 0:
		c.send(from, wire.Recall{Job: m.Job}) // its certificates are of the job with its files
		return
	case j.rec.Role == grid.Owning:
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "its home owns it"})
		return
	}
	if why := c.newOwner(j, from, m); why != "" {
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: why})
		return
	}
	if j.rec.Handoff.Phase == grid.Committed && j.rec.Handoff.To == from && j.rec.Handoff.Epoch == m.Epoch {
		c.handedOver(j) // a report of the new owner says Owned too
	}
	j.heard = c.now
	// An end is the last word of an owner, also of one whose journal, and with it the number of
	// its reports, was set back.
	if m.Number > j.rec.Report || j.rec.Report == 0 || m.State == grid.StageOut && !j.bringing() {
		c.apply(j, from, m)
	} else {
		c.contact(j)
		c.hearEstimate(j, m)
	}
	if j.rec.State == grid.StageOut {
		c.pull(j)
		return // acknowledged when the output is here
	}
	if m.State < grid.Running && j.unreconciled() && c.mayLack(j) {
		// An acknowledgement lets the owner start the job. This journal may have been put back to
		// before the home gave the job to itself: its control directory speaks first.
		return
	}
	c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Cancel: j.rec.CancelRequested})
}

// newOwner says why the one who reports is not the owner. One that the home does not
// know yet is believed by its certificates.
func (c *Core) newOwner(j *job, from grid.PeerID, m wire.Report) string {
	if from == j.rec.Owner && m.Epoch == claimed(&j.rec) || c.cfg.Broken.Without(NoEpochCheck) && m.Epoch.Before(j.rec.Epoch) {
		return ""
	}
	if n := len(m.Certificates); n == 0 || m.Certificates[n-1].To != from || m.Certificates[n-1].Epoch != m.Epoch {
		return "another site owns it, and no certificate says that it has changed hands"
	}
	if why := c.believe(j, m.Certificates); why != "" {
		return why
	}
	if from != j.rec.Owner { // at the same epoch: nothing of its certificates was looked at
		return "another site owns it at that epoch"
	}
	return ""
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
func (c *Core) apply(j *job, from grid.PeerID, m wire.Report) {
	r := &j.rec
	why := "heard from " + string(c.siteName(from))
	if m.State == r.State {
		why = ""
	}
	if r.Report == 0 || r.Attempt != m.Attempt { // of another run than the last that was heard of
		r.Run = grid.Run{}
	}
	r.Report = max(r.Report, m.Number)
	if r.State != grid.Lost { // that is not unsaid before the result is here
		c.hears(j, m.State)
	}
	r.Attempt, r.Local = m.Attempt, m.Local
	r.Started, r.Finished = c.keepInstant(r.Started, m.Started), c.keepInstant(r.Finished, m.Finished)
	if m.Started.Known && m.Finished.Known { // its run time is exact, however long the reports took
		r.Finished = r.Started + max(0, m.Started.Span-m.Finished.Span)
	}
	r.End, r.ExitCode, r.HasExit, r.Signal, r.Reason, r.Usage = m.End, m.ExitCode, m.HasExit, m.Signal, m.Reason, m.Usage
	r.CancelRequested = r.CancelRequested || m.Cancel
	r.ContactLost = 0
	c.estimateOf(r, m)
	if m.State == grid.StageOut {
		r.Outputs = m.Outputs
	}
	c.save(j, why)
}

// keepInstant does not let an instant wander with the delay of each report.
func (c *Core) keepInstant(old grid.Tick, a wire.Ago) grid.Tick {
	if old != 0 && a.Known {
		return old
	}
	return c.instant(a)
}

// hearEstimate takes what a repeated report says anew of a job that waits.
func (c *Core) hearEstimate(j *job, m wire.Report) {
	if m.Number == j.rec.Report && m.State == grid.Assigned && j.rec.State == grid.Assigned {
		j.rec.Reason = m.Reason
		c.estimateOf(&j.rec, m)
		c.show(j)
	}
}

// estimateOf takes the expected start; a job that waits may have none any more.
func (c *Core) estimateOf(r *grid.Record, m wire.Report) {
	switch {
	case m.Estimate.Known:
		r.EstimateNow = c.now + m.Estimate.Span
	case m.State == grid.Assigned:
		r.EstimateNow = 0
	}
}

// contact: the owner was heard.
func (c *Core) contact(j *job) {
	if j.rec.ContactLost != 0 {
		j.rec.ContactLost = 0
		c.show(j)
	}
}

// bringing reports that the end of the job is known and its output is not yet here.
// A job that was given up for lost gains its result in that state.
func (j *job) bringing() bool {
	return j.rec.State == grid.StageOut || j.rec.State == grid.Lost && j.rec.End != 0 && j.rec.End != grid.Lost
}

// pull brings the output home, then ends the job.
func (c *Core) pull(j *job) {
	if !c.home(j) || !j.bringing() || j.pulling {
		return
	}
	if len(j.rec.Outputs) == 0 {
		c.broughtHome(j)
		return
	}
	if m := c.members[j.rec.Owner]; m == nil || m.live != grid.Alive {
		return // asked again when it lives
	}
	j.pulling = true
	c.emit(Fetch{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, From: j.rec.Owner, Set: OutputFiles, Files: j.rec.Outputs})
}

func (c *Core) fetched(e Fetched) {
	if e.Set == InputFiles {
		c.inputsFetched(e)
		return
	}
	j := c.job(e.Job)
	if j == nil {
		return
	}
	j.pulling = false
	if !j.bringing() || j.rec.Epoch != e.Epoch {
		return
	}
	if e.Err != "" {
		c.note(e.Job, j.rec.Owner, "fetching its output: "+clip(e.Err))
		if j.fails++; !e.Final || j.fails < maxFinal {
			c.backoff(j, onPull)
			return
		}
		j.rec.Outputs = nil
		j.rec.Reason = "its output could not be fetched: " + clip(e.Err)
	}
	c.broughtHome(j)
}

// maxFinal is how often a fetch is tried again that its error says cannot be mended.
const maxFinal = 5

// broughtHome: all is at home; the owner may forget.
func (c *Core) broughtHome(j *job) {
	c.terminal(j, j.rec.End)
	c.send(j.rec.Owner, wire.ReportAck{Job: j.rec.Job.ID, Epoch: claimed(&j.rec), Number: j.rec.Report, Closed: true})
}

func (c *Core) onReportAck(from grid.PeerID, m wire.ReportAck) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || j.rec.Role != grid.Owning || j.rec.Epoch != m.Epoch {
		return
	}
	if m.Number >= j.since {
		j.homeHeard = c.now
		if j.rec.Uncertain {
			j.rec.Uncertain = false
			c.save(j, "its home knows it to be here")
		}
	}
	if m.Closed {
		c.endedBefore(j, m)
		c.closeOwner(j)
		return
	}
	if m.Number == j.rec.Report {
		j.acked, j.known = true, true
		if j.rec.State != grid.StageOut {
			c.arm(j, onReport, c.cfg.Digest)
		}
	}
	if m.Cancel && !j.rec.CancelRequested {
		j.rec.CancelRequested = true
		c.save(j, "cancel requested at home")
		c.enforceCancel(j)
	}
	if j.awaits && j.rec.State == grid.Ready && c.mustAsk(j) == "" {
		c.handoffDue(j)
	}
}

// reportRefused: the home may have been restored from a backup, and have forgotten that it
// knew this owner: the next report shows the certificates again.
func (c *Core) reportRefused(from grid.PeerID, m wire.Error) {
	j := c.job(m.Job)
	if j == nil || m.Of != wire.KindReport || j.rec.Job.Home != from {
		return
	}
	if !j.known && j.rec.Role == grid.Owning {
		c.arm(j, onReport, c.cfg.Digest) // it has seen them: to say it again at once is no use
	}
	j.known = false
}

// endedBefore: this owner has reported the end of the job in a part of its journal that is
// lost, and the home has it all. What may be left of it here goes.
func (c *Core) endedBefore(j *job, m wire.ReportAck) {
	if m.End == 0 || j.rec.End != 0 {
		return
	}
	if j.rec.Attempt > 0 {
		c.emit(Kill{c.attempt(j)})
	}
	c.abandon(j, "it had ended already")
	for k := range j.due {
		c.disarm(j, concern(k))
	}
	r := &j.rec
	r.End, r.ExitCode, r.HasExit, r.Signal = m.End, m.ExitCode, m.HasExit, m.Signal
	r.Handoff.Phase = grid.NoHandoff
}

// closeOwner: the home has the end and the output.
func (c *Core) closeOwner(j *job) {
	if j.rec.End == 0 {
		return // the home ended a job that still runs here: only a cancel may do that
	}
	j.rec.Closed = true
	c.hears(j, j.rec.End)
	j.rec.Role = grid.Tombstone
	j.rec.Ended = c.now
	j.rec.Kept = j.rec.End == grid.Lost // what may still run keeps its folder as long as the job is kept
	c.disarm(j, onReport)
	c.save(j, "the home has it all")
	if !j.rec.Kept {
		c.emit(Discard{Job: j.rec.Job.ID})
	}
}

func (c *Core) sendClosed(to grid.PeerID, j *job) {
	c.send(to, wire.Closed{Job: j.rec.Job.ID, Term: j.rec.Epoch.Term})
}

// awaitHome has the home acknowledge what is said to it now, before anything is started or handed on.
func (c *Core) awaitHome(j *job) {
	j.homeHeard = 0
	c.save(j, "") // under a new number: what acknowledges an older one may have been said before
	j.since = j.rec.Report
}

// onClosed: tombstones of an ended job may go. Who still owns it at an older term hears so
// that it is over: nothing may be started, and the home may not be there to say it again.
func (c *Core) onClosed(from grid.PeerID, m wire.Closed) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || j.rec.Epoch.Term > m.Term {
		return
	}
	if e := j.rec.Epoch; e.Term < m.Term && j.rec.Role == grid.Owning && j.rec.State != grid.Finished && j.rec.State != grid.StageOut {
		c.superseded(from, wire.Superseded{Job: m.Job, Of: e, Epoch: grid.Epoch{Term: m.Term}})
		return
	}
	if j.rec.Role == grid.Owning && j.rec.State < grid.Running {
		c.awaitHome(j) // it may have given the job up: that word may also be of a branch of its journal that is lost
		return
	}
	// What ran here is kept for the accounts, and what ended here for a home that is restored from a
	// backup, until its retention ends.
	if j.rec.Started == 0 && !j.ended() && (j.rec.Role == grid.Tombstone || j.rec.Role == grid.Declined) { // also one that still says Commit: whom it says that to is told by the home
		c.drop(j)
	}
}

func (c *Core) sendAbort(b wire.HandoffID, why string) {
	c.send(b.To, wire.Abort{Handoff: b, Why: why})
}

// peerChanged: an offer that a peer cannot have heard is given up at once, and one
// that it is fetching the files of when it is dead (a short break of the network
// costs nothing: what was fetched counts); the home says since when it has not
// heard of a job.
func (c *Core) peerChanged(e PeerChanged) {
	c.hear(e.Peer, func(m *member) { m.live, m.heard = e.Liveness, true })
	m := c.members[e.Peer]
	if m == nil {
		return
	}
	if e.Liveness == grid.Alive && !m.told {
		c.tellSeen(e.Peer)
		c.armGeneral(seenDue, c.cfg.Retry)
	}
	if e.Liveness == grid.Dead {
		for _, id := range slices.Sorted(maps.Keys(c.accepted)) {
			if a := c.accepted[id]; a.from == e.Peer {
				c.release(a) // its owner makes a new offer when it is back
			}
		}
	}
	for _, j := range c.sorted() {
		switch {
		case j.rec.Handoff.Phase == grid.Offering && j.rec.Handoff.To == e.Peer:
			c.candidateChanged(j, m)
		case j.rec.Role == grid.Owning && j.rec.State == grid.Ready && e.Liveness == grid.Alive:
			c.undecide(j) // nobody could take it: perhaps this site can
		case j.rec.Role == grid.Watching && j.rec.Owner == e.Peer && !j.rec.State.Terminal():
			c.ownerChanged(j, e.Liveness)
		case e.Liveness == grid.Alive && j.rec.Job.Home == e.Peer && (j.rec.Telling || j.rec.Role == grid.Owning && !j.acked):
			c.disarm(j, onReport)
			c.report(j)
		}
	}
}

func (c *Core) candidateChanged(j *job, m *member) {
	switch {
	case m.live == grid.Alive: // perhaps restarted: then it has forgotten that it accepted
		c.sendOffer(j, j.chosenWait())
	case m.live == grid.Dead || j.heard == 0:
		c.sendAbort(c.handoffID(j), "the candidate was not to be reached")
		c.dropOffer(j, fmt.Sprintf("the offer died: %s is %s", m.Name, m.live))
	}
}

func (c *Core) ownerChanged(j *job, l grid.Liveness) {
	if l == grid.Alive {
		if j.rec.CancelRequested {
			c.pursueCancel(j)
		}
		if j.rec.State == grid.StageOut {
			c.pull(j)
		}
		return
	}
	c.loseContact(j)
}

// loseContact tells since when the owner of a job has not been heard.
func (c *Core) loseContact(j *job) {
	if j.rec.ContactLost == 0 && !j.rec.State.Terminal() {
		j.rec.ContactLost = max(j.heard, 1)
		c.show(j)
	}
}
