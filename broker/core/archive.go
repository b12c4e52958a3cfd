package core

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"gbroker/grid"
)

// Jobs to which nothing may happen any more live in the journal. In memory is what must be
// known of all of them at once: who their home is and who owned them, what proves that, when
// they ended, and what their files take. When something is said of one after all (an owner
// that comes back with a result, a user who removes it), its record is loaded, and goes
// again when what was changed of it is durable.
//
//	live ── ended, saved ──► durable: archived ── a message, a request ──► loaded ── durable ──► archived

// archived is what is in memory of such a job.
type archived struct {
	home                    grid.PeerID
	submitted, began, ended grid.Tick
	size                    int64 // of the files that it may have here
	foreign                 *foreign
	role                    grid.Role
	state                   grid.State
	removed, kept           bool
	unwell                  bool   // its program has ended with a status that is not 0
	term, hop               uint32 // the highest stamps that it used
}

// foreign is more of one of another home: that home, or another owner, may ask for it after
// it was restored from a backup.
type foreign struct {
	owner             grid.PeerID
	epoch, superseded grid.Epoch
	certificates      []grid.Certificate
	closed            bool
	end               grid.State
}

// archivedOf keeps what is needed of a record, and no string that holds more.
func (c *kernel) archivedOf(r *grid.Record) archived {
	p := archived{
		home: c.intern(r.Job.Home), submitted: r.Submitted, began: r.Started, ended: r.Ended, size: sizeHere(r),
		role: r.Role, state: r.State, removed: r.Removed, kept: r.Kept, unwell: r.ExitCode != 0,
		term: r.Epoch.Term, hop: max(r.Epoch.Hop, r.Handoff.Epoch.Hop),
	}
	if r.Job.Home != c.cfg.Self {
		p.foreign = &foreign{owner: c.intern(r.Owner), epoch: r.Epoch, superseded: r.Superseded, certificates: slices.Clone(r.Certificates), closed: r.Closed, end: r.End}
		for i := range p.foreign.certificates {
			p.foreign.certificates[i].To = c.intern(p.foreign.certificates[i].To)
		}
	}
	return p
}

// Ended is how many jobs are archived of which this site is the home or was the owner to their end,
// by state, without those that were removed.
type Ended [grid.Lost + 1]int

func (p archived) counts() bool {
	return !p.removed && (p.role == grid.Owning || p.role == grid.Watching)
}

func (c *kernel) putArchive(r *grid.Record) {
	p := c.archivedOf(r)
	c.archive[grid.JobID(strings.Clone(string(r.Job.ID)))] = p
	if p.counts() {
		c.ended[p.state]++
	}
}

func (c *kernel) unarchive(id grid.JobID) {
	if p := c.archive[id]; p.counts() {
		c.ended[p.state]--
	}
	delete(c.archive, id)
}

// Ended tells how many there are.
func (c *kernel) Ended() Ended { return c.ended }

// intern gives one string for each peer.
func (c *kernel) intern(p grid.PeerID) grid.PeerID {
	if known, ok := c.peers[p]; ok {
		return known
	}
	p = grid.PeerID(strings.Clone(string(p)))
	c.peers[p] = p
	return p
}

// sizeHere is what the files of an ended job take.
func sizeHere(r *grid.Record) int64 { return r.Outputs.Size() + r.Job.Inputs.Size() }

// stub is an archived job as far as it is known without its record: to look at, never to save.
func (p archived) stub(id grid.JobID) *job {
	return &job{rec: p.outline(id), stub: true, size: p.size}
}

