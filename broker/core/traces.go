package core

import (
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Traces are attempts in control directories, or in the batch system, of jobs of which the
// journal has no record: it was lost or rolled back. Their homes hear of them when they ask
// (recount.go). A folder that was put aside tells of them as before, until it is removed: this broker has put it there
// as it does not know the job, and after its next start it would not know either that there was one.
//
// So they do of jobs that were let go at their word. Where that raised the term, the trace has it, and no hop: no attempt at another
// site is of such an epoch. A home whose journal lacks that term owns the job again, at it, and starts nothing before all were asked: it
// may have given the job to another since.

// What is left here of a job that was let go, handed on or declined may be of before such an attempt too. It knows of none behind
// its epoch: they are traces likewise.

// Bygone tells of a record that this site has done with the job.
func Bygone(r *grid.Record) bool {
	return r.Role == grid.Declined || r.Role == grid.Tombstone && r.Handoff.Phase == grid.NoHandoff
}

// lacksTenure tells that no record has that this site, which is not the home of a job that is known, has owned it at that epoch.
func (c *kernel) lacksTenure(id grid.JobID, at grid.Epoch) bool {
	j := c.peek(id)
	return j == nil || !c.isHome(j) && j.rec.Epoch.Before(at)
}

// trace notes the attempts of jobs that no record here has, and those that came later than what a record tells that has done with its job.
func (c *recovery) trace(list []grid.AttemptID) {
	for _, a := range list {
		if j := c.peek(a.Job); !c.lacksTenure(a.Job, a.Epoch) || j != nil && !Bygone(&j.rec) {
			continue
		}
		if known, any := c.traces[a.Job]; (any || len(c.traces) < maxTraces) && (!any || known.Before(a.Epoch)) {
			c.traces[a.Job] = a.Epoch
			c.groups.sighted(a.Job)
		}
	}
}

// read tells that all control directories of jobs without a record were read.
func (c *recovery) read() bool { return c.traced }

// tracesOf is the last epoch at which this site has had a job, by its control directory alone; zero if it has no trace of it.
func (c *recovery) tracesOf(id grid.JobID) grid.Epoch { return c.traces[id] }

// madeAgain: a group has made a job that a lost branch of this journal may have made before. Where
// there is a trace of it, its control directory is to be asked once it is saved.
func (c *recovery) madeAgain(j *job) (ended bool) {
	id := j.rec.Job.ID
	j.recovered = true
	if t := c.untold[id]; t != nil {
		c.endAsTold(j, t)
		return true
	}
	own, there := c.traces[id]
	at := c.elsewhere[id]
	delete(c.traces, id)
	delete(c.elsewhere, id)
	j.reconciled = !there
	return own.Before(at.epoch) && c.wasElsewhere(j, at)
}

// knownOf is what became of a job that a group has not made anew: as its user was told, or LOST where there is a trace of it.
func (c *recovery) knownOf(id grid.JobID) grid.State {
	_, own := c.traces[id]
	_, there := c.elsewhere[id]
	switch t := c.untold[id]; {
	case t != nil:
		return t.State
	case own || there:
		return grid.Lost
	}
	return 0
}

// IsFolderOf tells that a folder that was put aside, of which these attempts are, is that of a record: its job was not known when it was, and an older journal
// that was put back since has its present attempt, which may have run.
func IsFolderOf(r *grid.Record, of []grid.AttemptID) bool {
	return r.Role == grid.Owning && slices.Contains(of, grid.AttemptID{Job: r.Job.ID, Epoch: claimed(r), Attempt: r.Attempt})
}

// trail is a trace of a job at a member.
type trail struct {
	of    grid.PeerID
	epoch grid.Epoch
}

// wasElsewhere: a member had the job that its group makes anew, and nobody has a record of that. It begins at a new term, if it may.
func (c *recovery) wasElsewhere(j *job, at trail) (ended bool) {
	if !c.goesOn(j, true) {
		c.lostAt(j, at, "job")
		return true
	}
	j.rec.Epoch.Term = c.nextStamp(max(j.rec.Epoch.Term, at.epoch.Term))
	return false
}

// part makes the record of a part of a job over several sites that a lost branch of this journal had made, and which was at a
// site; nil if it is none. Its whole has it ended.
func (c *recovery) part(id grid.JobID, site grid.PeerID) *job {
	of, is := c.wholes.remade(id, c.siteName(site))
	if !is {
		return nil
	}
	j := c.home.newJob(of, "", false)
	if t := c.untold[id]; t != nil {
		delete(c.untold, id)
		c.endAsTold(j, t)
	}
	return j
}

// ownParts are those of which a control directory here has an attempt.
func (c *recovery) ownParts(last map[grid.JobID]grid.AttemptID) {
	for _, id := range slices.Sorted(maps.Keys(c.traces)) {
		a, read := last[id]
		if !read {
			continue
		}
		j := c.part(id, c.cfg.Self)
		if j == nil {
			continue
		}
		delete(c.traces, id)
		c.rolledBack("its own control directories tell of parts that it lacks", grid.JournalID{})
		if !j.rec.State.Terminal() {
			c.behind(j, a)
		}
	}
}

// settleParts: all were asked, and nobody has the record of a part of which there is a word here.
func (c *recovery) settleParts() {
	for _, id := range slices.Sorted(maps.Keys(c.untold)) {
		c.part(id, c.cfg.Self)
	}
}

// maxTraces bounds what is remembered of them: there are no more than folders on this site's own disk.
const maxTraces = 1_000_000

// tracesFor are those of the jobs of one home, and of those that it has let go at the word of
// that home; and then those of other homes' jobs, which that site may have given here.
func (c *recovery) tracesFor(home grid.PeerID) (list []wire.Trace) {
	site := c.members[home].site.Name
	var others []wire.Trace
	for _, id := range slices.Sorted(maps.Keys(c.traces)) {
		switch k := (wire.Trace{Job: id, Epoch: c.traces[id]}); {
		case !c.lacksTenure(id, k.Epoch):
		case site != "" && id.Site() != site:
			others = append(others, k)
		case len(list) < wire.MaxTraces:
			list = append(list, k)
		}
	}
	for _, j := range inOrder(slices.Collect(c.allOf(home))) {
		switch r := &j.rec; {
		case r.Closed || len(list) == wire.MaxTraces:
		case j.outdated():
			list = append(list, wire.Trace{Job: r.Job.ID, Epoch: grid.Epoch{Term: r.Superseded.Term}})
		case r.Role == grid.Tombstone && r.Owner == c.cfg.Self:
			list = append(list, wire.Trace{Job: r.Job.ID, Epoch: r.Epoch}) // let go: that this home had given it to another is lost
		}
	}
	return append(list, others[:min(len(others), wire.MaxTraces-len(list))]...)
}

// outdated: this site has let the job go as its home had raised the term, and nothing of it that may run once has started here.
func (j *job) outdated() bool {
	r := &j.rec
	return (r.Role == grid.Tombstone || r.Role == grid.Declined) && r.Epoch.Term < r.Superseded.Term && (r.Started == 0 || r.Job.Rerunnable)
}

// takeTerms takes up the terms that this home has raised in a part of its journal that is lost. It tells whether one is not yet.
func (c *recovery) takeTerms(from grid.PeerID, list []wire.Trace) (lacking bool) {
	for _, k := range list {
		j := c.jobs[k.Job]
		if j != nil && c.isHome(j) && !j.rec.State.Terminal() && k.Epoch.Hop == 0 && j.rec.Epoch.Term < k.Epoch.Term && k.Epoch.Term <= c.stamped() {
			lacking = c.ownsSince(from, j, k.Epoch) != open || lacking
		}
	}
	return lacking
}

// traceAt: a member has had the job, and its journal does not know it any more.
func (c *recovery) traceAt(from grid.PeerID, k wire.Trace) {
	j := c.jobs[k.Job]
	switch {
	case c.peek(k.Job) == nil && c.learnt[from] < maxLearnt && c.groups.sighted(k.Job):
		if c.elsewhere[k.Job].epoch.Before(k.Epoch) {
			c.elsewhere[k.Job] = trail{from, k.Epoch}
			c.learnt[from]++
		}
	case c.peek(k.Job) == nil && (c.learnt[from] >= maxLearnt || !c.wholes.mayBe(k.Job, nil)):
	case c.peek(k.Job) == nil:
		if j := c.part(k.Job, from); j != nil && !j.rec.State.Terminal() {
			c.learnt[from]++
			c.lostAt(j, trail{from, k.Epoch}, "part")
		}
	case j == nil || j.rec.State.Terminal() || !c.isHome(j) && !j.mayBeGiven(k.Epoch.Term):
	case j.rec.Role == grid.Watching && j.rec.Owner == from && claimed(&j.rec) == k.Epoch:
		c.ownership.ownerLost(j, from)
	case j.rec.Epoch.Before(k.Epoch) && j.traceAt.Before(k.Epoch):
		j.traceAt, j.traceOf = k.Epoch, from
		if j.rec.Role == grid.Owning && j.rec.State == grid.Assigned {
			c.execution.withdraw(j) // it was, before the handoff: the token makes sure
		}
	}
}

// undecided are the traces at members that are to be remembered over a start: of jobs that a group is to make anew, and, while all are asked, of any.
func (c *recovery) undecided() (list []grid.Trace) {
	for _, id := range slices.Sorted(maps.Keys(c.elsewhere)) {
		list = append(list, grid.Trace{Job: id, Epoch: c.elsewhere[id].epoch, Of: c.elsewhere[id].of})
	}
	if c.rolled == nil {
		return list
	}
	for _, j := range c.sorted() {
		if j.traceAt != (grid.Epoch{}) {
			list = append(list, grid.Trace{Job: j.rec.Job.ID, Epoch: j.traceAt, Of: j.traceOf})
		}
	}
	return list
}

// mayBeGiven: this site, which is not the home, has the job in that term and has not seen it start: a lost branch may have given it on.
func (j *job) mayBeGiven(term uint32) bool {
	return j.rec.Role == grid.Owning && j.rec.State < grid.Running && j.rec.Epoch.Term == term
}

// lostAt: a part, or a job of a group, was with a member, and both journals have lost what became of it there.
func (c *recovery) lostAt(j *job, at trail, what string) {
	c.beginTenure(j, grid.Tenure{Role: grid.Watching, Epoch: at.epoch, Owner: at.of}, grid.Run{})
	j.rec.Trail = []grid.PeerID{at.of}
	c.begins(j, grid.Assigned)
	j.rec.Reason = "the journal was rolled back, and " + c.nameOf(at.of) + " had the " + what + ", and has forgotten it too"
	c.home.terminal(j, grid.Lost)
}

// settleTraces decides about the jobs of which a trace is all that is left of a later epoch.
func (c *recovery) settleTraces() {
	for _, j := range c.sorted() {
		if at := j.traceAt; at != (grid.Epoch{}) {
			j.traceAt = grid.Epoch{}
			switch who := c.nameOf(j.traceOf) + " had the job, and has forgotten it too"; {
			case !j.rec.Epoch.Before(at) || j.rec.State.Terminal():
			case c.isHome(j):
				c.unknownFate(j, who, true)
			case j.mayBeGiven(at.Term): // nobody but its home may begin a term
				c.execution.lose(j, "the journal was rolled back, and "+who)
			}
		}
	}
}
