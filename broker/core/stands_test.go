package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// A program that stands still says why in the status of its job for as long as it does, and where it was started again stands in the history.
func TestWhatStandsStillSaysWhy(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1}
	c := bare(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch}, Run: grid.Run{Attempt: 1, Local: "x"}})
	id := grid.AttemptID{Job: j.ID, Epoch: epoch, Attempt: 1}
	now := grid.Tick(1_000_001)
	step := func(still, place string, starts int) (lines []string) {
		now++
		for _, e := range c.Step(now, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started, Started: 5, Still: still, Place: place, Starts: starts}}) {
			if s, is := e.(Save); is {
				for _, ev := range s.Change.Events {
					lines = append(lines, ev.Why)
				}
			}
		}
		return lines
	}
	const why = "suspended: computer d1 is in use by its owner"
	for i, test := range []struct {
		still, place string
		starts       int
		line         string
	}{
		{"", "d1", 1, "started"},
		{why, "d1", 1, ""},
		{why, "d1", 1, ""},
		{"", "d1", 1, ""},
		{"it was cut off", "", 1, ""},
		{"", "d2", 2, "started again on d2, before on d1"},
		{"", "d2", 3, "started again on d2"},
		{"", "", 3, ""},
	} {
		lines := strings.Join(step(test.still, test.place, test.starts), "; ")
		if r := c.jobs[j.ID].rec; r.Obstacle != test.still || r.State != grid.Running || lines != test.line {
			t.Errorf("%d: %v, held up by %q, with the lines %q", i, r.State, r.Obstacle, lines)
		}
	}
}
