package core

import (
	"fmt"

	"gbroker/grid"
)

// memberJobs are the jobs of groups: what a group does to them, the home does.
type memberJobs struct{ c *home }

func (m memberJobs) instant() grid.Tick { return m.c.now }

func (m memberJobs) save(e grid.Entity, why string) {
	ch := grid.Saved(e)
	if why != "" {
		ch.Events = []grid.Event{{At: m.c.now, Site: m.c.cfg.Site.Name, Why: why}}
	}
	m.c.emit(Save{ch})
	if g, is := e.(*grid.Group); is && g.Ended != 0 {
		m.c.terms.groupEnded(g.ID)
	}
}

func (m memberJobs) drop(k grid.Kind, key string) { m.c.emit(Save{grid.Deleted(k, key)}) }

func (m memberJobs) discard(id grid.JobID) { m.c.discard(id) }

func (m memberJobs) again(in grid.Tick) { m.c.armWithin(groupsDue, in) }

func (m memberJobs) beforeEntering(recovered bool) gate { return m.c.gates.beforeEntering(recovered) }
func (m memberJobs) beforeCounting() gate               { return m.c.gates.beforeCounting() }
func (m memberJobs) beforeEndingRest(recovered bool) gate {
	return m.c.gates.beforeEndingRest(recovered)
}

func (m memberJobs) tell(r grid.Record) { m.c.emit(KeepTold{r}) }

func (m memberJobs) has(id grid.JobID) bool { return m.c.peek(id) != nil }

func (m memberJobs) knownOf(id grid.JobID) grid.State { return m.c.recovery.knownOf(id) }

func (m memberJobs) became(id grid.JobID) grid.Result {
	j := m.c.peek(id)
	switch {
	case j == nil:
		return grid.Result{State: grid.Lost}
	case !j.rec.State.Terminal():
		return grid.Result{}
	case j.stub:
		return grid.Result{State: j.rec.State}
	}
	return m.c.resultOf(&j.rec)
}

// resultOf is what a group keeps of a job that has ended, or is dropped.
func (c *kernel) resultOf(r *grid.Record) grid.Result {
	of := grid.Result{State: r.State, ExitCode: r.ExitCode, HasExit: r.HasExit, Signal: r.Signal}
	if r.Started > 0 {
		of.Site = c.siteName(r.Owner)
	}
	if !r.State.Terminal() {
		of = grid.Result{State: grid.Lost}
	}
	return of
}

func (m memberJobs) room(j *grid.Job) error { return m.c.admit([]grid.Job{*j}) }

func (m memberJobs) enter(of grid.Job, anyway, recovered bool) {
	j := m.c.newJob(of, "", anyway)
	if recovered && m.c.recovery.madeAgain(j) {
		return // its end is what is saved of it, and all that its user hears
	}
	m.c.accept(j)
	if j.unreconciled() {
		m.c.recovery.reconcile()
	}
	if j.rec.State == grid.StageIn {
		m.c.furnish(j)
		return
	}
	m.c.search.ready(j, "its turn in its group has come")
}

// release: all of the group is here. A job that a lost branch of the journal gave away may have come home without its files, and be READY.
func (m memberJobs) release(id grid.JobID) {
	switch j := m.keptBack(id); {
	case j == nil:
	case j.rec.State == grid.Ready:
		m.c.terms.due(j)
	default:
		m.c.disarm(j, onUpload)
		m.c.search.ready(j, "all of its group is here")
	}
}

func (m memberJobs) fail(id grid.JobID, why string) {
	if j := m.keptBack(id); j != nil {
		m.c.execution.end(j, grid.Failed, why)
	}
}

// beforeFailing is what has to be known before fail: a branch of this journal that is lost may have had its files, and have started it.
func (m memberJobs) beforeFailing(id grid.JobID) gate {
	if j := m.keptBack(id); j != nil {
		return m.c.gates.beforeFailing(j)
	}
	return open
}

// keptBack is a job that waits here, as long as its group waits for files; nil if it does not.
func (m memberJobs) keptBack(id grid.JobID) *job {
	j := m.c.jobs[id]
	if j == nil || j.rec.State > grid.Ready || j.rec.Role != grid.Owning {
		return nil
	}
	return j
}

func (m memberJobs) cancelJob(id grid.JobID, by string) {
	if j := m.c.job(id); j != nil {
		m.c.wantGone(j, by)
	}
}

func (m memberJobs) removeJob(id grid.JobID) {
	if j := m.c.job(id); j != nil && !j.rec.Removed && j.rec.State.Terminal() {
		m.c.remove(j)
	}
}

// furnishes tells of a job whose files this broker brings by itself, as they lie with its group or its whole: no user is waited for.
func (c *kernel) furnishes(j *job) bool {
	return c.groups.shares(j.rec.Job.ID) || j.rec.Job.Part != nil
}

// furnish gives a job that was made from a template its files, which are those of its group, or a part those of its whole.
func (c *home) furnish(j *job) {
	name, _ := j.rec.Job.ID.Group()
	from := name.Template()
	if of := j.rec.Job.Part; of != nil {
		from = of.Of
	}
	c.emit(Furnish{Job: j.rec.Job.ID, From: from, Files: j.rec.Job.Inputs})
}

// furnished: its files are here, or they could not be brought.
func (c *home) furnished(e Furnished) {
	j := c.job(e.Job)
	switch {
	case j == nil || j.rec.State != grid.StageIn || !c.furnishes(j):
	case e.Err == nil:
		c.disarm(j, onUpload)
		j.rec.Unsupplied = false
		c.search.ready(j, "its turn in its group has come")
	default:
		c.note(e.Job, "", "bringing the files of its group: "+clip(e.Err.Error()))
		if e.Final {
			j.fails++
		}
		if e.Final && j.fails >= maxFinal && !j.rec.CancelRequested && c.gates.beforeFailing(j) == open {
			c.execution.end(j, grid.Failed, fmt.Sprintf("the files of its group could not be brought: %s", clip(e.Err.Error())))
			return
		}
		c.backoff(j, onUpload)
	}
}
