package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// fourThatMayBeShort is a site of four nodes, on each of which a job of another user runs; each one's jobs take a minute in three of five
// cases, and an hour else.
func fourThatMayBeShort(c *Core) plan.Snapshot {
	s := plan.Snapshot{Policy: plan.Policy{Kind: plan.FCFS}, Nodes: []plan.Node{{Name: "a", Cores: 1}, {Name: "b", Cores: 1}, {Name: "c", Cores: 1}, {Name: "d", Cores: 1}}}
	for n := range 4 {
		trait := plan.Trait{Who: int64(7 + n), Cores: 1, Limit: grid.Hour}
		for i := range 60 {
			run := grid.Minute
			if i%5 < 2 {
				run = grid.Hour
			}
			c.estimator.runTimes.Ended(trait, grid.Tick(i), run)
		}
		s.Running = append(s.Running, plan.Running{Shares: []plan.Share{{Node: n, Processes: 1, Cores: 1}}, End: grid.Hour, Trait: trait})
	}
	return s
}

// Who needs all nodes waits for the longest of four jobs: each is short more often than not, but seldom all.
func TestAnEstimateWaitsForTheLast(t *testing.T) {
	t.Parallel()
	all := plan.Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 4, Processes: 1, Cores: 1}}}, Limit: grid.Minute}
	one := plan.Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}, Limit: grid.Minute}
	for _, c := range []struct {
		draws    int
		all, one grid.Tick
	}{{1, grid.Minute, grid.Minute}, {plan.UsualDraws, grid.Hour, grid.Minute}} {
		k := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 4, Speed: 1}, Draws: c.draws}, nil, nil)
		o := k.estimator.newForecast(fourThatMayBeShort(k))
		if e := o.batch().estimate(all); e.Wait != c.all || e.Refusal != nil {
			t.Errorf("%d draws: all nodes are free after %v, want %v", c.draws, e.Wait.Seconds(), c.all.Seconds())
		}
		if e := o.batch().estimate(one); e.Wait != c.one {
			t.Errorf("%d draws: one node is free after %v, want %v", c.draws, e.Wait.Seconds(), c.one.Seconds())
		}
		if o.ends > grid.Minute {
			t.Errorf("%d draws: it holds until %v s, beyond the first end that is believed", c.draws, o.ends.Seconds())
		}
	}
}

// The more jobs are planned, the fewer draws; and none where run times are known.
func TestDrawsByTheNumberOfJobs(t *testing.T) {
	t.Parallel()
	known := func(*grid.Job) grid.Tick { return 1 }
	for _, c := range []struct {
		running, waiting, configured, want int
		known                              func(*grid.Job) grid.Tick
	}{{100, 200, 0, plan.UsualDraws, nil}, {100, 201, 0, 3, nil}, {500, 500, 0, 3, nil}, {1, 1000, 0, 1, nil}, {1, 1, 5, 5, nil}, {200, 200, 1, 1, nil}, {1, 1, 0, 1, known}} {
		k := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 4, Speed: 1}, Draws: c.configured, Known: c.known}, nil, nil)
		s := plan.Snapshot{Running: make([]plan.Running, c.running), Waiting: make([]plan.Waiting, c.waiting)}
		if got := k.estimator.draws(&s); got != c.want {
			t.Errorf("%d running, %d waiting, %d configured: %d draws, want %d", c.running, c.waiting, c.configured, got, c.want)
		}
	}
}
