package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// A drained site takes no grid jobs: estimates and offers are refused with that
// reason, its own users' jobs are placed elsewhere, and those that wait are handed
// to neighbours by the search for waiting jobs, without margins, and without a hop.
// What runs ends here. The state is in the journal.

// drainRequest changes it; the same word again changes nothing.
func (c *Core) drainRequest(e DrainRequest) {
	if c.draining != e.On {
		c.draining = e.On
		c.state.Since = c.now
		c.saveState()
		c.announce()
		c.passSoon()
		for _, j := range c.sorted() {
			if j.rec.Role == grid.Owning && j.rec.State == grid.Ready {
				c.disarm(j, onHandoff)
				c.undecide(j)
			}
		}
	}
	c.emit(Answer{Token: e.Token})
}

// saveState writes down what is durably known of this site.
func (c *Core) saveState() {
	state := c.state
	state.Draining = c.draining
	state.RolledBack, state.Behind = 0, nil
	if c.rolled != nil {
		state.RolledBack, state.Behind = 1, slices.Clone(c.rolled.lost)
	}
	c.emit(Save{grid.Saved(&state)})
}

// ownSite follows the batch system, and tells the neighbours.
func (c *Core) ownSite(e OwnSite) {
	if e.Site != c.cfg.Site {
		c.cfg.Site = e.Site
		c.announce()
	}
}

func (c *Core) announce() {
	for _, m := range c.neighbours() {
		c.send(m, wire.Announce{Site: c.facts()})
	}
}

// facts is what this broker says of its site.
func (c *Core) facts() grid.Site {
	s := c.cfg.Site
	s.Draining = c.draining
	return s
}
