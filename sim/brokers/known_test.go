package brokers

import (
	"testing"

	"gbroker/grid"
	"gbroker/sim/workload"
)

// A job may go on to a site that is no neighbour of its home, where all know each other, and else not: on a line of three
// sites the last one helps the first only then.
func TestJobsOfHomesThatAreNoNeighbours(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := World{
			Sites:   []Site{{Name: "a", Cores: 1}, {Name: "b", Cores: 1}, {Name: "c", Cores: 1}},
			Members: [][]int{{1}, {0, 2}, {1}}, Known: known, Delivery: second,
			Brokering: Brokering{Rule: Core, Reevaluate: 5 * second},
		}
		for range 9 {
			w.Jobs = append(w.Jobs, workload.Job{Home: 0, Cores: 1, Run: 100 * second, Limit: 100 * second})
		}
		r, err := Run(w, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := map[int32]int{}
		for _, j := range r.Jobs {
			at[j.Site]++
		}
		if known && (at[2] < 2 || r.End > 350*grid.Second) || !known && at[2] > 0 {
			t.Errorf("known %v: jobs by site %v, all ended after %v s", known, at, r.End.Seconds())
		}
	}
}
