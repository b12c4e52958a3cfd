package flows

import (
	"fmt"
	"testing"
	"time"

	"gbroker/flow"
)

// BenchmarkReplicas tells what second runs of tasks are worth where data go as they do in the grid: by way of the home, the first executor, where each
// task leaves them. The metric is the makespan of local search with second runs over that without, in the mean of 20 workflows. Second runs
// are free of what they cost in the grid, where they would have to bring home what they leave, too: so it is the most that can be gained.
func BenchmarkReplicas(b *testing.B) {
	seed := uint64(time.Now().UnixMicro())
	b.Logf("seed %d", seed)
	for _, transfer := range []float64{0.1, 1, 10} {
		b.Run(fmt.Sprint(transfer), func(b *testing.B) {
			for b.Loop() {
				sum, n := 0.0, 0.0
				for _, c := range Suite(seed) {
					if c.Transfer != transfer {
						continue
					}
					again, once := byHome(b, c, true), byHome(b, c, false)
					sum, n = sum+float64(again)/float64(once), n+1
				}
				b.ReportMetric(sum/n, "with/without")
			}
		})
	}
}

func byHome(b *testing.B, c Case, again bool) flow.Time {
	g, p, err := Make(c.Shape, c.Tasks, Speeds, c.Transfer, c.Seed)
	if err != nil {
		b.Fatal(err)
	}
	for v := range g.Vertices {
		g.Vertices[v].Rerunnable = again
	}
	for i := range p.Bandwidth {
		for j := range p.Bandwidth[i] {
			if i > 0 && j > 0 && i != j {
				p.Bandwidth[i][j] /= 2
			}
		}
	}
	s, err := flow.Plan(g, p, flow.Search, flow.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s.Makespan
}
