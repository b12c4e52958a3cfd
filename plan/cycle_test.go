package plan

import (
	"testing"

	"gbroker/grid"
)

// The lag is learned from ends and the starts for which they made room; before that, the scheduler's own word counts.
func TestCycle(t *testing.T) {
	t.Parallel()
	const s = grid.Second
	var c Cycle
	if got := c.Lag(30 * s); got != (Lag{15 * s, 30 * s}) {
		t.Errorf("of a scheduler that looks each 30 s nothing is known: %+v", got)
	}
	if got := c.Lag(0); got != (Lag{}) {
		t.Errorf("nothing is said, and nothing known: %+v", got)
	}
	c.See([]grid.Tick{100 * s, 107 * s, 130 * s}, Started{At: 112 * s, Since: 50 * s}, Started{At: 112 * s, Since: 110 * s}) // 5 s; at once
	c.See([]grid.Tick{100 * s}, Started{At: 100*s + mostLag + 1, Since: 1}, Started{At: 99 * s, Since: 1})                   // for another reason
	if got := c.Lag(30 * s); got != (Lag{15 * s, 30 * s}) {
		t.Errorf("one start is not enough: %+v", got)
	}
	c.See([]grid.Tick{200 * s}, Started{At: 200 * s, Since: 1}, Started{At: 210 * s, Since: 1})
	if got := c.Lag(30 * s); got != (Lag{5 * s, 10 * s}) {
		t.Errorf("of 5, 0 and 10 s: %+v", got)
	}
	for range cycleMemory {
		c.See([]grid.Tick{300 * s}, Started{At: 302 * s, Since: 1})
	}
	if got := c.Lag(0); got != (Lag{2 * s, 2 * s}) {
		t.Errorf("what was long ago is forgotten: %+v", got)
	}
}

// What ends makes room so much later, again at each end of a chain; what is free now is free now.
func TestLagOfThePlan(t *testing.T) {
	t.Parallel()
	const m = grid.Minute
	one := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	for _, kind := range []Kind{FCFS, FirstFit, EASY, ConsRebuild, ConsCompress} {
		s := Snapshot{
			Policy: Policy{Kind: kind, Reservations: 1}, Nodes: []Node{{Cores: 1}}, Lag: Lag{Usual: 10 * grid.Second, Most: 30 * grid.Second},
			Running: []Running{{Shares: []Share{{Node: 0, Cores: 1}}, End: 5 * m}},
			Waiting: []Waiting{{Job: "a", Demand: one, Limit: 10 * m}, {Job: "b", Demand: one, Limit: 10 * m}},
		}
		half := func(Trait, grid.Tick) grid.Tick { return 6 * m }
		for name, c := range map[string]struct {
			plan *Plan
			a, b grid.Tick
			more grid.Tick
		}{
			"safe":     {Build(s), 5*m + 30*grid.Second, 16 * m, 26*m + 30*grid.Second},
			"usual":    {Likely(s, nil), 5*m + 10*grid.Second, 15*m + 20*grid.Second, 25*m + 30*grid.Second},
			"believed": {Likely(s, runsBy(&s, half)), 5*m + 10*grid.Second, 11*m + 20*grid.Second, 17*m + 30*grid.Second},
		} {
			a, _ := c.plan.Start("a")
			b, _ := c.plan.Start("b")
			more, r := c.plan.Ask(Question{Demand: one, Limit: m})
			if a != c.a || b != c.b || more != c.more || r != nil {
				t.Errorf("%v, %s: a at %d, b at %d, one more at %d (%+v); not at %d, %d and %d", kind, name, a, b, more, r, c.a, c.b, c.more)
			}
		}
		s.Running, s.Waiting = nil, nil
		if start, _ := Build(s).Ask(Question{Demand: one, Limit: m}); start != 0 {
			t.Errorf("%v: on a free site a job starts at %d", kind, start)
		}
	}
}
