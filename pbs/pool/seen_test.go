package pool

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	"gbroker/pbs/pool/tape"
	"gbroker/plan"
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

// An agent of before tells nothing of what it sees: that is not held against its computer.
func TestAgentsThatSeeNothing(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"old": {Speed: 1}, "gone": {Speed: 1}})
	now := control.Now()
	first := tape.Number(now) - 12*24
	for _, c := range s.computers {
		c.tallies.next = first
	}
	old := s.computers["old"]
	for at := tape.Begin(first); at < tape.Begin(tape.Number(now)); at += 10 * grid.Second {
		old.tallies.book(at, line.Seen{}, 32*grid.Second)
	}
	s.watching = tape.Begin(first)
	s.keep(tape.Number(now))
	for name, want := range map[string]float64{"old": s.config.Presume, "gone": 0} {
		c := s.computers[name]
		c.forecast = s.foresee(name, c.facts, now)
		if h := c.forecast.Mean(); h != want {
			t.Errorf("H of %s is %v, not %v", name, h, want)
		}
	}
	f, at := s.foresight(t)
	if _, refusal := f.Ask(plan.Question{Demand: single, Limit: grid.Hour, NotBefore: at}); refusal != nil {
		t.Errorf("a pool with an agent of before refuses: %s", refusal.Reason)
	}
}

// A clock that is set makes no slots of the time between, and what is seen from then on is kept.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	now := control.Now()
	for what, before := range map[string]grid.Tick{"forward": 0, "back": now + 1000*grid.Day} {
		s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1}})
		c := s.computers["a"]
		c.tallies.next = tape.Number(before)
		second := line.Seen{Span: int64(grid.Second), Idle: 1}
		c.tallies.book(before+grid.Second, second, grid.Minute)
		if c.tallies.book(now, second, grid.Minute); len(c.tallies.slots) > 2 {
			t.Errorf("%s: %d slots are kept of a second", what, len(c.tallies.slots))
		}
		if done := c.tallies.close(tape.Number(now)); int64(len(done)) > tape.Kept {
			t.Errorf("%s: %d slots are closed", what, len(done))
		}
		s.afresh(now)
		c.tallies.book(now+grid.Second, second, grid.Minute)
		reached := 0.0
		for _, slot := range c.tallies.close(tape.Number(now) + 2) {
			reached += slot.reached
		}
		if reached < float64(grid.Second) {
			t.Errorf("%s: %v ms are seen of a second", what, reached)
		}
	}
}
