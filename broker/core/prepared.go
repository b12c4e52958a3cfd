package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

func (c *ownership) sendReady(j *job) {
	c.send(j.rec.Owner, wire.Ready{Handoff: c.preparedHandoff(j), Journal: c.committing()})
	c.backoff(j, onPrepared)
}

// preparedDue: Ready was not answered. The owner is asked, then the home too; after
// a long time the job is declined, and that word is kept.
func (c *ownership) preparedDue(j *job) {
	if j.rec.Role != grid.Prepared {
		return
	}
	if c.now-j.heard > c.cfg.Decline && c.gates.beforeDeclining(j) == open {
		c.decline(j, "no word from its owner for too long")
		return
	}
	ask := wire.Inquire{Handoff: c.preparedHandoff(j), Journal: c.cfg.Journal}
	c.send(j.rec.Owner, ask)
	if home := j.rec.Job.Home; home != j.rec.Owner && home != c.cfg.Self && c.members[home] != nil {
		c.send(home, ask)
	}
	c.backoff(j, onPrepared)
}

// onCommit: from the save on this site owns the job.
func (c *ownership) onCommit(from grid.PeerID, m wire.Commit) {
	c.recovery.saw(from, m.Journal)
	j := c.job(m.Handoff.Job)
	if m.Handoff.To != c.cfg.Self {
		c.send(from, wire.Error{Of: wire.KindCommit, Job: m.Handoff.Job, Why: "that commit is for another site"})
		return
	}
	if j == nil {
		c.send(from, wire.Unknown{Handoff: m.Handoff, Journal: c.cfg.Journal})
		return
	}
	switch hold := c.gates.beforeOwning(j, from, m, c.recovery.mark(from)); {
	case hold == journalBehind:
		c.recovery.rolledBackTo(from, m.Ready)
		c.send(from, wire.Unknown{Handoff: m.Handoff, Journal: c.cfg.Journal})
	case hold == untilInquired:
		c.send(from, wire.Inquire{Handoff: c.preparedHandoff(j), Journal: c.cfg.Journal})
	case hold == open:
		chain := c.given(j, m.Certificate)
		if c.gates.beforeTaking(j, chain) != open {
			c.send(from, wire.Error{Of: wire.KindCommit, Job: m.Handoff.Job, Why: "the certificate of this commit proves nothing"})
			return
		}
		if c.looksForInputs(j) {
			return // it is said again
		}
		c.own(j, chain, m.Cancel)
		c.send(from, c.owned(j, m.Handoff))
	case j.rec.Role == grid.Prepared && j.rec.Handoff.Epoch == m.Handoff.Epoch:
		c.send(from, wire.Error{Of: wire.KindCommit, Job: m.Handoff.Job, Why: "another site offered this job"})
	case c.declined(j, m.Handoff):
		c.send(from, wire.Declined{Handoff: m.Handoff, Journal: c.cfg.Journal, Ready: m.Ready})
	case !j.rec.Epoch.Before(m.Handoff.Epoch):
		if m.Cancel { // said again, with what its user has wished since
			c.home.onCancel(from, wire.Cancel{Job: j.rec.Job.ID, Epoch: m.Handoff.Epoch})
		}
		c.send(from, c.owned(j, m.Handoff))
	default:
		c.send(from, wire.Unknown{Handoff: m.Handoff, Journal: c.cfg.Journal})
	}
}

// onInquireReply is the answer to Inquire.
func (c *ownership) onInquireReply(from grid.PeerID, m wire.InquireReply) {
	j := c.job(m.Handoff.Job)
	if j == nil || j.rec.Role != grid.Prepared || m.Handoff != c.preparedHandoff(j) {
		return
	}
	if from != j.rec.Owner && from != j.rec.Job.Home {
		return
	}
	if dead := m.Verdict == wire.VerdictAborted || m.Verdict == wire.VerdictUnknown; dead && c.gates.beforeUnpreparing(j) != open {
		return // it is asked again
	}
	switch m.Verdict {
	case wire.VerdictOpen:
		j.heard = c.now
	case wire.VerdictCommitted:
		if c.gates.beforeAnswer(m.Ready) != open {
			return // it is asked again
		}
		if c.gates.beforeBelievingReady(m.Ready) != open {
			c.readyLost(j, from, m.Ready)
			return
		}
		owner := j.rec.Owner
		chain := c.given(j, m.Certificate)
		if c.gates.beforeTaking(j, chain) != open || c.looksForInputs(j) {
			return
		}
		c.own(j, chain, m.Cancel)
		c.send(owner, c.owned(j, m.Handoff))
	case wire.VerdictAborted:
		// The owner's word; or that of the home, of a job that has ended, or is owned at a
		// later epoch: who offered it has given it to another since, and may have forgotten.
		c.unprepare(j, from)
	case wire.VerdictUnknown:
		if from != j.rec.Owner {
			return
		}
		// It has lost its journal, or what it did with the offer: it can neither commit nor withdraw it any more.
		c.decline(j, "its owner does not know it any more")
		c.recovery.askOwner(j)
	}
}

// looksForInputs tells that a job is not owned yet, as its inputs are looked for.
func (c *ownership) looksForInputs(j *job) bool {
	if c.gates.beforeHaving(j) == open {
		return false
	}
	c.emit(Check{Job: j.rec.Job.ID, Epoch: j.rec.Handoff.Epoch, Files: j.rec.Job.Inputs})
	return true
}

