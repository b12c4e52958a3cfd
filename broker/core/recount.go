package core

import (
	"cmp"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Recount: what a member and a broker that was rolled back share. The answer claims the jobs
// that the member owns and whose home is there, those of that home that ended at the
// member, of which it has a tombstone, and those that the asker owns and whose home
// the member is. The member is settled when none of the first is newer than the record here
// (the member's reports make it so), when the ends that are lacking here have come
// (Recall: the member tells the job and its last report again, with the certificates), and of
// the last, what is not owned here has been denied (Unknown: the home then shows the
// job as lost).
//
// Before it answers the member gives up, on disk, all that it is PREPARED for that the asker
// has offered, or is the home of: a Commit of the branch that is lost, still under way, makes
// nobody an owner any more.
//
// A member may have been rolled back itself, or have lost its journal. So nobody answers
// before he has read his own control directories; of attempts there that no record of his
// has he tells the *traces*: he owned those jobs, at those epochs. What both journals have
// forgotten is so not started twice: where nobody owns the job at a later epoch, it
// is LOST, or starts again at a new term if it may.

// onRecount tells a member that was rolled back what this site and it share.
func (c *recovery) onRecount(from grid.PeerID, m wire.Recount) {
	c.saw(from, m.Journal)
	if !c.traced || !c.voidOffers(from) {
		return // asked again
	}
	var claims []wire.Claim
	for _, j := range c.sorted() {
		r := &j.rec
		switch {
		case len(claims) == wire.MaxClaims:
		case r.Role == grid.Owning && r.Job.Home == from:
			claims = append(claims, wire.Claim{Job: r.Job.ID, Epoch: r.Epoch})
			j.known = false // the report brings its certificates
			c.disarm(j, onReport)
			c.home.report(j)
		case c.isHome(j) && r.Role == grid.Watching && r.Owner == from:
			claims = append(claims, wire.Claim{Job: r.Job.ID, Epoch: claimed(r), Yours: true})
		}
	}
	for _, j := range c.tombstones(from) {
		if len(claims) < wire.MaxClaims {
			claims = append(claims, wire.Claim{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Ended: true})
		}
	}
	for _, j := range inOrder(slices.Collect(c.withCertificates())) {
		if len(claims) < wire.MaxClaims {
			claims = append(claims, c.passedOn(j, from)...)
		}
	}
	c.send(from, wire.Recounted{Claims: claims, Traces: c.tracesFor(from)})
}

// voidOffers gives up what this site is PREPARED for, if one that was rolled back has offered
// it or is its home. It tells whether nothing is left of that.
func (c *recovery) voidOffers(by grid.PeerID) (all bool) {
	all = true
	for _, id := range slices.Sorted(maps.Keys(c.accepted)) {
		if a := c.accepted[id]; a.from == by {
			c.ownership.release(a)
		}
	}
	for _, j := range c.sorted() {
		switch {
		case j.rec.Role != grid.Prepared || j.rec.Owner != by && j.rec.Job.Home != by:
		case c.gates.beforeUnpreparing(j) != open:
			all = false
		default:
			c.ownership.decline(j, c.nameOf(by)+" was rolled back")
		}
	}
	return all
}

// passedOn tells one that was rolled back of a job that went through its hands, and may
// be its own in the journal that it has now. A home hears who got it from here; another
// hears that it gave the job away.
func (c *recovery) passedOn(j *job, from grid.PeerID) []wire.Claim {
	r := &j.rec
	switch {
	case len(r.Certificates) == 0 || c.isHome(j) || r.Role == grid.Prepared || r.Role == grid.Declined:
	case r.Job.Home == from && r.Role == grid.Tombstone && r.Owner != c.cfg.Self && j.lastCertificate().To != "":
		if j = c.job(r.Job.ID); j == nil {
			return nil
		}
		c.sendMoved(j) // asked again, it is said again
		return []wire.Claim{{Job: r.Job.ID, Epoch: r.Certificates[len(r.Certificates)-1].Epoch, Yours: true}}
	case r.Job.Home != from:
		by := r.Job.Home
		for _, d := range r.Certificates {
			if by == from && d.To != from {
				if j = c.job(r.Job.ID); j == nil {
					return nil
				}
				c.send(from, wire.Owned{Handoff: wire.HandoffID{Job: r.Job.ID, Epoch: d.Epoch, To: d.To, Digest: j.certified()}, Owner: r.Owner, Certificate: d})
				return []wire.Claim{{Job: r.Job.ID, Epoch: d.Epoch}}
			}
			by = d.To
		}
	}
	return nil
}

// tombstones are those of a home's jobs that this site owned to their end, the latest
// first: a home that was restored may have forgotten that end. As long as a home keeps
// every record, a job that it does not know is one that it has lost.
func (c *recovery) tombstones(home grid.PeerID) []*job {
	var list []*job
	for j := range c.allOf(home) {
		if j.ended() && c.now-j.rec.Ended <= keyLife && j.lastCertificate().To == c.cfg.Self {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.rec.Ended, a.rec.Ended), cmp.Compare(a.rec.Job.ID, b.rec.Job.ID))
	})
	return list
}

