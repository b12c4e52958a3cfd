package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/wire"
)

// A home that lost its journal learns its jobs again, from those that report them:
//
//	owner:  Report ───────────────────► home: no such job
//	        ◄──────────────── Recall ──
//	        Recalled{job, epoch} ─────► WATCHING, on disk
//	        Report (repeated) ────────► as ever
//
// One that was restored from a backup asks, by Recall, also for the jobs that ended
// elsewhere since: the tombstone answers Recalled and the last report.
//
// Where it crashes in between, or was restored without anybody's notice, it watches a job
// whose owner has said all that there is to say. So it asks an owner that lives, and is not heard
// on the job for long, in the same way; one that has handed it on says so (Moved), and so does one that was only PREPARED and has
// declined it (Declined).
//
// A candidate that is PREPARED asks the home what became of the offer. It too tells
// the job; but nobody knows then who owned it, so it is learnt as LOST. So it is from an owner
// that has lost the certificates with its own journal, and knows by its control directory alone that
// it was one: LOST gains its result.
//
// A home whose journal is whole has ended and dropped what it has no record of: a
// site that was forgotten, and comes back after the home has kept its jobs for as long
// as it does, is told to let go of them. They have run again elsewhere, or their users
// were told of their end.

// unknownReport answers a report of a job that has no record here.
func (c *recovery) unknownReport(from grid.PeerID, m wire.Report) {
	switch {
	case m.Job.Site() != c.cfg.Site.Name:
		c.send(from, wire.Error{Of: wire.KindReport, Job: m.Job, Why: "this site is not the home of that job"})
	case c.gates.beforeDismissing(from, m.Epoch) == open:
		c.send(from, wire.Superseded{Job: m.Job, Of: m.Epoch, Epoch: m.Epoch, Keep: isResult(m), Answers: m.Number})
	default:
		c.send(from, wire.Recall{Job: m.Job})
	}
}

// askOwner: the owner of a job lives, and does not report it. What it said of it may have been in a
// part of this journal that is lost: that it has ended, or was handed on. It says so again.
func (c *recovery) askOwner(j *job) {
	if !c.isHome(j) || j.rec.State.Terminal() || !c.lives(j.rec.Owner) || c.now-j.asked < silence*c.cfg.Digest {
		return
	}
	j.asked = c.now
	c.send(j.rec.Owner, wire.Recall{Job: j.rec.Job.ID})
}

// recallRefused: who should own a job, and is silent, says that it does not. The home shows that;
// forgetting the site decides what becomes of the job.
func (c *recovery) recallRefused(from grid.PeerID, m wire.Error) {
	j := c.job(m.Job)
	if j == nil || m.Of != wire.KindRecall || !c.isHome(j) || j.rec.State.Terminal() {
		return
	}
	if m.At == j.rec.Epoch { // else it was said before that was asked
		c.saysNone(j, from)
		if from == j.giver() && j.declined == m.At {
			j.letGo = m.At
			c.goesOnAnew(j)
		}
	}
	if m.Had != (grid.Epoch{}) {
		c.hadOnce(j, from, m.Had)
	}
	if j.rec.Owner == from && j.asked != 0 && j.heard <= j.asked && !j.rec.State.Terminal() {
		c.notKnownTo(j, from)
	}
}

func (c *recovery) notKnownTo(j *job, owner grid.PeerID) {
	c.shows(j, string(c.siteName(owner))+", which should have it, does not know it")
}

// disowned: who should own a job was only PREPARED, and has given its word never to own it at that epoch. Who gave it away takes
// it back, when it hears that; so it is asked. Where it has let go, as it was set back to before that, and this home told it who has the job,
// nobody has it.
//
//	home: Recall ─► owner: Declined ─► home: Recall{At}, to the giver ─┬─► it may take it back   Moved; its Report, when it has
//	                                                                 └─► nothing of it there   Error{At} ─► a new term
func (c *recovery) disowned(from grid.PeerID, m wire.Declined) {
	j := c.job(m.Handoff.Job)
	if j == nil {
		return
	}
	switch c.gates.beforeResuming(j, from, m.Handoff) {
	case open:
		c.goesOnAnew(j)
	case untilGiver:
		giver := j.giver()
		j.declined = j.rec.Epoch
		c.shows(j, fmt.Sprintf("%s, which should have it, has declined it, and %s, which gave it away, is asked", c.nameOf(from), c.nameOf(giver)))
		c.send(giver, wire.Recall{Job: j.rec.Job.ID, At: j.rec.Epoch})
	case untilForgotten:
		c.notKnownTo(j, from)
	}
}

