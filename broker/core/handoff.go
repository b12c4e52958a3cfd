package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/wire"
)

// The owner's side of the handoff (design, section 4):
//
//	          makeOffer
//	NoHandoff ─────────► Offering ── Ready ──► (Withdrawing) ──► Committed ── Owned ──► NoHandoff
//	     ▲                  │                       │                │
//	     └── Refuse, silence┘   had started: stay ──┘                └ Commit is repeated until Owned
//
// Before Committed is on disk this site owns the job and the offer may die; after
// it the candidate does. Each Offer burns one hop: Handoff.Epoch is the highest used.

// makeOffer moves the job to the candidate to, which is to start it a wait from now
// and will then have these hops behind it.
func (c *ownership) makeOffer(j *job, to grid.PeerID, wait grid.Tick, hops uint32) {
	next := c.nextOffer(j)
	c.become(j, grid.Moving)
	c.enter(j, grid.Offering)
	j.rec.Handoff.To, j.rec.Handoff.Epoch = to, next
	j.began, j.heard, j.pullBegan, j.hops = c.now, 0, 0, hops
	c.save(j, fmt.Sprintf("offered to %s", c.siteName(to)))
	if m := c.members[to]; m != nil {
		m.offered = c.now
	}
	c.disarm(j, onHandoff)
	c.sendOffer(j, wait)
}

func (c *ownership) sendOffer(j *job, wait grid.Tick) {
	of := c.whole(j)
	latest := grid.Tick(0)
	if j.chosen.Told && j.chosen.Peer == j.rec.Handoff.To {
		latest = wait + max(1, grid.FromSeconds(toldShare*j.chosen.Total.Seconds()))
	}
	c.send(j.rec.Handoff.To, wire.Offer{
		Handoff: c.handoffID(j), Job: of.Abroad(), Wait: wait, Age: c.now - j.rec.Submitted,
		Certificates: j.rec.Certificates, Hops: j.hops, Journal: c.committing(), Deadline: c.ahead(j.rec.Job.Terms.Deadline),
		Latest: latest,
	})
	c.backoff(j, onHandoff)
}

// handoffID is what every message of the open handoff carries.
func (c *ownership) handoffID(j *job) wire.HandoffID {
	return wire.HandoffID{
		Job: j.rec.Job.ID, Epoch: j.rec.Handoff.Epoch, To: j.rec.Handoff.To,
		Digest: j.sum(),
	}
}

// open finds the job whose open handoff b belongs to: same candidate, who is the
// sender, same epoch.
func (c *ownership) open(from grid.PeerID, b wire.HandoffID) *job {
	j := c.job(b.Job)
	if j == nil {
		return nil
	}
	if c.gates.beforeHearing(j, from, b) != open {
		return nil
	}
	return j
}

// late answers a candidate that waits on a handoff which is over. Where it has owned the
// job by it, it has lost its journal since and taken a late copy of the Offer for new:
// never again Commit, for the job may have started there.
func (c *ownership) late(from grid.PeerID, b wire.HandoffID) {
	if b.To != from {
		return
	}
	j := c.job(b.Job)
	switch {
	case j == nil && (b.Job.Site() != c.cfg.Site.Name || c.gates.beforeDenying() != open):
		// This journal may have lost that it gave the job away. The candidate asks its home.
	case j == nil:
		c.send(from, wire.Abort{Handoff: b, Why: "the job is not known here"})
	case j.givenUpOn(from, b):
		c.send(from, c.commitOf(j))
	case j.rec.State.Terminal(): // its tombstone there has gone, and an old Offer has come again
		c.send(from, wire.Abort{Handoff: b, Why: "the job has ended"})
	case j.rec.Owner == from && j.rec.Epoch == b.Epoch:
		c.send(from, wire.Abort{Handoff: b, Why: "you have owned it, and lost your journal since"})
	case j.rec.Role == grid.Owning || b.Epoch.Before(j.rec.Epoch):
		c.send(from, wire.Abort{Handoff: b, Why: "that offer is dead"})
	}
}

