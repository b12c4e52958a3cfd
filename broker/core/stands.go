package core

import (
	"fmt"

	"gbroker/grid"
)

// stands notes why a program that was started stands still, for as long as it does, and that it was started again, with the place.
func (c *execution) stands(j *job, p grid.Progress) {
	line, before, again := "", j.place, false
	if p.Place != "" {
		again = before.starts > 0 && (p.Starts > before.starts || p.Place != before.name)
		if j.place = (place{p.Place, p.Starts}); again {
			line = "started again on " + clip(p.Place)
			if p.Place != before.name {
				line = fmt.Sprintf("%s, before on %s", line, clip(before.name))
			}
		}
	}
	if news := j.obstructed(clip(p.Still)); news || again {
		c.save(j, line)
	}
}

// place is where a job runs within its site, as the batch system told last.
type place struct {
	name   string
	starts int
}
