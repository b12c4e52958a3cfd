package pool

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
	"gbroker/pbs/pool/tape"
)

// However reports lie over slots, what is closed adds up to what was booked of slots that were open, and no slot has more than its length.
func TestTalliesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := 1000*tape.Slot + grid.Tick(rapid.IntRange(0, int(tape.Slot)-1).Draw(t, "begin"))
		books := tallies{next: tape.Number(now)}
		begin, reached, active := now, 0.0, 0.0
		var sum tally
		add := func(before int64) {
			for n, s := range books.close(before) {
				if s.reached > float64(tape.Slot)+1 || s.active > s.reached+1 || n >= before {
					t.Fatalf("slot %d: %+v", n, s)
				}
				sum.reached, sum.active = sum.reached+s.reached, sum.active+s.active
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "reports") {
			span := grid.Tick(rapid.IntRange(1, int(3*tape.Slot)).Draw(t, "span"))
			now += span
			part := rapid.Float64Range(0, 1).Draw(t, "active")
			books.book(now, line.Seen{Span: int64(span), Active: int64(part * float64(span)), Idle: 1}, tape.Slot*4)
			open := float64(min(span, now-max(begin, tape.Begin(books.next))))
			reached, active = reached+open, active+open*float64(int64(part*float64(span)))/float64(span)
			if rapid.Bool().Draw(t, "close") {
				add(tape.Number(now))
			}
		}
		add(tape.Number(now) + 1)
		if math.Abs(sum.reached-reached) > 1 || math.Abs(sum.active-active) > 1 {
			t.Fatalf("closed %+v, booked %v and %v", sum, reached, active)
		}
	})
}
