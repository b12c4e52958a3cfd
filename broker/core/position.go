package core

import (
	"slices"

	"gbroker/grid"
)

// committing is how far the journal is when the effects of this step leave: if the step
// saves, one commit further at least.
func (c *kernel) committing() grid.JournalID {
	id := c.cfg.Journal
	if slices.ContainsFunc(c.out, func(e Effect) bool { _, saves := e.(Save); return saves }) {
		id.Sequence++
	}
	return id
}

// reaches tells that this journal has in it all that it had at the position.
func (c *kernel) reaches(at grid.JournalID) bool {
	mine := c.cfg.Journal
	if !c.heedsLives() {
		return at.Incarnation == mine.Incarnation && at.Sequence <= mine.Sequence
	}
	if at.Incarnation != mine.Incarnation {
		return false
	}
	if at.Life == 0 || at.Life == mine.Life { // of no life: told by a broker that knows none
		return at.Sequence <= mine.Sequence
	}
	k := slices.IndexFunc(c.cfg.Lives, func(l grid.Life) bool { return l.Number == at.Life })
	return k >= 0 && k+1 < len(c.cfg.Lives) && at.Sequence <= c.cfg.Lives[k+1].First
}
