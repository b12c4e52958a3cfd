package core

import (
	"fmt"
	"iter"
	"maps"
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
//	live ── ended, saved ──► durable: past ── a message, a request ──► loaded ── durable ──► past

// past is what is in memory of such a job.
type past struct {
	home                    grid.PeerID
	submitted, began, ended grid.Tick
	size                    int64 // of the files that it may have here
	foreign                 *foreign
	standing                grid.Standing
	state                   grid.State
	removed, kept           bool
	term, hop               uint32 // the highest stamps that it used
}

// foreign is more of one of another home: that home, or another owner, may ask for it after
// it was restored from a backup.
type foreign struct {
	owner  grid.PeerID
	epoch  grid.Epoch
	deeds  []grid.Deed
	closed bool
	end    grid.State
}

// pastOf keeps what is needed of a record, and no string that holds more.
func (c *Core) pastOf(r *grid.Record) past {
	p := past{
		home: c.intern(r.Job.Home), submitted: r.Submitted, began: r.Started, ended: r.Ended, size: sizeHere(r),
		standing: r.Standing, state: r.State, removed: r.Removed, kept: r.Kept,
		term: r.Epoch.Term, hop: max(r.Epoch.Hop, r.Handoff.Epoch.Hop),
	}
	if r.Job.Home != c.cfg.Self {
		p.foreign = &foreign{owner: c.intern(r.Owner), epoch: r.Epoch, deeds: slices.Clone(r.Deeds), closed: r.Closed, end: r.End}
		for i := range p.foreign.deeds {
			p.foreign.deeds[i].To = c.intern(p.foreign.deeds[i].To)
		}
	}
	return p
}

// Ended is how many jobs are past of which this site is the home or was the owner to their end,
// by state, without those that were removed.
type Ended [grid.Lost + 1]int

func (p past) counts() bool {
	return !p.removed && (p.standing == grid.Owning || p.standing == grid.Watching)
}

func (c *Core) putPast(r *grid.Record) {
	p := c.pastOf(r)
	c.past[grid.JobID(strings.Clone(string(r.Job.ID)))] = p
	if p.counts() {
		c.ended[p.state]++
	}
}

func (c *Core) unpast(id grid.JobID) {
	if p := c.past[id]; p.counts() {
		c.ended[p.state]--
	}
	delete(c.past, id)
}

// Ended tells how many there are.
func (c *Core) Ended() Ended { return c.ended }

// intern gives one string for each peer.
func (c *Core) intern(p grid.PeerID) grid.PeerID {
	if known, ok := c.peers[p]; ok {
		return known
	}
	p = grid.PeerID(strings.Clone(string(p)))
	c.peers[p] = p
	return p
}

// sizeHere is what the files of an ended job take.
func sizeHere(r *grid.Record) int64 { return r.Outputs.Size() + r.Job.Inputs.Size() }

// stub is a past job as far as it is known without its record: to look at, never to save.
func (p past) stub(id grid.JobID) *job {
	r := grid.Record{
		Job: grid.Job{ID: id, Home: p.home}, Standing: p.standing, State: p.state, Removed: p.removed, Kept: p.kept,
		Submitted: p.submitted, Started: p.began, Ended: p.ended,
	}
	if f := p.foreign; f != nil {
		r.Owner, r.Epoch, r.Deeds, r.Closed, r.End = f.owner, f.epoch, f.deeds, f.closed, f.end
	}
	return &job{rec: r, stub: true, size: p.size}
}

// job finds the job of an identifier; nil is none that is known here.
func (c *Core) job(id grid.JobID) *job {
	if j := c.jobs[id]; j != nil {
		return j
	}
	if _, is := c.past[id]; !is {
		return nil
	}
	r, err := c.cfg.Load(id)
	if err != nil {
		c.failed = fmt.Errorf("loading job %s: %w", id, err)
		return nil
	}
	j := &job{rec: r, said: saidOf(&r)}
	c.unpast(id)
	c.jobs[id] = j
	c.keepLive(j)
	return j
}

// peek is job, to look at alone.
func (c *Core) peek(id grid.JobID) *job {
	if j := c.jobs[id]; j != nil {
		return j
	}
	if p, is := c.past[id]; is {
		return p.stub(id)
	}
	return nil
}

// all are the jobs that are known here, in no order, to look at alone.
func (c *Core) all() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for _, j := range c.jobs {
			if !yield(j) {
				return
			}
		}
		for id, p := range c.past {
			if !yield(p.stub(id)) {
				return
			}
		}
	}
}

// withDeeds are those of them that deeds tell of.
func (c *Core) withDeeds() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for j := range c.all() {
			if len(j.rec.Deeds) > 0 && !yield(j) {
				return
			}
		}
	}
}

// take takes up a record of the journal.
func (c *Core) take(r grid.Record) {
	c.latest = max(c.latest, r.Submitted, r.Started, r.Ended)
	if r.Job.Home == c.cfg.Self && r.Key != "" {
		c.keys[keyOf(r.Job.User, r.Key)] = grid.JobID(strings.Clone(string(r.Job.ID)))
	}
	if c.cfg.Load != nil && IsPast(&r) {
		c.putPast(&r)
		return
	}
	j := &job{rec: r}
	c.jobs[r.Job.ID] = j
	c.keepLive(j)
}

// isPast tells that nothing may happen to a job any more but by word of others.
func IsPast(r *grid.Record) bool {
	return isTombstone(r) && !(r.State == grid.Lost && r.End != 0 && r.End != grid.Lost) // a result that is on the way
}

// retire lets the records go of jobs that have become past. All that was saved is durable.
func (c *Core) retire() {
	if c.cfg.Load == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(c.ending)) {
		j := c.jobs[id]
		if j == nil || c.live[id] != nil {
			delete(c.ending, id)
			continue
		}
		if !IsPast(&j.rec) || j.pulling || j.killing || j.reading || j.claim != nil || j.due != [concerns]grid.Tick{} || c.refusedHere(id) != nil {
			continue // something is under way, or not yet to be forgotten: looked at again
		}
		delete(c.ending, id)
		delete(c.jobs, id)
		c.putPast(&j.rec)
	}
}
