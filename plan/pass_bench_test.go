package plan

import (
	"fmt"
	"testing"
	"time"

	"gbroker/grid"
)

// A plan under EASY by its own pass (pass_one.go) and by that of several reservations (pass_many.go): how many times as
// long the other takes, how many jobs of a hundred start at other instants by it, and how many times as long they wait.
func BenchmarkOneReservationBySeveral(b *testing.B) {
	for _, cores := range []int{1, 16} {
		for _, waiting := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%d/%d", cores, waiting), func(b *testing.B) {
				s := byNode(Policy{Kind: EASY}, cores, 1000, waiting)
				var own, several time.Duration
				var first, other []grid.Tick
				for b.Loop() {
					began := time.Now()
					first = runBy(&s, (*schedule).backfill)
					between := time.Now()
					other = runBy(&s, (*schedule).reserveInOrder)
					own, several = own+between.Sub(began), several+time.Since(between)
				}
				var moved, waits, others float64
				for i := range first {
					if first[i] != other[i] {
						moved++
					}
					waits, others = waits+float64(first[i]), others+float64(other[i])
				}
				b.ReportMetric(100*moved/float64(len(first)), "%moved")
				b.ReportMetric(others/waits, "waits")
				b.ReportMetric(several.Seconds()/own.Seconds(), "ratio")
			})
		}
	}
}

// runBy runs a snapshot to its end by one kind of pass, and tells when its jobs start.
func runBy(s *Snapshot, pass func(*schedule)) []grid.Tick {
	e := newSchedule(s, nil, 0)
	for {
		e.started, e.failures = e.started[:0], e.failures[:0]
		pass(e)
		e.early, e.ended = false, false
		if !e.advance() {
			break
		}
	}
	starts := make([]grid.Tick, len(e.placed))
	for i, at := range e.placed {
		starts[i] = e.allocations[at].start
	}
	return starts
}
