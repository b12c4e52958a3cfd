package core

import (
	"testing"

	"gbroker/grid"
)

// Whose word the end of a job waits for is said when that are others than before, and where something else was said meanwhile; how they are called
// does not count.
func TestAnEndThatIsNotToldYet(t *testing.T) {
	t.Parallel()
	c := signed(given())
	j := c.jobs[given().Job.ID]
	c.recovery.awaitSuccessors(j, him)
	c.kernel.now += 2 * silence * c.cfg.Digest
	says := func(want bool, after string) {
		t.Helper()
		c.kernel.out = nil
		c.home.notToldYet(j, untilReported)
		if _, did := only[Save](c.kernel.out); did != want || !want && len(c.kernel.out) > 0 {
			t.Errorf("%s: it says so: %t, want %t", after, did, want)
		}
		if want && j.rec.Obstacle != c.gates.why(j, untilReported) {
			t.Errorf("%s: it is held up, as it says, by %q", after, j.rec.Obstacle)
		}
	}
	says(true, "first")
	says(false, "again")
	c.members[her].Name = "other"
	says(false, "one of those has another name")
	delete(j.successors, her)
	says(true, "that one has spoken")
	j.obstructed("something else")
	says(true, "something else held it up")
	c.hears(j, grid.Running)
	says(true, "in another state")
	c.kernel.now = j.raised
	says(true, "nobody can be asked yet")
	says(false, "nobody can be asked yet, again")
}
