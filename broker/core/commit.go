package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// commit is the commit point: from this save on the candidate owns the job.
func (c *ownership) commit(j *job) {
	to := j.rec.Handoff.To
	c.enter(j, grid.Committed)
	c.handOver(j, j.rec.Handoff.Epoch, to)
	role := grid.Tombstone
	if c.isHome(j) {
		role = grid.Watching
	}
	c.beginTenure(j, j.rec.Next(role, to, j.rec.Handoff.Epoch), grid.Run{})
	j.rec.Telling = !c.isHome(j) && to != j.rec.Job.Home
	if c.isHome(j) && !slices.Contains(j.rec.Trail, to) {
		j.rec.Trail = append(slices.Clip(j.rec.Trail), to)
	}
	c.search.predicted(j)
	c.save(j, fmt.Sprintf("handed to %s", c.siteName(to)))
	c.disarm(j, onHandoff)
	c.disarm(j, onBatch)
	c.disarm(j, onReport)
	c.sendCommit(j)
	c.recovery.growthSoon()
}

func (c *ownership) sendCommit(j *job) {
	if c.gates.beforeRepeating(j) != open {
		return
	}
	j.committed = true
	c.send(j.rec.Handoff.To, c.commitOf(j))
	c.backoff(j, onHandoff)
}

// onOwned ends the handoff.
func (c *ownership) onOwned(from grid.PeerID, m wire.Owned) {
	j := c.job(m.Handoff.Job)
	switch {
	case c.open(from, m.Handoff) != nil && j.rec.Handoff.Phase == grid.Committed:
		c.handedOver(j)
	case j != nil && j.rec.Role == grid.Owning && j.rec.Epoch.Before(m.Handoff.Epoch) && c.signedHere(m):
		// It was given away by a commit of ours that is not in this journal.
		c.recovery.rolledBack(c.recovery.hasSeen(from), grid.JournalID{})
		if !c.isHome(j) { // a home takes the word of the owner, with all certificates
			c.recovery.gaveAway(j, m)
		}
	case (j == nil || !c.isHome(j) && j.rec.Role != grid.Owning && j.rec.Epoch.Before(m.Handoff.Epoch)) && c.signedHere(m):
		c.hadBefore(j, from, m.Handoff)
	}
}

// hadBefore: this site has given away, at that epoch, a job of which no record has that. Offers of before it are late copies.
func (c *ownership) hadBefore(j *job, from grid.PeerID, b wire.HandoffID) {
	c.closes(b.Job, b.Epoch)
	if j != nil && j.rec.Role == grid.Prepared && !b.Epoch.Before(j.rec.Handoff.Epoch) {
		c.recovery.rolledBack(c.recovery.hasSeen(from), grid.JournalID{})
		c.unprepare(j, j.rec.Job.Home)
	}
}

func (c *ownership) handedOver(j *job) {
	if !c.isHome(j) {
		j.rec.Candidate = grid.JournalID{} // it has owned the job; see givenUpOn
	}
	c.notRepeated(j)
}

// onDeclined: the candidate gave its word that it will never own at this epoch, so
// the job is ours again, at a new hop.
func (c *ownership) onDeclined(from grid.PeerID, m wire.Declined) {
	c.recovery.saw(from, m.Journal)
	j := c.open(from, m.Handoff)
	if j == nil {
		c.recovery.disowned(from, m)
		return
	}
	switch j.rec.Handoff.Phase {
	case grid.Offering:
		c.endOffer(j, "declined by "+string(c.siteName(from)))
	case grid.Committed:
		switch c.gates.beforeTakingBack(j, m) {
		case untilForgotten:
			c.ownerLost(j, from)
			return
		case untilInquired:
			c.sendCommit(j)
			return
		case untilAll, untilNeighbours:
			return // Commit is said again
		}
		at := j.rec.Epoch
		at.Hop = c.nextStamp(at.Hop)
		c.ownsAt(j, at)
		j.rec.Handoff.Epoch = at
		c.takeBack(j)
		j.worn = true // an attempt of before the handoff may have run here
		c.endOffer(j, "declined after the commit by "+string(c.siteName(from)))
	}
}

