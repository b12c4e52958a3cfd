package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/wire"
)

// Long documents. What a job gives its program, the arguments and the environment, may be a megabyte, and is of use only
// where the job starts, changes hands or is compared. Once a long one is durable Core has its digest and its length, and the
// journal has the rest:
//
//	saved, durable ──► brief ── Launch, Offer, Recalled, the same key again, a new version ──► read from the journal, for that alone
//
// A record that is brief is saved as such (grid.Change.Brief). Invariant: while it is brief, the journal has the texts of this very job.

// shorten lets go of the texts of long documents that have become durable.
func (c *kernel) shorten() {
	for id := range c.long { // in any order: nothing leaves here
		delete(c.long, id)
		if j := c.jobs[id]; j != nil && c.isLong(j) {
			j.letTextsGo()
		}
	}
}

// letTextsGo makes the record brief, once the journal has it whole.
func (j *job) letTextsGo() {
	j.ownSum, j.brief = wire.JobDigest(j.rec.Job), j.rec.Job.Program.TextSize()
	j.rec.Job.Program = j.rec.Job.Program.Brief()
	if j.digest == (grid.Hash{}) {
		j.digest = j.ownSum
	}
}

// isLong: the job has a long document that is not to change any more, as its files are here. Those of co-allocated jobs stay: their parts
// are made of them again and again.
func (c *kernel) isLong(j *job) bool {
	of := &j.rec.Job
	return c.cfg.Load != nil && j.brief == 0 && !j.unsupplied() && of.Coallocation == nil && of.Part == nil && of.Program.TextSize() >= c.cfg.LongDocument
}

// whole is the job with its texts.
func (c *kernel) whole(j *job) grid.Job {
	of := j.rec.Job
	if j.brief == 0 {
		return of
	}
	r, err := c.cfg.Load(of.ID)
	if err != nil {
		c.failed = fmt.Errorf("reading the document of job %s: %w", of.ID, err)
		return of
	}
	of.Program = of.Program.With(r.Job.Program)
	return of
}

// replace makes another version the record's job, with its digest, if that is known.
func (j *job) replace(of grid.Job, digest grid.Hash) {
	j.rec.Job, j.digest, j.brief = of, digest, 0
}

// sum is the digest of the job as it travels, reckoned once: a job does not change
// after its files are here.
func (j *job) sum() grid.Hash {
	if j.digest == (grid.Hash{}) {
		j.digest = wire.JobDigest(j.rec.Job)
	}
	return j.digest
}

// digestHere is that of the version which this record has: the home may know that another is out (version.go).
func (j *job) digestHere() grid.Hash {
	if j.brief > 0 {
		return j.ownSum
	}
	return wire.JobDigest(j.rec.Job)
}