// inputsLooked: the inputs of a job that is PREPARED are here, and its owner is asked again; or one is not, and it is declined.
func (c *ownership) inputsLooked(j *job, missing error) {
	switch {
	case missing == nil:
		j.inputsHere = true
		c.preparedDue(j)
	case c.gates.beforeDeclining(j) == open:
		c.decline(j, "its inputs are not here any more: "+clip(missing.Error()))
	}
}

// readyLost: what was READY is in a branch of this journal that is lost, and may have owned the job. Once all were asked about that
// branch, nothing more will be known of it: that this one never owns the job is all that there is to say.
func (c *ownership) readyLost(j *job, seenBy grid.PeerID, ready grid.JournalID) {
	c.recovery.rolledBackTo(seenBy, ready)
	if c.gates.beforeDeclining(j) == open {
		c.decline(j, "it was ready in a part of its journal that is lost")
	}
}

// own takes the job over. OWNED and cancelled is one save, and is never submitted.
func (c *ownership) own(j *job, chain []grid.Certificate, cancel bool) {
	giver := j.rec.Owner
	c.ownsAt(j, j.rec.Handoff.Epoch)
	j.rec.Certificates = chain
	j.rec.HopsAt = c.now
	if j.rec.Unsupplied {
		c.waitsAgain(j)
	} else {
		c.begins(j, grid.Ready)
	}
	j.rec.CancelRequested, j.rec.Overdue = c.gates.carried(j.rec.Wished() || cancel), false
	c.disarm(j, onPrepared)
	j.homeHeard = c.now
	if c.gates.beforeRelying(j, giver) != open { // so it acknowledges a report first
		if !c.isHome(j) {
			j.rec.Report = c.branchReport(0)
		}
		j.homeHeard, j.since = 0, j.rec.Report+1
	}
	c.emit(Publish{Job: j.rec.Job.ID, Epoch: j.rec.Epoch})
	if hold := c.gates.beforeCancel(j); j.rec.CancelRequested && hold != open {
		c.save(j, "owned, to be cancelled: "+hold.String())
		c.home.pursueCancel(j)
		return
	}
	if j.rec.CancelRequested {
		end, why := c.cancelled(j)
		c.execution.end(j, end, why)
		return
	}
	if j.unsupplied() {
		c.save(j, "owned: it starts when its files have come again")
		return
	}
	if c.draining {
		c.search.ready(j, "owned; this site is drained")
		return
	}
	c.execution.launch(j, "owned; submitted here")
}

// owned says that the job of a handoff is, or was, owned here, with the certificate as proof.
func (c *ownership) owned(j *job, b wire.HandoffID) wire.Owned {
	m := wire.Owned{Handoff: b, Owner: j.rec.Owner}
	for _, d := range j.rec.Certificates {
		if d.To == c.cfg.Self && d.Epoch == b.Epoch {
			m.Certificate = d
		}
	}
	return m
}

func (c *ownership) decline(j *job, why string) {
	b, owner := c.preparedHandoff(j), j.rec.Owner
	if c.isHome(j) {
		c.disarm(j, onPrepared)
		c.turn(j, grid.Watching) // a commit at the epoch of Handoff is declined for ever
		c.save(j, "declined: "+why)
	} else {
		c.keepDeclined(j, "declined: "+why)
	}
	c.send(owner, wire.Declined{Handoff: b, Journal: c.cfg.Journal})
}

// keepDeclined keeps of a PREPARED job of another home only the word that it is never owned here at that epoch.
func (c *ownership) keepDeclined(j *job, why string) {
	c.disarm(j, onPrepared)
	c.turn(j, grid.Declined)
	j.rec.Ended = c.now
	if len(j.rec.Certificates) > 0 {
		j.rec.Certified = j.certified()
	}
	j.strip()
	c.save(j, why)
	c.discard(j.rec.Job.ID)
}

// declined tells that this broker gave its word never to own the job at that epoch.
// A home that did so watches the job as before.
func (c *ownership) declined(j *job, b wire.HandoffID) bool {
	h := j.rec.Handoff
	if h.Epoch != b.Epoch || h.To != c.cfg.Self {
		return false
	}
	return j.rec.Role == grid.Declined || c.isHome(j) && j.rec.Role == grid.Watching && h.Phase == grid.NoHandoff
}

// unprepare forgets a PREPARED job whose offer died, by the word of its owner or its home.
func (c *ownership) unprepare(j *job, by grid.PeerID) {
	if c.isHome(j) {
		c.turn(j, grid.Watching)
		c.disarm(j, onPrepared)
		c.save(j, "the offer was withdrawn")
		return
	}
	if j.rec.Epoch != (grid.Epoch{}) { // it was here before: that word is kept
		if n := len(j.rec.Certificates); n > 0 && j.rec.Certificates[n-1].Epoch == j.rec.Epoch {
			j.rec.Owner = j.rec.Certificates[n-1].To // not who offered it
		}
		c.turn(j, grid.Tombstone)
		c.disarm(j, onPrepared)
		c.save(j, "the offer was withdrawn")
		c.discard(j.rec.Job.ID)
		c.tellMoved(j)
		return
	}
	if by != j.rec.Job.Home { // who offered it may have been set back to before its commit, and the home ask for it here
		c.keepDeclined(j, "the offer was withdrawn")
		return
	}
	c.drop(j)
}

func (c *ownership) preparedHandoff(j *job) wire.HandoffID {
	return wire.HandoffID{Job: j.rec.Job.ID, Epoch: j.rec.Handoff.Epoch, To: c.cfg.Self, Digest: j.sum()}
}