// onUnknown: a candidate that was READY has no record of the job: its journal is
// gone. The job is never taken back on that word: it may have started there.
func (c *ownership) onUnknown(from grid.PeerID, m wire.Unknown) {
	c.recovery.saw(from, m.Journal)
	j := c.job(m.Handoff.Job)
	if j == nil || m.Handoff.To != from || j.rec.Owner != from || j.rec.State.Terminal() {
		return
	}
	committed := j.rec.Handoff.Phase == grid.Committed && j.rec.Handoff.To == from && j.rec.Handoff.Epoch == m.Handoff.Epoch
	if committed || c.isHome(j) && j.rec.Role == grid.Watching && claimed(&j.rec) == m.Handoff.Epoch {
		c.ownerLost(j, from)
	}
}

// ownerLost: the owner does not know the job any more, and will never report it. The
// home shows that; forgetting the site decides what becomes of the job.
func (c *ownership) ownerLost(j *job, owner grid.PeerID) {
	c.enter(j, grid.NoHandoff)
	c.disarm(j, onHandoff)
	if c.gates.beforeReclaiming() == open {
		c.turn(j, grid.Owning)
		j.rec.Owner = c.cfg.Self
		j.rec.Epoch.Hop = c.nextStamp(j.rec.Epoch.Hop)
		c.search.ready(j, "taken back")
		return
	}
	j.rec.Reason = fmt.Sprintf("%s, its owner, has lost its journal", c.siteName(owner))
	if c.isHome(j) {
		if j.rec.ContactLost == 0 {
			j.rec.ContactLost = max(j.heard, 1)
		}
		c.save(j, j.rec.Reason)
		return
	}
	j.rec.Ended = c.now
	c.save(j, j.rec.Reason)
	c.tellMoved(j)
}

// otherJournal tells that the candidate of a handoff past its commit point speaks from
// another journal than the one that was READY: it may have owned the job, and lost that.
func (j *job) otherJournal(b wire.HandoffID, said grid.JournalID) bool {
	h, ready := j.rec.Handoff, j.rec.Candidate.Incarnation
	return h.To == b.To && h.Epoch == b.Epoch && h.Phase != grid.Offering && ready != 0 && said.Incarnation != 0 && said.Incarnation != ready
}

// onInquire: a candidate is PREPARED and heard nothing.
func (c *ownership) onInquire(from grid.PeerID, m wire.Inquire) {
	if m.Handoff.To != from {
		return
	}
	answer := wire.InquireReply{Handoff: m.Handoff, Verdict: wire.VerdictUnknown}
	if m.Handoff.Job.Site() == c.cfg.Site.Name && c.peek(m.Handoff.Job) == nil {
		if c.gates.beforeDenying() != open {
			c.send(from, wire.Recall{Job: m.Handoff.Job})
		} else {
			answer.Verdict = wire.VerdictAborted // it was ours, and has ended and gone
		}
	}
	if j := c.job(m.Handoff.Job); j != nil {
		if c.gates.beforeVerdict() != open {
			return // it asks again
		}
		answer.Owner, answer.Cancel = j.rec.Owner, j.rec.Wished()
		h := j.rec.Handoff
		mine := h.To == from && h.Epoch == m.Handoff.Epoch
		switch {
		case mine && (h.Phase == grid.Offering || h.Phase == grid.Withdrawing):
			answer.Verdict = wire.VerdictOpen
		case j.rec.State.Terminal():
			answer.Verdict = wire.VerdictAborted
		case j.otherJournal(m.Handoff, m.Journal):
			if answer.Verdict = wire.VerdictAborted; h.Phase == grid.Committed {
				c.ownerLost(j, from)
			}
		case (mine && h.Phase == grid.Committed || j.givenUpOn(from, m.Handoff)) && c.gates.beforeRepeating(j) == open:
			answer.Verdict, answer.Certificate, answer.Ready = wire.VerdictCommitted, j.lastCertificate(), j.rec.Candidate
		case c.unheard(j, from, m.Handoff) && c.gates.beforeRepeating(j) == open:
			if k := j.rec.Candidate.Incarnation; k == 0 || m.Journal.Incarnation == 0 || m.Journal.Incarnation == k { // else who gave it the job knows
				answer.Verdict, answer.Certificate, answer.Ready = wire.VerdictCommitted, j.lastCertificate(), j.rec.Candidate
			}
		case j.rec.Role == grid.Owning, m.Handoff.Epoch.Before(j.rec.Epoch), j.rec.Owner == from && j.rec.Epoch == m.Handoff.Epoch: // see late
			answer.Verdict = wire.VerdictAborted
		}
	}
	c.send(from, answer)
}
