package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

// busySite is 10 nodes of 8 cores with 2,000 waiting and up to 100 running jobs.
func busySite() Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	s := Snapshot{Nodes: nodes(10, 8), Policy: Policy{Kind: EASY}}
	for i := range 80 {
		s.Running = append(s.Running, Running{Shares: []Share{{Node: i / 8, Cores: 1}}, End: grid.Tick(1 + r.IntN(3_600_000))})
	}
	for i := range 2000 {
		d := demand(1+r.IntN(16), 1, 0)
		if i%5 == 0 {
			d = demand(1+r.IntN(4), 4, 0)
		}
		s.Waiting = append(s.Waiting, Waiting{
			Job: grid.JobID(fmt.Sprint("w", i)), Demand: d, Limit: grid.Tick(60_000 + r.IntN(7_200_000)),
		})
	}
	return s
}

func BenchmarkBuild(b *testing.B) {
	s := busySite()
	b.ReportAllocs()
	for b.Loop() {
		Build(s)
	}
}

func BenchmarkAsk(b *testing.B) {
	p := Build(busySite())
	for _, c := range []struct {
		name  string
		cores int
	}{{"backfills", 1}, {"waits", 80}} {
		q := Question{Demand: demand(c.cores, 1, 0), Limit: 2 * grid.Hour}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Ask(q)
			}
		})
	}
}

func BenchmarkPassFull(b *testing.B) {
	s := busySite()
	for b.Loop() {
		Pass(s)
	}
}
