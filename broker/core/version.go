package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// Versions of a job. Its home makes them (alter.go), and certificates are over the one that was given
// away. A home whose journal was put back may know an older one than is out. So who shows
// certificates says by which digest they are; where the home itself has signed the first of them,
// at an epoch that it does not know, that version is the job's, and the home asks for it:
//
//	owner: Report, Moved, Offer{certificates, version} ─► home: it is mine ─► Recall
//	owner: Recalled{job} ─► the record has that version
//
// An owner whose journal was put back may know an older one too: its control directory tells it at what epoch it has owned
// the job, and not what that was. So until its report is acknowledged it says by its digest which version it has. A home that
// has given it another does not acknowledge one that has not started, and tells it the job:
//
//	owner: Report{version} ─► home: Recalled{job} ─► owner: its attempt is withdrawn, and made anew of that version

// heardVersion takes the digest of such a version for the job's.
func (c *ownership) heardVersion(from grid.PeerID, j *job, version grid.Hash, certificates []grid.Certificate) {
	n := len(certificates)
	if version == (grid.Hash{}) || !c.isHome(j) || j.unsupplied() || n == 0 || version == j.sum() ||
		!j.rec.Epoch.Before(certificates[n-1].Epoch) || c.unproven(&j.rec.Job, version, certificates) != believed {
		return
	}
	j.digest = version
	if certificates[n-1].To == from {
		c.send(from, wire.Recall{Job: j.rec.Job.ID})
	}
}

// tellVersion has an owner that knows an older version of the job learn the one that this home has given away.
func (c *home) tellVersion(from grid.PeerID, j *job) {
	if j.digestHere() != j.sum() {
		return // this home has asked for it itself
	}
	of := c.whole(j)
	c.send(from, wire.Recalled{Job: of.Abroad(), Epoch: claimed(&j.rec), Age: max(0, c.now-j.rec.Submitted), Deadline: c.ahead(j.rec.Job.Terms.Deadline)})
}

// learnVersion: the home of a job that is owned here, and has not started, says what it is.
func (c *recovery) learnVersion(from grid.PeerID, j *job, m wire.Recalled) {
	r := &j.rec
	if from != r.Job.Home || m.Job.Home != from || m.Job.User != r.Job.User || c.isHome(j) || r.Role != grid.Owning || r.Epoch != m.Epoch || r.State >= grid.Running ||
		wire.JobDigest(m.Job) == j.sum() {
		return
	}
	if r.State == grid.Moving {
		c.ownership.sendAbort(c.ownership.handoffID(j), "it is of an older version")
		c.ownership.dropOffer(j, "the offer died: it is of an older version")
	}
	j.replace(m.Job, grid.Hash{})
	r.Certificates = nil // they are over another
	r.Job.Terms.Deadline = c.until(m.Deadline)
	c.save(j, "the version that its home has: this journal did not have it")
	if r.State == grid.Assigned {
		c.execution.withdraw(j)
	}
}

// takeVersion makes what another site has of a job of this home its record's. What only the home
// sees to stays, and what its user has wished since this journal was put back: that is later than any version which is out.
func (j *job) takeVersion(of grid.Job) {
	of.Terms, of.Guaranteed, of.Coallocation = j.rec.Job.Terms, j.rec.Job.Guaranteed, j.rec.Job.Coallocation
	j.renewed(of)
}

// renewed makes a new version the job of this home. What it was handed in with stays known, by which its key tells it again.
func (j *job) renewed(of grid.Job) {
	if was := &j.rec.Job; j.rec.HandedIn == nil {
		j.rec.HandedIn = &grid.HandedIn{Walltime: was.Walltime, Queue: was.Queue, Demand: was.Demand}
	}
	j.replace(of, grid.Hash{})
	if j.rec.Altered = nil; j.wishes != (grid.Alteration{}) {
		wishes := j.wishes
		j.rec.Altered = &wishes
	}
}

// handedIn is a job of this home as it was handed in, of the version that there is.
func (j *job) handedIn(of grid.Job) grid.Job {
	if was := j.rec.HandedIn; was != nil {
		of.Walltime, of.Queue, of.Demand = was.Walltime, was.Queue, was.Demand
	}
	return of
}
