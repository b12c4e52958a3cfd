package core

import (
	"maps"

	"gbroker/grid"
)

// closing is what is remembered of a job that was here and has ended, or gone on, elsewhere. Of its record nothing is left, and copies of
// the offer and the commit by which it had come here may still be under way. They die with the connections of this life.
type closing struct {
	epoch grid.Epoch // the last at which it was here, or was to be
	at    grid.Tick
}

const (
	maxClosed = 10_000    // are remembered
	lateness  = grid.Hour // that a copy may come
)

// dropClosed drops a job of another home that has ended.
func (c *kernel) dropClosed(j *job) {
	last := j.rec.Epoch
	if last.Before(j.rec.Handoff.Epoch) {
		last = j.rec.Handoff.Epoch
	}
	c.closes(j.rec.Job.ID, last)
	c.drop(j)
}

// closes remembers that no offer of a job counts up to that epoch.
func (c *kernel) closes(id grid.JobID, last grid.Epoch) {
	if len(c.closed) < maxClosed && c.closed[id].epoch.Before(last) {
		c.closed[id] = closing{last, c.now}
	}
}

// forgetClosed forgets those of which no copy of a word can come any more.
func (c *kernel) forgetClosed() {
	maps.DeleteFunc(c.closed, func(_ grid.JobID, was closing) bool { return c.now-was.at > lateness })
}