// handoffDue: nothing was heard for a while.
func (c *ownership) handoffDue(j *job) {
	switch j.rec.Handoff.Phase {
	case grid.NoHandoff:
		switch hold := c.gates.beforePlacing(j); {
		case j.rec.State != grid.Ready || j.rec.Role != grid.Owning:
		case hold == placedHere:
			c.execution.launch(j, "submitted here")
		case hold == open:
			c.search.undecide(j) // a search found nobody: again
		}
	case grid.Offering:
		switch silent := c.gates.beforeGivingUp(j) == open; {
		case silent && j.heard == 0:
			c.giveUp(j, "no answer to the offer")
		case silent:
			c.giveUp(j, "no word while it fetched the files")
		case j.heard == 0:
			c.sendOffer(j, j.chosenWait())
		default:
			c.arm(j, onHandoff, c.cfg.Lease)
		}
	case grid.Withdrawing:
		c.execution.withdraw(j)
		c.backoff(j, onHandoff)
	case grid.Committed:
		c.sendCommit(j)
		c.tellMoved(j) // if the candidate is gone for ever, the home has to know where to look
	}
}

// chosenWait is how long after the offer the candidate should start the job, by the
// decision that chose it.
func (j *job) chosenWait() grid.Tick { return j.chosen.Delivery + j.chosen.Wait }

// worthLearning is the size, in bytes, from which a delivery tells more of the way
// than of the messages around it.
const worthLearning = 1 << 20

func (c *ownership) onAccept(from grid.PeerID, m wire.Accept) {
	c.recovery.saw(from, m.Journal)
	j := c.open(from, m.Handoff)
	if j == nil {
		c.late(from, m.Handoff)
		return
	}
	if j.rec.Handoff.Phase == grid.Offering {
		if first := j.rec.Handoff.Epoch.Hop == 1; first && j.heard == 0 {
			j.pullBegan = c.now // a later offer may find files there already: nothing to learn
		}
		j.heard = c.now
		if c.now-j.began > c.pullLimit(j) {
			c.giveUp(j, "it is fetching the files for far longer than they should take")
			return
		}
		c.arm(j, onHandoff, c.cfg.Lease)
	}
}

// pullLimit bounds how long a candidate may say that it is fetching: many times
// what the decision reckoned with.
func (c *ownership) pullLimit(j *job) grid.Tick {
	return c.cfg.PullGrace + 20*j.chosen.Delivery
}

func (c *ownership) onRefuse(from grid.PeerID, m wire.Refuse) {
	j := c.open(from, m.Handoff)
	if j == nil || j.rec.Handoff.Phase != grid.Offering {
		return
	}
	why := "a worse estimate"
	if m.Estimate.Refusal != nil {
		why = m.Estimate.Refusal.Reason
	}
	block := c.cfg.Block
	if j.chosen.Told && j.chosen.Peer == from { // it was not asked, and told something else
		j.asksAll, block = true, 0
		c.members[from].foretold = foretold{}
	}
	if r := m.Estimate.Refusal; r != nil && r.Again > 0 {
		block = min(r.Again, maxBlocks*block)
	}
	if r := m.Estimate.Refusal; r != nil && r.Kind == grid.Permanent && j.heard != 0 {
		c.refuses(j, from, clip(r.Reason))
	}
	c.execution.checkInputs(j)
	c.endOfferFor(j, block, fmt.Sprintf("refused by %s: %.200s", c.siteName(from), why))
}

// giveUp ends an offer that is not answered; the candidate is told.
func (c *ownership) giveUp(j *job, why string) {
	c.send(j.rec.Handoff.To, wire.Abort{Handoff: c.handoffID(j), Why: why})
	c.endOffer(j, fmt.Sprintf("offer to %s given up: %s", c.siteName(j.rec.Handoff.To), why))
}

// withdrawOffer takes an offer back that is no fault of the candidate's.
func (c *ownership) withdrawOffer(j *job, why string) {
	c.sendAbort(c.handoffID(j), why)
	c.dropOffer(j, fmt.Sprintf("offer to %s withdrawn: %s", c.siteName(j.rec.Handoff.To), why))
}

// endOffer keeps the job here and searches again, without that candidate for a while.
func (c *ownership) endOffer(j *job, why string) { c.endOfferFor(j, c.cfg.Block, why) }

// maxBlocks bounds for how many times Config.Block a candidate may say not to be asked.
const maxBlocks = 10

func (c *ownership) endOfferFor(j *job, block grid.Tick, why string) {
	if j.blocked == nil {
		j.blocked = map[grid.PeerID]grid.Tick{}
	}
	j.blocked[j.rec.Handoff.To] = c.now + block
	c.dropOffer(j, why)
}

// dropOffer keeps the job here: in the local queue if it has kept its place there,
// else it is searched for again.
func (c *ownership) dropOffer(j *job, why string) {
	c.enter(j, grid.NoHandoff)
	c.disarm(j, onHandoff)
	if j.rec.Local == "" {
		c.search.ready(j, why)
	} else {
		c.stays(j, why)
	}
	if j.rec.CancelRequested { // that was heard while it was on its way
		c.home.pursueCancel(j)
	}
}

