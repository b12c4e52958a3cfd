package core

import (
	"maps"
	"slices"

	"gbroker/grid"
)

// What users were told. The end of a job of this home, and the wish to cancel it, are known to
// nobody else for long, and a journal may be put back. So they are written in a file
// beside the journal, durably, before anybody is told of them, and read at each start:
//
//	save ─► commit ─► beside ─► shown to readers, Answer, Closed
//
// A broker may end between the commit and the file, and so may its next lives: each start shows the end to readers, and
// so writes first what the file lacks of the journal (unwritten.go).
//
// Invariant: what a user was told stays told, also when the journal was rolled back, for
// every job that this journal knows.

// said is what was told of a job.
type said struct {
	state   grid.State // only an end
	cancel  bool
	removed bool
}

func saidOf(r *grid.Record) said {
	s := said{cancel: r.Wished(), removed: r.Removed}
	if r.State.Terminal() {
		s.state = r.State
	}
	return s
}

// toldOf is what is written of a record: the job itself, how it came to its place and its search
// are not told.
func toldOf(r *grid.Record) *grid.Record {
	k := copyOf(r)
	k.Job, k.Stay, k.Certificates = grid.Job{ID: r.Job.ID}, nil, nil
	return k
}

// SetTold gives what the file beside the journal says of jobs of this home, the last word on
// each, and what it lacks. It comes before Boot.
func (c *Core) SetTold(records []grid.Record, unwritten map[grid.JobID]bool) {
	c.cfg.Told, c.cfg.Unwritten = records, unwritten
}

// recallTold brings the records up to what was told. A journal that lacks it was rolled back. All records are brought up before
// any is saved: an end lets other jobs go, which may have ended too.
func (c *recovery) recallTold() {
	told := c.gates.toldBefore()
	var lacked []*job
	for i := range told {
		if j := c.job(told[i].Job.ID); j != nil && c.isHome(j) && !j.rec.Removed && c.lacks(j, &told[i]) {
			lacked = append(lacked, j)
		}
	}
	for i := range told {
		if t := &told[i]; c.peek(t.Job.ID) == nil && !c.groups.recall(t) && t.State.Terminal() && len(c.untold) < maxUntold {
			c.untold[t.Job.ID] = t
			c.groups.sighted(t.Job.ID)
		}
	}
	for _, j := range lacked {
		c.saveTold(j)
	}
	c.cfg.Told = nil
}

// lacks brings a record up to what was told; false is that it has that. The older journal may have another end of it: one that was told in a part
// that is lost with the file of that time.
func (c *recovery) lacks(j *job, t *grid.Record) bool {
	r := &j.rec
	w := t.Word()
	another := w.State != r.State || w.ExitCode != r.ExitCode || w.Signal != r.Signal
	ended := t.State.Terminal() && another && (t.State != grid.Lost || !r.State.Terminal())
	switch {
	case ended, t.Removed:
		c.becomeAsTold(j, t)
		return true
	case t.Wished() && !j.rec.State.Terminal() && j.wish():
		j.said.cancel = true
		return true
	}
	return false
}

func (c *recovery) saveTold(j *job) {
	if !j.rec.State.Terminal() {
		c.save(j, "cancel was requested before the journal was rolled back")
		return
	}
	c.save(j, "its end was told before the journal was rolled back")
	for _, p := range j.rec.Trail {
		c.home.sendClosed(p, j)
	}
}

// maxUntold bounds the ends that are remembered of jobs which a journal that was made anew does
// not know: should another site tell such a job, it has ended.
const maxUntold = 100_000

// endOf is the end that was told of a job without a record: the file beside the journal has it, or the page of its group, which ended it before its
// turn. Of one that was given up for lost the end may come yet.
func (c *recovery) endOf(id grid.JobID) *grid.Record {
	if t := c.untold[id]; t != nil {
		return t
	}
	if r, known := c.groups.outline(id); known && r.State.Terminal() && r.State != grid.Lost {
		if r.Ended == 0 {
			r.Ended = c.now // others of its group have not ended
		}
		return &r
	}
	return nil
}

// endAsTold ends a job as it was told.
func (c *recovery) endAsTold(j *job, t *grid.Record) {
	c.becomeAsTold(j, t)
	c.saveTold(j)
}

// becomeAsTold makes the record that of the end that was told.
func (c *recovery) becomeAsTold(j *job, t *grid.Record) {
	old := j.rec
	c.turn(j, t.Role)
	j.rec, j.untold = *t, untold{}
	r := &j.rec
	r.Job, r.Key, r.Certificates = old.Job, old.Key, nil
	c.enter(j, grid.NoHandoff)
	r.State = old.State
	c.begins(j, t.State)
	for _, p := range append(slices.Clone(old.Trail), old.Owner) {
		if p != c.cfg.Self && !slices.Contains(r.Trail, p) {
			r.Trail = append(slices.Clip(r.Trail), p)
		}
	}
	if r.Removed {
		r.Job.Inputs, r.Job.Program, j.brief = nil, grid.Program{}, 0
	}
	j.said = saidOf(r)
}

// tellAgain writes what may be told by readers of this journal, and the file beside it lacks; a wish in any case. It
// comes after recallTold: the last word on a job counts.
func (c *recovery) tellAgain() {
	for id := range c.cfg.Unwritten {
		c.job(id)
	}
	for _, j := range inOrder(slices.Collect(maps.Values(c.jobs))) {
		j.said = saidOf(&j.rec)
		if c.isHome(j) && (c.cfg.Unwritten[j.rec.Job.ID] || j.said.state == 0 && j.said.cancel) {
			c.emit(KeepTold{*toldOf(&j.rec)})
		}
	}
}