// outline is what is known of its record.
func (p archived) outline(id grid.JobID) grid.Record {
	r := grid.Record{
		Job:       grid.Job{ID: id, Home: p.home},
		State:     p.state,
		Submitted: p.submitted,
		Ended:     p.ended,
		Tenure:    grid.Tenure{Role: p.role, Kept: p.kept},
		Run:       grid.Run{Started: p.began},
		AtHome:    grid.AtHome{Removed: p.removed},
	}
	if p.unwell {
		r.ExitCode = 1 // of which no more is known
	}
	if f := p.foreign; f != nil {
		r.Owner, r.Epoch, r.Superseded, r.Certificates, r.Closed, r.End = f.owner, f.epoch, f.superseded, f.certificates, f.closed, f.end
	}
	return r
}

// job finds the job of an identifier; nil is none that is known here.
func (c *kernel) job(id grid.JobID) *job {
	if j := c.jobs[id]; j != nil {
		return j
	}
	if _, is := c.archive[id]; !is {
		return nil
	}
	r, err := c.cfg.Load(id)
	if err != nil {
		c.failed = fmt.Errorf("loading job %s: %w", id, err)
		return nil
	}
	j := &job{rec: r, said: saidOf(&r)}
	c.unarchive(id)
	c.jobs[id] = j
	if c.isLong(j) {
		j.letTextsGo() // it is durable
	}
	c.keepLive(j)
	return j
}

// peek is job, to look at alone.
func (c *kernel) peek(id grid.JobID) *job {
	if j := c.jobs[id]; j != nil {
		return j
	}
	if p, is := c.archive[id]; is {
		return p.stub(id)
	}
	return nil
}

// all are the jobs that are known here, in no order, to look at alone.
func (c *kernel) all() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for _, j := range c.jobs {
			if !yield(j) {
				return
			}
		}
		for id, p := range c.archive {
			if !yield(p.stub(id)) {
				return
			}
		}
	}
}

// allOf are those of one home.
func (c *kernel) allOf(home grid.PeerID) iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for _, j := range c.jobs {
			if j.rec.Job.Home == home && !yield(j) {
				return
			}
		}
		for id, p := range c.archive {
			if p.home == home && !yield(p.stub(id)) {
				return
			}
		}
	}
}

// withCertificates are those of them that certificates tell of.
func (c *kernel) withCertificates() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for j := range c.all() {
			if len(j.rec.Certificates) > 0 && !yield(j) {
				return
			}
		}
	}
}

// take takes up a record of the journal.
func (c *kernel) take(j *job) {
	r := &j.rec
	c.latest = max(c.latest, r.Submitted, r.Started, r.Ended)
	if r.Job.Home == c.cfg.Self && r.Key != "" {
		c.keys[keyOf(r.Job.User, r.Key)] = grid.JobID(strings.Clone(string(r.Job.ID)))
	}
	c.countPart(r)
	if c.cfg.Load != nil && IsArchived(r) {
		c.putArchive(r)
		return
	}
	c.jobs[r.Job.ID] = j
	if c.isLong(j) {
		c.long[r.Job.ID] = true
		c.shorten() // what is read is durable: not all of them are in memory at once
	}
	c.keepLive(j)
}

// IsArchived tells that nothing may happen to a job any more but by word of others.
func IsArchived(r *grid.Record) bool {
	return isTombstone(r) && !(r.State == grid.Lost && r.End != 0 && r.End != grid.Lost) // a result that is on the way
}

// retire lets the records go of jobs that have become archived. All that was saved is durable.
func (c *Core) retire() {
	if c.cfg.Load == nil {
		return
	}
	for id := range c.ending { // in any order: nothing leaves here
		j := c.jobs[id]
		if j == nil || c.live[id] != nil {
			delete(c.ending, id)
			continue
		}
		if !IsArchived(&j.rec) || j.pulling || c.withdraws(j) || j.reading || j.claim != nil || j.due != [concerns]grid.Tick{} || c.execution.refusedHere(id, alterableOf(&j.rec.Job)) != nil {
			continue // something is under way, or not yet to be forgotten: looked at again
		}
		delete(c.ending, id)
		delete(c.jobs, id)
		c.putArchive(&j.rec)
	}
}
