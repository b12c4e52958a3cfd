package plan

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

const second = grid.Second

// On n1 a job runs until 10, a waiting one follows from 10 to 40 and another, of ten
// times its priority, shares the node from 20 on; n2 is free but for a job at 50.
func TestSlotsAreWorthWhatWaitsForThem(t *testing.T) {
	t.Parallel()
	booked := []Booked{
		{Node: "n1", Start: 20 * second, End: 40 * second, Priority: 10},
		{Node: "n1", Start: -5 * second, End: 10 * second, Running: true, Priority: 99},
		{Node: "n1", Start: 10 * second, End: 40 * second, Priority: 1},
		{Node: "n2", Start: 50 * second, End: 60 * second, Priority: 0.1},
		{Node: "n3", Start: 0, End: 60 * second, Priority: 1}, // not asked about
	}
	got := Pricing{Base: 2}.Slots("a", []grid.NodeName{"n2", "n1"}, booked, 0, 55*second)
	want := []grid.Slot{
		{Site: "a", Node: "n2", Start: 0, End: 50 * second, Price: 2},
		{Site: "a", Node: "n2", Start: 50 * second, End: 55 * second, Price: 2}, // 0.5 by its priority: never under the base
		{Site: "a", Node: "n1", Start: 10 * second, End: 20 * second, Price: 10},
		{Site: "a", Node: "n1", Start: 20 * second, End: 40 * second, Price: 20 + 200},
		{Site: "a", Node: "n1", Start: 40 * second, End: 55 * second, Price: 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// The owner's function decides, and sees the whole job.
func TestOwnerDecidesThePrice(t *testing.T) {
	t.Parallel()
	booked := []Booked{{Node: "n1", Start: 0, End: 10 * second, Priority: 3, Whole: 500}, {Node: "n1", Start: 10 * second, End: 20 * second, Priority: 3}}
	var asked []Displaced
	p := Pricing{Of: func(d Displaced) float64 { asked = append(asked, d); return d.Whole }}
	got := p.Slots("a", []grid.NodeName{"n1"}, booked, 5*second, 20*second)
	if len(got) != 2 || got[0].Price != 500 || got[1].Price != 10 {
		t.Errorf("%v", got)
	}
	if want := []Displaced{{3, 5, 500}, {3, 10, 10}}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked about %v, want %v", asked, want)
	}
	for _, price := range []float64{math.NaN(), math.Inf(1)} {
		p.Of = func(Displaced) float64 { return price }
		if got := p.Slots("a", []grid.NodeName{"n1"}, booked, 0, 20*second); len(got) != 0 {
			t.Errorf("for %v it sells %v", price, got)
		}
	}
}

// A job that is worth less than nothing takes nothing off the price of another; and in
// which order the jobs are told does not matter, to the last digit.
func TestPriceOfSeveralJobs(t *testing.T) {
	t.Parallel()
	price := func(priorities ...float64) float64 {
		var booked []Booked
		for _, p := range priorities {
			booked = append(booked, Booked{Node: "n1", Start: 0, End: second, Priority: p})
		}
		return Pricing{}.Slots("a", []grid.NodeName{"n1"}, booked, 0, second)[0].Price
	}
	if got := price(5, -4); got != 5 {
		t.Errorf("jobs of priority 5 and -4: %v", got)
	}
	if a, b := price(0.1, 0.2, 0.3), price(0.3, 0.2, 0.1); a != b {
		t.Errorf("in two orders %v and %v", a, b)
	}
}

func TestMayDisplace(t *testing.T) {
	t.Parallel()
	p := Pricing{Base: 1, Of: LinearPrice(0.5)}
	waits := Booked{Start: 10 * second, End: 20 * second, Priority: 4}
	runs := Booked{Start: 0, End: 10 * second, Running: true}
	for _, c := range []struct {
		fee        float64
		start, end grid.Tick
		want       bool
	}{
		{20, 10 * second, 20 * second, true}, // exactly its price
		{19.9, 10 * second, 20 * second, false},
		{math.Inf(1), 9 * second, 20 * second, false}, // never a running one
		{1, 20 * second, 30 * second, true},           // free time, at the base price
		{0.9, 20 * second, 30 * second, false},
		{10, 15 * second, 30 * second, true}, // half of what waits
		{9.9, 15 * second, 30 * second, false},
	} {
		if got := p.MayDisplace(c.fee, c.start, c.end, []Booked{waits, runs}); got != c.want {
			t.Errorf("for %v from %v to %v s: %v", c.fee, c.start.Seconds(), c.end.Seconds(), got)
		}
	}
}

// Millisecond by millisecond: a slot covers it, once, if and only if nothing runs;
// each slot may be taken for its price and not for less; and they make a market.
func TestSlotsCoverWhatIsForSale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var booked []Booked
		for range rapid.IntRange(0, 6).Draw(t, "booked") {
			start := grid.Tick(rapid.IntRange(-5, 25).Draw(t, "start"))
			booked = append(booked, Booked{
				Node: "n", Start: start, End: start + grid.Tick(rapid.IntRange(1, 12).Draw(t, "length")),
				Running: rapid.IntRange(0, 3).Draw(t, "runs") == 0, Priority: rapid.Float64Range(-1, 1000).Draw(t, "priority"),
			})
		}
		p := Pricing{Base: rapid.Float64Range(0, 3).Draw(t, "base")}
		slots := p.Slots("a", []grid.NodeName{"n"}, slices.Clone(booked), 0, 25)
		if _, err := NewMarket([]SlotSite{{"a", 1}}, slots); err != nil {
			t.Fatal(err)
		}
		for at := range grid.Tick(25) {
			covers := slices.IndexFunc(slots, func(s grid.Slot) bool { return s.Start <= at && at < s.End })
			runs := slices.ContainsFunc(booked, func(b Booked) bool { return b.Running && b.Start <= at && at < b.End })
			if (covers >= 0) == runs {
				t.Fatalf("at %d: a job runs: %v; slots %v", at, runs, slots)
			}
		}
		for _, s := range slots {
			if !p.MayDisplace(s.Price, s.Start, s.End, booked) || p.MayDisplace(math.Nextafter(s.Price, -1), s.Start, s.End, booked) {
				t.Fatalf("%v does not go for its price: %v", s, booked)
			}
		}
	})
}
