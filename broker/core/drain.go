package core

import (
	"gbroker/grid"
)

// A drained site takes no grid jobs: estimates and offers are refused with that
// reason, its own users' jobs are placed elsewhere, and those that wait are handed
// to neighbours by the search for waiting jobs, without margins, and without a hop.
// What runs ends here. The state is in the journal.

// drainRequest changes it; the same word again changes nothing.
func (c *neighbourhood) drainRequest(e DrainRequest) {
	if c.draining != e.On {
		c.draining = e.On
		c.state.Since = c.now
		c.recovery.saveState()
		c.announce()
		c.search.passSoon()
		for _, j := range c.sorted() {
			if j.rec.Role == grid.Owning && j.rec.State == grid.Ready && c.gates.beforePlacing(j) == open {
				c.disarm(j, onHandoff)
				c.search.undecide(j)
			}
		}
	}
	c.emit(Answer{Token: e.Token})
}
