package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// A nearly full site counts more by up to a fifteenth of the run, others do not; nor does any where the search is the
// published one.
func TestCrowdedSites(t *testing.T) {
	t.Parallel()
	counts := func(cfg Config, busy int) grid.Tick {
		c := &search{kernel: newKernel(cfg, nil)}
		row := grid.Candidate{Run: 150 * grid.Second, Total: 150 * grid.Second}
		c.crowded(&row, grid.Load{Cores: 10, Busy: busy})
		if row.Total != 150*grid.Second+row.Crowded {
			t.Errorf("%d busy: the total is %d, of which %d for the crowding", busy, row.Total, row.Crowded)
		}
		return row.Crowded
	}
	for busy, want := range map[int]grid.Tick{0: 0, 7: 0, 8: 4096, 9: 6561, 10: 10_000, 99: 10_000, -5: 0} {
		if got := counts(Config{}, busy); got != want { // 150 s / 15 * (busy/10)^4
			t.Errorf("with %d of 10 cores busy it counts %d more, not %d", busy, got, want)
		}
		if got := counts(Config{Published: true}, busy); got != 0 {
			t.Errorf("with %d of 10 cores busy the published rule counts %d more", busy, got)
		}
	}
}

// What waits and what is coming counts as busy, nodes that are down do not count.
func TestLoadOfASnapshot(t *testing.T) {
	t.Parallel()
	s := plan.Snapshot{
		Nodes:   []plan.Node{{Cores: 8}, {Cores: 8}, {Cores: 8, Down: true}},
		Running: []plan.Running{{Shares: []plan.Share{{Cores: 3}, {Node: 1, Cores: 4}}}},
		Waiting: []plan.Waiting{{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 2}}}}},
	}
	if l := loadOf(s); l != (grid.Load{Cores: 16, Busy: 11, Waiting: 1}) {
		t.Errorf("the load is %+v", l)
	}
	s.Waiting = append(s.Waiting, s.Waiting[0], s.Waiting[0])
	if l := loadOf(s); l.Busy != 16 {
		t.Errorf("of 16 cores %d are busy", l.Busy)
	}
}

// What is held keeps nobody else from a site.
func TestHeldJobsAreNoLoad(t *testing.T) {
	t.Parallel()
	waits := plan.Waiting{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}}}
	held := waits
	held.Ineligible = true
	l := loadOf(plan.Snapshot{Nodes: []plan.Node{{Cores: 8}}, Waiting: []plan.Waiting{waits, held}})
	if l.Busy != 2 || l.Waiting != 2 || l.Cores != 8 {
		t.Errorf("%+v", l)
	}
}