// stays: the job was up for a move, and waits in the local queue as before.
func (c *ownership) stays(j *job, why string) {
	c.become(j, grid.Assigned)
	c.save(j, "stays: "+why)
	c.emit(Probe{c.attempt(j)})
	c.arm(j, onBatch, c.cfg.Refresh)
}

// onReady: the candidate has it all on disk. A job that never was in the local
// queue can be committed at once; else its attempt must be withdrawn first.
func (c *ownership) onReady(from grid.PeerID, m wire.Ready) {
	j := c.open(from, m.Handoff)
	c.recovery.saw(from, m.Journal)
	if j == nil {
		c.late(from, m.Handoff)
		return
	}
	switch {
	case j.rec.Handoff.Phase == grid.Offering && c.gates.beforeHandingOn(j) != open:
		return // the candidate repeats it
	case j.rec.Handoff.Phase == grid.Offering && m.Handoff.Digest != j.sum():
		c.giveUp(j, "it is ready for another job than the one offered")
		return
	case j.rec.Handoff.Phase == grid.Committed && j.otherJournal(m.Handoff, m.Journal):
		c.ownerLost(j, from)
		c.late(from, m.Handoff)
		return
	case j.rec.Handoff.Phase == grid.Committed:
		c.sendCommit(j)
		return
	case j.rec.Handoff.Phase == grid.Withdrawing:
		return
	}
	if size := sizeOf(&j.rec.Job); size >= worthLearning && j.pullBegan > 0 && len(j.rec.Job.Sources) == 0 {
		c.emit(Delivered{Peer: from, Size: size, Took: max(1, c.now-j.pullBegan)})
	}
	j.rec.Candidate = m.Journal
	switch {
	case j.rec.CancelRequested:
		c.giveUp(j, "cancelled")
	case j.rec.Attempt > 0:
		c.enter(j, grid.Withdrawing)
		c.show(j) // not on disk: after a crash the offer is dead, and the attempt submitted anew if it was withdrawn
		c.execution.withdraw(j)
		c.backoff(j, onHandoff)
	default:
		c.commit(j)
	}
}

func (c *ownership) commitOf(j *job) wire.Commit {
	return wire.Commit{Handoff: c.handoffID(j), Cancel: j.rec.Wished(), Certificate: j.lastCertificate(), Journal: c.committing(), Ready: j.rec.Candidate}
}

// givenUpOn tells that the job was committed to a candidate that never said that it owns it, and
// that this site's administrator has forgotten. It owns the job all the same, if it comes back: so the
// certificate says, which the home has.
func (j *job) givenUpOn(from grid.PeerID, b wire.HandoffID) bool {
	h := j.rec.Handoff
	return j.rec.Role == grid.Tombstone && h.Phase == grid.NoHandoff && h.To == from && h.Epoch == b.Epoch &&
		j.rec.Owner == from && j.rec.Epoch == b.Epoch && j.rec.Candidate != (grid.JournalID{})
}

// notRepeated ends the saying of Commit.
func (c *ownership) notRepeated(j *job) {
	c.enter(j, grid.NoHandoff)
	c.disarm(j, onHandoff)
	if c.isHome(j) {
		c.show(j) // it is on disk with the first report; before, Commit is said once more
		if j.rec.CancelRequested {
			c.home.pursueCancel(j)
		}
		return
	}
	j.rec.Ended = c.now
	if j.rec.Telling {
		c.keepLive(j)
		c.show(j) // it is on disk, and the files go, when the home has acknowledged; before, Commit is said once more, and may be declined
		c.tellMoved(j)
		return
	}
	c.save(j, "")
	c.discard(j.rec.Job.ID)
}

// letOffer ends, at the home, what is left of the handoff to an owner that is given up.
func (c *ownership) letOffer(j *job) {
	c.turn(j, grid.Watching)
	c.enter(j, grid.NoHandoff)
	c.disarm(j, onHandoff)
}

// abandon ends an open offer before its commit, without a new search.
func (c *ownership) abandon(j *job, why string) {
	if p := j.rec.Handoff.Phase; p == grid.Offering || p == grid.Withdrawing {
		b := c.handoffID(j)
		c.enter(j, grid.NoHandoff)
		c.disarm(j, onHandoff)
		c.sendAbort(b, why)
	}
}

func (c *ownership) sendAbort(b wire.HandoffID, why string) {
	c.send(b.To, wire.Abort{Handoff: b, Why: why})
}
