package core

import (
	"cmp"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// The candidate's side of the handoff:
//
//	Offer ─► Look ─► Refuse
//	            └──► ACCEPTED (memory, a lease) ─► files fetched ─► PREPARED (disk) ─► Ready
//	PREPARED ── Commit ──► OWNED (disk), Owned, submitted to the batch system
//	         ── Abort ───► forgotten
//	         ── silence ─► Inquire ... ─► after a long time Declined (disk)

// pendingOffer waits for a snapshot.
type pendingOffer struct {
	from  grid.PeerID
	offer wire.Offer
}

// acceptance is an ACCEPTED job: capacity is counted, nothing is promised on disk.
type acceptance struct {
	from  grid.PeerID
	offer wire.Offer
	due   grid.Tick
	start grid.Tick // the latest estimate of when it would start here
}

// slack is how much worse than told the wait may be before an offer is refused.
func slack(told grid.Tick) grid.Tick { return max(grid.Minute, told/2) }

// latestWait is how long the job of an offer may wait here: what was asked binds with that slack, what was told as the offer says.
func latestWait(o *wire.Offer) grid.Tick {
	if o.Latest > 0 {
		return o.Latest
	}
	return o.Wait + slack(o.Wait)
}

func (c *ownership) offer(from grid.PeerID, o wire.Offer) {
	c.recovery.saw(from, o.Journal)
	c.heardStamp(o.Handoff.Epoch.Hop, false)
	c.heardStamp(o.Handoff.Epoch.Term, false)
	if o.Handoff.To != c.cfg.Self || o.Job.ID != o.Handoff.Job || o.Handoff.Digest != wire.JobDigest(o.Job) {
		c.send(from, wire.Error{Of: wire.KindOffer, Job: o.Handoff.Job, Why: "the handoff id does not fit the job offered"})
		return
	}
	if why := c.notTheirs(from, o); why != believed {
		c.send(from, wire.Error{Of: wire.KindOffer, Job: o.Handoff.Job, Why: why.String()})
		return
	}
	if a := c.accepted[o.Handoff.Job]; a != nil {
		if a.from == from && a.offer.Handoff == o.Handoff {
			c.send(from, wire.Accept{Handoff: o.Handoff, Journal: c.cfg.Journal})
			return
		}
		if !a.offer.Handoff.Epoch.Before(o.Handoff.Epoch) {
			return // an older offer, late
		}
		c.release(a) // its owner has made a newer offer: the old one is dead
	}
	if j := c.job(o.Handoff.Job); j != nil && !c.offerAgain(j, from, o) {
		return
	}
	switch c.gates.beforePreparing(o.Handoff) {
	case open:
	case untilDirectory: // another site may have it: one directory that cannot be read is no reason to keep an owner waiting
		c.send(from, wire.Refuse{Handoff: o.Handoff, Estimate: grid.Estimate{Refusal: forNow("its control directories are not all read yet")}})
		return
	default:
		return // made again, or late
	}
	o.Job.Terms.Deadline = c.until(o.Deadline)
	if j := c.job(o.Handoff.Job); j != nil && (c.terms.wantsBack(j) || c.lostReservation(j)) {
		a := &acceptance{from: from, offer: o, start: c.now} // to wait at home, whatever there is to run it on
		if j.rec.Unsupplied {
			c.take(a)
		} else {
			c.prepare(a)
		}
		return
	}
	c.keepOffer(from, o)
}

// notTheirs says why a member has no right to make an offer: only the owner has, and
// in the name of a user of the job's home. This site takes its own users' jobs back
// as far as it knows them.
func (c *ownership) notTheirs(from grid.PeerID, o wire.Offer) doubt {
	j := c.job(o.Handoff.Job)
	if j != nil {
		c.heardVersion(from, j, o.Handoff.Digest, o.Certificates)
	}
	switch {
	case max(o.Handoff.Epoch.Term, o.Handoff.Epoch.Hop) >= maxStamp:
		return stampOfNoClock
	case o.Job.User.Home != o.Job.Home:
		return userOfAnotherHome
	case j != nil && j.rec.Job.Home != o.Job.Home:
		return otherHome
	case o.Job.Home == c.cfg.Self && j == nil:
		return unknownAtHome
	case o.Job.Home == c.cfg.Self && j.rec.State.Terminal():
		return hasEnded
	case o.Job.Home == c.cfg.Self && j.sum() != o.Handoff.Digest:
		return otherJob
	}
	if why := c.notOwner(from, o); why != believed || o.Job.Home != c.cfg.Self {
		return why
	}
	if why := c.believe(j, o.Certificates, false); why != believed {
		return why
	}
	if j.rec.Role != grid.Owning && j.rec.Owner != from { // it was one, and its certificates are still good
		return laterOwner
	}
	return believed
}

// offerAgain answers an Offer for a job that is known here; true lets it pass as new.
func (c *ownership) offerAgain(j *job, from grid.PeerID, o wire.Offer) bool {
	switch {
	case j.rec.Role == grid.Prepared && j.rec.Handoff.Epoch == o.Handoff.Epoch:
		c.send(from, wire.Ready{Handoff: o.Handoff, Journal: c.cfg.Journal})
	case j.rec.Epoch == o.Handoff.Epoch:
		c.send(from, c.owned(j, o.Handoff))
	case j.rec.Role == grid.Owning || o.Handoff.Epoch.Before(j.rec.Epoch):
		c.send(from, wire.Refuse{Handoff: o.Handoff, Estimate: grid.Estimate{Refusal: forNow("the job is here already")}})
	case c.isHome(j) && j.rec.State.Terminal(): // while a snapshot was taken
	case o.Handoff.Epoch.Before(j.rec.Handoff.Epoch): // late: a newer one is prepared or declined
	case c.isHome(j) && j.rec.Role == grid.Watching && j.rec.Handoff.To == c.cfg.Self && j.rec.Handoff.Epoch == o.Handoff.Epoch:
		// Late: that offer back to the home was prepared here, and has died.
	case j.rec.Role == grid.Declined && j.rec.Handoff.Epoch == o.Handoff.Epoch: // that word is kept
		c.send(from, wire.Declined{Handoff: o.Handoff, Journal: c.cfg.Journal})
	case j.rec.Handoff.Phase == grid.Committed:
		return false // our own Commit is still open
	default:
		return true
	}
	return false
}

// maxAccepted bounds the jobs whose files are being fetched.
const maxAccepted = 256

// considerOffer estimates again, counting all that was accepted.
func (c *ownership) considerOffer(o pendingOffer, b *batch, s plan.Snapshot, held *allowance) {
	if c.accepted[o.offer.Handoff.Job] != nil {
		return
	}
	if j := c.job(o.offer.Handoff.Job); j != nil && !c.offerAgain(j, o.from, o.offer) {
		return // it came twice while the snapshot was taken
	}
	e := grid.Estimate{Refusal: cmp.Or(c.estimator.unwelcome(o.offer.Job.Home), c.execution.refusedHere(o.offer.Handoff.Job, alterableOf(&o.offer.Job)))}
	part := o.offer.Job.Part
	switch {
	case e.Refusal != nil:
	case part != nil: // its nodes are reserved
		e.Wait = max(0, part.Start-c.now)
	default:
		e = c.estimator.estimate(b, c.estimator.question(&o.offer.Job, s.At), o.offer.Job.Reservation)
	}
	if e.Refusal == nil && len(c.accepted) >= maxAccepted {
		e.Refusal = forNow(tooMany)
	}
	if e.Refusal == nil {
		e.Refusal = c.beyond(held, &o.offer.Job)
	}
	if e.Refusal != nil || part == nil && e.Wait > latestWait(&o.offer) {
		c.send(o.from, wire.Refuse{Handoff: o.offer.Handoff, Estimate: e})
		return
	}
	if j := c.job(o.offer.Handoff.Job); j != nil && j.rec.Kept {
		j.rec.Kept = false
		c.save(j, "its older result is put aside: it comes here again")
		c.emit(SetAside{Job: j.rec.Job.ID, Foreign: true})
	}
	held.add(&o.offer.Job)
	if c.take(&acceptance{from: o.from, offer: o.offer, start: s.At + e.Wait}) {
		held.fetching++
	}
}

// take accepts a job: what of it is not here is fetched, as it tells, and then it is prepared.
func (c *ownership) take(a *acceptance) (fetches bool) {
	of, b := &a.offer.Job, a.offer.Handoff
	c.accepted[b.Job] = a
	c.changes++
	fetch := Fetch{Job: b.Job, Epoch: b.Epoch, From: a.from, Set: InputFiles, Files: of.Inputs, User: of.User, Grants: of.Sharing.Grants}
	if j := c.job(b.Job); of.Home == c.cfg.Self && (j == nil || !j.rec.Unsupplied) {
		fetch.Files = nil // a home has kept them
	}
	if len(of.Sources) > 0 {
		fetch.With = of
	}
	if len(fetch.Files) == 0 && fetch.With == nil {
		c.prepare(a)
		return false
	}
	c.emit(fetch)
	c.keepalive(a)
	return true
}

// keepalive tells the owner that the files are still being pulled.
func (c *ownership) keepalive(a *acceptance) {
	c.send(a.from, wire.Accept{Handoff: a.offer.Handoff, Journal: c.cfg.Journal})
	a.due = c.now + c.cfg.Keepalive
	c.pushTimer(a.due, acceptedDue, a.offer.Handoff.Job)
}

// release forgets an acceptance and what was pulled for it.
func (c *ownership) release(a *acceptance) {
	delete(c.accepted, a.offer.Handoff.Job)
	c.changes++
	if c.peek(a.offer.Handoff.Job) == nil {
		c.discard(a.offer.Handoff.Job)
	}
}

// inputsFetched: all the files of an accepted job are here, or cannot be had.
func (c *ownership) inputsFetched(e Fetched) {
	a := c.accepted[e.Job]
	if a == nil || a.offer.Handoff.Epoch != e.Epoch {
		return
	}
	if e.Err != nil {
		why := forNow("its files could not be fetched: " + clip(e.Err.Error()))
		if e.Source {
			why = &grid.Refusal{Kind: grid.Permanent, Reason: clip(e.Err.Error())}
		}
		c.send(a.from, wire.Refuse{Handoff: a.offer.Handoff, Estimate: grid.Estimate{Refusal: why}})
		c.release(a)
		return
	}
	if j := c.job(e.Job); j != nil && !c.offerAgain(j, a.from, a.offer) || j == nil && a.offer.Job.Home == c.cfg.Self {
		c.release(a) // the job has ended, or is here, since: to fetch its files may take long
		return
	} else if j != nil {
		j.rec.Unsupplied = false
	}
	c.prepare(a)
}

// prepare writes PREPARED: the job is complete here, and not ours.
func (c *ownership) prepare(a *acceptance) {
	b := a.offer.Handoff
	delete(c.accepted, b.Job)
	c.changes++
	j := c.job(b.Job)
	if j == nil {
		j = &job{rec: grid.Record{Job: a.offer.Job, Submitted: c.now - a.offer.Age}}
		c.jobs[b.Job] = j
	}
	c.turn(j, grid.Prepared)
	c.enter(j, grid.NoHandoff)
	chain, over := j.rec.Certificates, j.certified()
	if a.from != j.rec.Job.Home { // a home shows none, and those of before tell to whom the job went from here
		chain, over = a.offer.Certificates, b.Digest
	}
	if !c.isHome(j) { // a home knows the state from the owner's reports
		c.begins(j, grid.Moving)
		j.replace(a.offer.Job, b.Digest) // a tombstone keeps no more of the job than that it was here
	} else if b.Digest != j.digestHere() {
		j.takeVersion(a.offer.Job)
	}
	j.rec.Owner = a.from
	j.rec.EstimateNow = a.start
	j.rec.Handoff.To, j.rec.Handoff.Epoch = c.cfg.Self, b.Epoch
	j.rec.Hops = a.offer.Hops
	j.certify(chain, over)
	j.ofPrepared = ofPrepared{after: c.recovery.mark(a.from), inputsHere: true}
	j.began, j.heard, j.reconciled = c.now, c.now, true
	j.came = arrival{b.Epoch, c.cfg.Journal.Sequence}
	c.save(j, fmt.Sprintf("prepared for %s", c.siteName(a.from)))
	c.sendReady(j)
}

func (c *ownership) onAbort(from grid.PeerID, m wire.Abort) {
	if a := c.accepted[m.Handoff.Job]; a != nil && a.from == from && a.offer.Handoff == m.Handoff {
		c.release(a)
		return
	}
	j := c.job(m.Handoff.Job)
	if j != nil && j.rec.Role == grid.Prepared && j.rec.Owner == from && j.rec.Handoff.Epoch == m.Handoff.Epoch {
		if c.gates.beforeUnpreparing(j) != open {
			return // he says it again, when he is asked
		}
		c.unprepare(j, from)
	}
	if j == nil || m.Handoff.To != c.cfg.Self {
		return
	}
	if o := c.owned(j, m.Handoff); o.Certificate.To != "" || j.rec.Role == grid.Owning && j.rec.Epoch == m.Handoff.Epoch {
		c.send(from, o) // who commits does not abort: its journal has lost the commit
	}
}

// before tells that an owner's journal has not come further than it had when the job was PREPARED.
func (j *job) before(at grid.JournalID) bool {
	return at != (grid.JournalID{}) && at.SameLife(j.after) && at.Sequence <= j.after.Sequence
}

// clip bounds a text that goes into a message or a record.
func clip(s string) string {
	const limit = 300
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…" // not half a character
	}
	return s
}
