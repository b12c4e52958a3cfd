package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
)

// One of two like jobs ended after 10, the other still runs after 50: what it will do is no more than open. By the first
// view 10 weighs 1 and, of the crowd, 0.02; the other 0.8. So 10 has 1.02 of 1.82, and the limit the rest.
func TestBeliefsKnowWhoStillRuns(t *testing.T) {
	t.Parallel()
	job := Trait{Who: 1, Cores: 4, Limit: 100}
	var r RunTimes
	r.Ended(job, 0, 10)
	into := make([]grid.Tick, 9*Views)
	r.At(50, []Alive{{job, 0}, {Trait{Who: 2, Cores: 4, Limit: 100}, 0}}).Believe(job, 0, into)
	if got, want := into[:9], []grid.Tick{10, 10, 10, 10, 10, 100, 100, 100, 100}; !slices.Equal(got, want) {
		t.Errorf("beside one that runs: %v, want %v", got, want)
	}
	r.At(50, nil).Believe(job, 0, into)
	if got := into[:9]; got[8] != 10 {
		t.Errorf("alone: %v, want 10", got)
	}
	if got := into[27:]; got[7] != 10 || got[8] != 100 { // 0.1 of 1.12 for the limit
		t.Errorf("by the fourth view: %v", got)
	}
	r.At(50, nil).Believe(job, 10, into)
	if got := into[:9]; got[0] != 100 {
		t.Errorf("longer than any: %v, want the limit", got)
	}
	if got := into[18:27]; got[0] <= 10 || got[0] > 20 || got[8] < 80 || got[8] > 100 {
		t.Errorf("by the third view any time may be: %v", got)
	}
}

// The crowd is kept by the part of the limit, and the oldest go.
func TestCrowdForgets(t *testing.T) {
	t.Parallel()
	var r RunTimes
	for i := range int64(3 * keptCrowd) {
		r.Ended(Trait{Who: i, Cores: 1, Limit: 1000}, 0, grid.Tick(i*7919%1000))
	}
	if len(r.crowd) != keptCrowd || !slices.IsSortedFunc(r.crowd, func(a, b member) int { return int(1e6 * (a.part - b.part)) }) {
		t.Fatalf("%d are kept, or out of order", len(r.crowd))
	}
	for _, m := range r.crowd {
		if m.num <= 2*keptCrowd {
			t.Fatalf("number %d of %d is kept", m.num, r.num)
		}
	}
}

// One of ten errors is beyond the rank, or the share that is asked for, whether they stay alike, grow, or come in crowds.
func TestRankHoldsItsShare(t *testing.T) {
	t.Parallel()
	for asked, share := range map[float64]float64{0: 0.1, 0.05: 0.05, 0.2: 0.2} {
		holdsItsShare(t, asked, share)
	}
}

func holdsItsShare(t *testing.T, asked, share float64) {
	t.Helper()
	draw := rand.New(rand.NewPCG(uint64(rand.Int64()), 1))
	crowd := 1.0
	for name, next := range map[string]func(i int) float64{
		"alike": func(int) float64 { return draw.NormFloat64() },
		"grow":  func(i int) float64 { return float64(i) / 100 * draw.Float64() },
		"crowds": func(i int) float64 {
			if i%50 == 0 {
				crowd = draw.ExpFloat64() * 10
			}
			return crowd * draw.Float64()
		},
	} {
		r := Rank{Beyond: asked}
		var w Window
		beyond := 0
		for i := range 3000 {
			e := next(i)
			if s := w.Sorted(); len(s) > 0 {
				out := e > r.Of(s)
				r.Judge(out)
				if out {
					beyond++
				}
			}
			w.Add(e)
		}
		if want := 3000 * share; math.Abs(float64(beyond)-want) > 0.2*want {
			t.Errorf("%s: %d of 3000 are beyond, and not %.0f", name, beyond, want)
		}
		if len(w.sorted) != keptErrors || !slices.IsSorted(w.sorted) {
			t.Errorf("%s: %d errors are kept, or out of order", name, len(w.sorted))
		}
	}
}