// goesOnAnew goes on with a job that its owner has declined, and that nobody has, at a new term. Who gave it away, and is no neighbour, may
// have taken it back.
func (c *recovery) goesOnAnew(j *job) {
	owner, giver := j.rec.Owner, j.giver()
	if c.gates.beforeResuming(j, owner, wire.HandoffID{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, To: owner}) != open {
		return
	}
	c.home.runOnceReported(j, c.nameOf(owner)+", which should have it, has declined it, and nobody else has it")
	if giver != "" && giver != c.cfg.Self && c.members[giver] == nil {
		c.successorLost(j, c.nameOf(giver)+", which has given it to "+c.nameOf(owner)+" that declined it, is no neighbour any more")
		return
	}
	c.home.pursueCancel(j)
}

// recall tells the home a job that it does not know.
func (c *recovery) recall(from grid.PeerID, m wire.Recall) {
	j := c.job(m.Job)
	mine := j != nil && j.rec.Job.Home == from
	switch {
	case mine && j.rec.Role == grid.Tombstone && j.lastCertificate().To != "" && j.rec.Owner != c.cfg.Self:
		c.sendMoved(j)
		c.noneHere(m, j)
	case mine && j.rec.Role == grid.Declined && c.neverOwned(j):
		if to := j.lastCertificate().To; to != "" && to != c.cfg.Self { // it had been here before
			c.sendMoved(j)
		}
		c.send(from, wire.Declined{Handoff: j.declinedHandoff(), Journal: c.cfg.Journal})
		c.noneHere(m, j)
	case mine && (j.rec.Role == grid.Owning || j.rec.Role == grid.Prepared || j.ended()):
		c.tell(j)
	case c.traced: // else asked again
		c.send(from, c.noneOf(m))
	}
}

// noneHere answers a home that asks who may have a job, beside the word of who got it, or that it was declined: not before the home has heard
// who got it. What is committed at that very epoch may yet be taken back.
func (c *recovery) noneHere(m wire.Recall, j *job) {
	open := j.rec.Handoff.Phase == grid.Committed && j.rec.Handoff.Epoch == m.At
	if m.At != (grid.Epoch{}) && c.traced && !open && !j.rec.Telling {
		c.send(j.rec.Job.Home, c.noneOf(m))
	}
}

// noneOf says that there is nothing of a job here, and of which attempt no record tells.
func (c *recovery) noneOf(m wire.Recall) wire.Error {
	no := wire.Error{Of: wire.KindRecall, Job: m.Job, Why: "no job of that home here", At: m.At}
	if had, any := c.traces[m.Job]; any && c.lacksTenure(m.Job, had) {
		no.Had = had
	}
	return no
}

// tell tells its home a job that is here, or has ended here.
func (c *recovery) tell(j *job) {
	answer := wire.Recalled{
		Job: c.whole(j), Epoch: j.rec.Epoch, Owning: j.rec.Role != grid.Prepared,
		Age: max(0, c.now-j.rec.Submitted), Cancel: j.rec.Wished(), Certificates: j.rec.Certificates,
		Deadline: c.ahead(j.rec.Job.Terms.Deadline),
	}
	if !answer.Owning {
		answer.Epoch = j.rec.Handoff.Epoch
	}
	c.send(j.rec.Job.Home, answer)
	if j.ended() {
		c.send(j.rec.Job.Home, c.lastReport(j))
	}
}

// neverOwned: as far as this journal and the control directories tell, this site has not owned the job at the epoch that it has declined.
func (c *recovery) neverOwned(j *job) bool {
	return c.rolled == nil && !c.bereft && c.traced && c.traces[j.rec.Job.ID].Before(j.rec.Handoff.Epoch)
}

