package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// What others prove by certificates of the part of this journal that is lost.

// givenAway reports that certificates, the first of them signed by this home, prove that
// another owns a job that this home holds at an older epoch: the handoff is not in
// this journal.
func (c *recovery) givenAway(from grid.PeerID, j *job, m wire.Report) bool {
	return j.rec.Epoch.Before(m.Epoch) && c.gates.provesItself(j, from, m, j.sum())
}

// forgotten: certificates tell the home that the job has changed hands in a part of its journal
// that is lost: it is with another, or has come back; then its control directory is asked
// for the attempts of that time. What is not open is not believed: see yields.
func (c *recovery) forgotten(from grid.PeerID, j *job, certificates []grid.Certificate) gate {
	last := certificates[len(certificates)-1]
	if last.To != c.cfg.Self {
		return c.supplant(last.To, j, certificates, false)
	}
	c.rolledBack(c.hasSeen(from), grid.JournalID{})
	return c.ownsSince(from, j, last.Epoch)
}

// ownsSince: as a member tells, this home has owned the job at an epoch that its journal lacks. If nobody owns it at a later one, it
// still does.
func (c *recovery) ownsSince(from grid.PeerID, j *job, epoch grid.Epoch) gate {
	if hold := c.yields(j, false); hold != open {
		return hold
	}
	c.ownedAt(j, epoch)
	j.recovered, j.reconciled = true, false
	c.save(j, "it came back here before the journal was rolled back, as "+c.nameOf(from)+" tells")
	c.reconcile()
	return open
}

// yields tells whether this home gives up its own attempt at a job for that of another, and does what is
// needed to know that: the other says it again. Where its own has started, that goes on at a new term.
func (c *recovery) yields(j *job, started bool) gate {
	hold := c.gates.beforeYielding(j, started)
	switch hold {
	case untilToken:
		c.execution.withdraw(j)
	case untilDirectory:
		c.reconcile()
	case itStarted:
		c.home.keepRun(j)
	}
	return hold
}

// gaveAway: an owner that is not the home has given the job away in a part of its journal
// that is lost.
func (c *recovery) gaveAway(j *job, m wire.Owned) {
	if j.rec.Attempt > 0 {
		c.emit(Withdraw{c.attempt(j)}) // it was, before the handoff: the token makes sure
	}
	c.ownership.abandon(j, "it was handed over already")
	c.rest(j)
	r := &j.rec
	c.beginTenure(j, r.Next(grid.Tombstone, m.Certificate.To, m.Certificate.Epoch), grid.Run{})
	r.Certificates = append(slices.Clip(r.Certificates), m.Certificate)
	r.Ended = c.now
	c.save(j, "given to "+c.nameOf(m.Certificate.To)+" before the journal was rolled back")
	c.discard(r.Job.ID)
}

// supplant believes that, as soon as no attempt of this home can have started; with started, the
// other's has. It also shows that this journal was rolled back.
func (c *recovery) supplant(from grid.PeerID, j *job, certificates []grid.Certificate, started bool) gate {
	c.rolledBack(c.hasSeen(from), grid.JournalID{})
	if hold := c.yields(j, started); hold != open {
		return hold
	}
	if j.rec.Role == grid.Owning && j.rec.Attempt > 0 {
		c.emit(Withdraw{c.attempt(j)}) // it was, before the handoff: the token makes sure
	}
	c.ownership.abandon(j, "it was handed over already")
	c.rest(j)
	r := &j.rec
	r.Unsupplied = r.Unsupplied || j.unsupplied() && !c.groups.brought(r.Job.ID)
	c.beginTenure(j, r.Next(grid.Watching, from, certificates[len(certificates)-1].Epoch), grid.Run{})
	r.Certificates, r.Candidate = certificates, c.mark(from)
	for _, d := range certificates {
		if d.To != c.cfg.Self && !slices.Contains(r.Trail, d.To) {
			r.Trail = append(slices.Clip(r.Trail), d.To)
		}
	}
	c.save(j, "owned by "+c.nameOf(from)+" since before the journal was rolled back")
	return open
}

// waitsAgain begins the state of a job that waits here again, at an epoch that this journal lacks or at a new one: where its files have not come, as this journal
// was put back to before that, they are awaited still, also where it has been with another meanwhile. A job of a group whose files have all come waits for none. What another
// foresaw of its start is over.
func (c *kernel) waitsAgain(j *job) {
	j.rec.EstimateNow, j.rec.Reason = 0, ""
	switch {
	case j.rec.Unsupplied:
		c.begins(j, grid.StageIn)
		c.awaitFiles(j)
	case j.unsupplied() && !c.groups.complete(j.rec.Job.ID):
		c.awaitFiles(j)
	default:
		c.begins(j, grid.Ready)
	}
}

// unsupplied: this home waits for the files of the job.
func (j *job) unsupplied() bool {
	return j.rec.State == grid.Submitted || j.rec.State == grid.StageIn
}

// supplied: a job that is known is told: by its home, see learnVersion; or this journal was put back to a time before the files of the job had come. Its owner
// tells the whole job, and by certificates over that, the first of them signed here, that it is his.
func (c *recovery) supplied(from grid.PeerID, j *job, m wire.Recalled) {
	c.learnVersion(from, j, m)
	whole := m.Job.Home == c.cfg.Self && m.Job.User == j.rec.Job.User && m.Owning
	if whole && c.isHome(j) && j.rec.Role != grid.Owning && wire.JobDigest(m.Job) == j.sum() && j.digestHere() != j.sum() && c.proven(from, m) {
		j.takeVersion(m.Job)
		c.save(j, "the version that "+c.nameOf(from)+" has: this journal did not have it")
		return
	}
	if !whole || !c.isHome(j) || j.rec.Role != grid.Owning || !j.unsupplied() || !j.rec.Epoch.Before(m.Epoch) || !c.proven(from, m) {
		return
	}
	j.takeVersion(m.Job)
	c.supplant(from, j, m.Certificates, false)
}
