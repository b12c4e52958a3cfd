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

// takeVersion makes what another site has of a job of this home its record's. What only the home
// sees to stays.
func (j *job) takeVersion(of grid.Job) {
	of.Terms = j.rec.Job.Terms
	j.rec.Job, j.digest, j.rec.Altered = of, grid.Hash{}, nil
}