// declinedHandoff is that of which the record of a job keeps that it was declined.
func (j *job) declinedHandoff() wire.HandoffID {
	return wire.HandoffID{Job: j.rec.Job.ID, Epoch: j.rec.Handoff.Epoch, To: j.rec.Handoff.To, Digest: j.sum()}
}

// lastReport is what was reported of a job that ended here, with all its certificates.
func (c *recovery) lastReport(j *job) wire.Report {
	m := c.home.reportOf(j)
	m.State, m.Outputs, m.Certificates, m.Version = grid.StageOut, j.rec.Outputs, j.rec.Certificates, j.sum()
	return m
}

// recalled makes a lost record anew. Only a job of this home and one of its users.
func (c *recovery) recalled(from grid.PeerID, m wire.Recalled) {
	switch id := m.Job.ID; {
	case c.peek(id) != nil:
		if j := c.job(id); j != nil {
			c.supplied(from, j, m) // else it was told twice
		}
		return
	case id.Site() != c.cfg.Site.Name || m.Job.Home != c.cfg.Self || m.Job.User.Home != c.cfg.Self:
		c.send(from, wire.Error{Of: wire.KindRecalled, Job: id, Why: "that job is none of this home"})
		return
	case !m.Owning && c.groups.sighted(id): // its template makes it again, as what a lost branch has made
		return
	case m.Owning && c.gates.beforeDismissing(from, m.Epoch) == open:
		c.send(from, wire.Error{Of: wire.KindRecalled, Job: id, Why: "it has ended, and its home keeps it no more"})
		return
	case !c.proven(from, m) && (c.gates.beforeDenying() == open || c.learnt[from] >= maxLearnt || m.Job.Part != nil && !c.wholes.mayBe(id, m.Job.Part)):
		c.send(from, wire.Error{Of: wire.KindRecalled, Job: id, Why: "no certificates prove that this home gave it away"})
		return
	}
	j := &job{rec: grid.Record{
		Job:             m.Job,
		Submitted:       c.now - m.Age,
		CancelRequested: m.Cancel || c.groups.unwanted(m.Job.ID),
		AtHome:          grid.AtHome{Trail: []grid.PeerID{from}, Unsupplied: len(m.Job.Inputs) > 0},
	}}
	c.beginTenure(j, grid.Tenure{Role: grid.Watching, Epoch: m.Epoch, Owner: from}, grid.Run{})
	c.begins(j, grid.Assigned)
	j.rec.Job.Terms.Deadline = c.until(m.Deadline)
	owning := c.proven(from, m)
	if owning {
		j.rec.Certificates = m.Certificates
	}
	c.jobs[m.Job.ID] = j
	c.groups.sighted(m.Job.ID)
	if t := c.endOf(m.Job.ID); t != nil {
		c.endAsTold(j, t)
		return
	}
	if owning {
		j.recovered = true // this home may have taken the job back since: its own control directory speaks first
		c.save(j, "learnt again from "+c.nameOf(from)+": this journal did not have it")
		if j.rec.Job.Coallocation != nil {
			c.wholes.accepted(m.Job.ID)
		}
		c.reconcile()
		c.home.pursueCancel(j)
		return
	}
	j.rec.Reason = "this journal did not have it; " + c.nameOf(from) + " had it or was to get it, and nobody can prove who owns it"
	c.learnt[from]++
	c.home.terminal(j, grid.Lost)
}

// maxLearnt bounds the jobs, and the parts by their traces, that are learnt from one member that proves nothing. Each has its own
// share: who lies takes none of what another may tell.
const maxLearnt = 1000

// proven: he says that he owns it, and the certificates, the first of them signed by this home, end with him.
func (c *recovery) proven(from grid.PeerID, m wire.Recalled) bool {
	n := len(m.Certificates)
	return m.Owning && n > 0 && m.Certificates[n-1].To == from && m.Certificates[n-1].Epoch == m.Epoch &&
		c.ownership.unproven(&m.Job, wire.JobDigest(m.Job), m.Certificates) == believed
}
