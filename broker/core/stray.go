package core

import "gbroker/grid"

// Strays are attempts that the batch system holds and that no live record has: left
// behind by a crash, a lost journal, or a submission that took effect late. One of
// a record that says it must not run goes at once; one of a job that is not known
// here only when it was seen strayLooks times, which are minutes apart.

const strayLooks = 2

// maxStrays bounds what is remembered of them.
const maxStrays = 10_000

func (c *Core) strayed(e Attempts) {
	if c.rolled != nil {
		return // it may be of a record that was lost, and that its home has
	}
	seen := map[grid.AttemptID]int{}
	for _, id := range e.IDs {
		if c.current(id) != nil || len(seen) >= maxStrays {
			continue
		}
		seen[id] = c.strays[id] + 1
		if c.peek(id.Job) != nil || seen[id] >= strayLooks {
			c.note(id.Job, "", "removing "+id.String()+" from the batch system: no job here has that attempt")
			c.emit(Withdraw{id})
		}
	}
	c.strays = seen
}

// hasStray reports that the batch system holds an attempt of a job.
func (c *Core) hasStray(id grid.JobID) bool {
	for at := range c.strays {
		if at.Job == id {
			return true
		}
	}
	return false
}

// strayWithdrawn: a stray that has started is ended, and one whose token nobody can take.
func (c *Core) strayWithdrawn(e Withdrawn) {
	if c.strays[e.ID] > 0 && (e.Err == "" || e.Damaged) && !e.Done {
		c.emit(Kill{e.ID})
	}
}