// ended reports that this is the tombstone of a job that ended here and whose home has
// acknowledged that.
func (j *job) ended() bool {
	return j.rec.Role == grid.Tombstone && j.rec.Closed && j.rec.End != 0
}

// onRecounted compares a member's claims with the records here.
func (c *recovery) onRecounted(from grid.PeerID, m wire.Recounted) {
	if c.rolled == nil || !c.rolled.waiting[from] {
		return
	}
	lacking := false
	for _, k := range m.Claims {
		j := c.job(k.Job)
		switch {
		case k.Ended && c.lacksEnd(from, j, k):
			c.send(from, wire.Recall{Job: k.Job})
			lacking = true
		case k.Ended && c.endsElsewhere(j, k):
			c.rolled.ends[k.Job] = append(c.rolled.ends[k.Job], from)
		case !k.Yours && !k.Ended && c.lacksOwner(j, k), k.Yours && j != nil && c.isHome(j) && j.rec.Epoch.Before(k.Epoch) && !j.rec.State.Terminal():
			lacking = true // its report is on the way, or the certificate
		case k.Yours && (j == nil || j.rec.Role != grid.Prepared && j.rec.Epoch.Before(k.Epoch)):
			c.send(from, wire.Unknown{Handoff: wire.HandoffID{Job: k.Job, Epoch: k.Epoch, To: c.cfg.Self}, Journal: c.cfg.Journal})
		}
	}
	if lacking = c.takeTerms(from, m.Traces) || lacking; lacking {
		return // asked again
	}
	for _, k := range m.Traces {
		c.traceAt(from, k)
	}
	if c.learnt[from] >= maxLearnt {
		c.note("", from, "it tells of more that this journal lacks than is believed without proof")
	}
	delete(c.rolled.waiting, from)
	if len(m.Traces) > 0 {
		c.saveState()
	}
	c.settle()
}

// lacksOwner reports that the record here is older than what a member tells of its owner.
func (c *recovery) lacksOwner(j *job, k wire.Claim) bool {
	if k.Job.Site() == c.cfg.Site.Name {
		return j == nil || j.rec.Epoch.Before(k.Epoch) && !j.rec.State.Terminal()
	}
	return j != nil && j.rec.Role == grid.Owning && j.rec.Epoch.Before(k.Epoch)
}

// lacksEnd reports that the record here does not have the end that a member's tombstone tells. One of an older epoch counts as long as
// the job has not started again: that it was acknowledged says that its user was told an end, in a part of this journal that is lost.
func (c *recovery) lacksEnd(from grid.PeerID, j *job, k wire.Claim) bool {
	switch {
	case j == nil:
		return k.Job.Site() == c.cfg.Site.Name
	case !c.isHome(j), j.rec.State.Terminal():
		return false // a job has one end, also where two owners have run it
	case k.Epoch.Before(claimed(&j.rec)):
		return c.gates.notStarted(j) && j.notAdopted.Before(k.Epoch)
	}
	return claimed(&j.rec).Before(k.Epoch) || j.rec.Owner == from
}

// endsElsewhere: a member tells an end of an older epoch of a job that is with another since. It counts should the job turn out to have come back here.
func (c *recovery) endsElsewhere(j *job, k wire.Claim) bool {
	return j != nil && c.isHome(j) && j.rec.Role == grid.Watching && !j.rec.State.Terminal() && k.Epoch.Before(claimed(&j.rec)) && j.notAdopted.Before(k.Epoch)
}

// askEnds asks those again who have told ends of jobs that have come back since.
func (c *recovery) askEnds() {
	for id, told := range c.rolled.ends {
		if j := c.job(id); j == nil || !c.gates.notStarted(j) {
			continue
		}
		for _, p := range told {
			if c.members[p] != nil {
				c.await(p)
			}
		}
		delete(c.rolled.ends, id)
	}
}
