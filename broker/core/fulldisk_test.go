package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// What a job wrote while the disk was full may be cut short, whatever its program made of that: its reason says so. What
// was full before it started, or never, is not told.
func TestAFullDiskIsToldOfTheJobThatRan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		full    grid.Tick
		missing []grid.MissingOutput
		told    bool
	}{{0, nil, false}, {989_999, nil, false}, {990_000, nil, true}, {999_000, []grid.MissingOutput{{Path: "big"}}, true}} {
		j := jobOf(me, "a", "1")
		epoch := grid.Epoch{Term: 1}
		c := bare(grid.Record{
			Job: j, State: grid.Finished,
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch},
			Run:    grid.Run{End: grid.Completed, Attempt: 1, Started: 990_000, Finished: 1_000_000},
		})
		c.Step(1_000_001, Collected{Job: j.ID, Epoch: epoch, Full: test.full, Missing: test.missing})
		r := c.jobs[j.ID].rec
		if r.State != grid.Completed || strings.Contains(r.Reason, "was full") != test.told || strings.Contains(r.Reason, "did not leave") != (test.missing != nil) {
			t.Errorf("full at %d: %s, %q", test.full, r.State, r.Reason)
		}
	}
}
