package counted

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// The policies that are written twice, by number of cores here and by node in package plan: how many times as long plan
// takes for one plan of 1,000 waiting and 100 running jobs, on one node of 500 cores, with limits as run times.
func BenchmarkPlanAgainstCounted(b *testing.B) {
	for _, text := range []string{"fcfs", "firstfit", "firstfit:8", "easy", "easysjbf", "easy:1:sjf", "easy:4", "cons-rebuild", "cons-compress"} {
		b.Run(text, func(b *testing.B) {
			p, err := plan.ParsePolicy(text)
			if err != nil {
				b.Fatal(err)
			}
			c, ends := crowd(p, 500, 100, 1000)
			s := crowdAsSnapshot(p, c, ends)
			var f Forecast
			b.ReportMetric(times(b,
				func() { plan.Build(s) },
				func() { f.Run(1, c, ends, nil, func(grid.Tick, Running) (grid.Tick, bool) { return never, false }) }), "ratio")
		})
	}
}

// crowdAsSnapshot is a crowd for package plan, on one node.
func crowdAsSnapshot(p plan.Policy, c *Scheduler, ends []Ending) plan.Snapshot {
	s := plan.Snapshot{At: 1, Policy: p, Nodes: []plan.Node{{Name: "n", Cores: int(c.cores)}}}
	for _, e := range ends {
		s.Running = append(s.Running, plan.Running{End: e.Job.Until, Shares: []plan.Share{{Cores: int(e.Job.Cores)}}})
	}
	for _, e := range c.queue.entries {
		if e.cores == gone {
			continue
		}
		s.Waiting = append(s.Waiting, plan.Waiting{
			Job: grid.JobID(fmt.Sprint(e.ref)), Demand: grid.Demand{Chunks: []grid.Chunk{{Count: int(e.cores), Processes: 1, Cores: 1}}}, Limit: e.limit,
		})
	}
	return s
}

// The two passes of EASY with one reservation, its own and that of several (reserve.go): how many times as long the
// other takes, and that they start the same. So many jobs wait: to run to their limits, as in a forecast, or each for
// half of its limit and followed by a new one, as in a log.
func BenchmarkOneReservationBySeveral(b *testing.B) {
	p := plan.Policy{Kind: plan.EASY, Reservations: 1}
	for _, waiting := range []int{100, 1000, 10_000} {
		for _, part := range []grid.Tick{1, 2} {
			b.Run(fmt.Sprintf("%d/%d", waiting, part), func(b *testing.B) {
				c, running := crowd(p, 5000, 1000, waiting)
				own := func() []int32 { return through(c, running, part, (*Scheduler).Pass) }
				several := func() []int32 { return through(c, running, part, passAsSeveral) }
				if !slices.Equal(own(), several()) {
					b.Fatal("the two start other jobs")
				}
				b.ReportMetric(times(b, func() { several() }, func() { own() }), "ratio")
			})
		}
	}
}

// passAsSeveral is Pass by the pass of several reservations.
func passAsSeveral(c *Scheduler, now grid.Tick) []Running {
	c.started = c.started[:0]
	if c.queue.live > 0 {
		c.passReserving(now)
		c.tidy()
	}
	c.fresh, c.ended = 0, false
	return c.started
}

// through runs a crowd to its end, each job for a part of its limit, and tells who starts in which order. Where that is
// not all of the limit, jobs come one by one as others end.
func through(of *Scheduler, running []Ending, part grid.Tick, pass func(*Scheduler, grid.Tick) []Running) (order []int32) {
	c := New(1, plan.Policy{})
	c.CopyFrom(of)
	var ends Ends
	for _, e := range running {
		ends.Push(e)
	}
	r := rand.New(rand.NewPCG(3, 4))
	coming := 0
	if part > 1 {
		coming = 2000
	}
	for at, ok := ends.First(); ok; at, ok = ends.First() {
		for len(ends) > 0 && ends[0].At <= at {
			c.End(at, ends.Pop())
			if coming--; coming >= 0 {
				c.Arrive(Job{Ref: -int32(coming), Cores: 1 + r.Int32N(64), Limit: grid.Tick(60 + r.IntN(86400))})
			}
		}
		for _, h := range pass(c, at) {
			order = append(order, h.Ref)
			ends.Push(Ending{at + max((h.Until-at)/part, 1), h})
		}
	}
	return order
}

// times is how many times as much of the processor one takes as the other, in turns.
func times(b *testing.B, one, other func()) float64 {
	var first, second float64
	for b.Loop() {
		began := processorTime(b)
		one()
		between := processorTime(b)
		other()
		first, second = first+between-began, second+processorTime(b)-between
	}
	return first / second
}
