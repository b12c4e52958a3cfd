package store

import (
	"context"
	"fmt"
	"testing"

	"gbroker/grid"
)

// BenchmarkCommit writes state changes of jobs that are there, each with a line of
// history, in batches.
func BenchmarkCommit(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			j := mustOpen(b, b.TempDir())
			changes := make([]grid.Change, batch)
			for n := range changes {
				changes[n] = save(n, "state changed")
			}
			mustCommit(b, j, changes...)
			for b.Loop() {
				if err := j.Commit(context.Background(), changes); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "changes/s")
		})
	}
}

func BenchmarkLoad10000(b *testing.B) {
	j := mustOpen(b, b.TempDir())
	var changes []grid.Change
	for n := range 10000 {
		changes = append(changes, save(n))
	}
	mustCommit(b, j, changes...)
	for b.Loop() {
		mustLoad(b, j)
	}
}
