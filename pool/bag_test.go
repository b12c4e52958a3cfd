package pool

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// With the least H, m like computers end a divisible job just in time; with less they do not.
func TestLeastH(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, m := rapid.Float64Range(1, 1000).Draw(t, "work"), rapid.IntRange(1, 20).Draw(t, "computers")
		left, dv := rapid.Float64Range(1, 500).Draw(t, "left"), rapid.Float64Range(0, 100).Draw(t, "delivery")
		h := LeastH(w, m, left, dv)
		takes := func(h float64) float64 { return dv/float64(m) + w/(float64(m)*h) }
		if math.IsInf(h, 1) {
			if dv/float64(m) < left {
				t.Fatal("there is time left after the delivery")
			}
			return
		}
		if takes(h*1.001) > left+1e-9 || takes(h*0.999) < left-1e-9 {
			t.Fatalf("with H %v it takes %v of %v", h, takes(h), left)
		}
		computers := slices.Repeat([]Computer{{Forecast: Constant(h * 1.01)}}, m)
		j := Job{Work: w, Deadline: 1 + grid.FromSeconds(left*1.01)}
		of := Range{Work: w, Delivery: dv, Units: m}
		if parts, ok := EDF.Cut(1, computers, &j, of); !ok || len(parts) != m {
			t.Fatalf("%d computers with H %v: %+v", m, h, parts)
		}
		for i := range computers {
			computers[i].Forecast = Constant(h * 0.9)
		}
		j.Deadline = 1 + grid.FromSeconds(left)
		if _, ok := EDF.Cut(1, computers, &j, of); ok && takes(h*0.9) > left+0.01 {
			t.Fatalf("%d computers with H %v suffice", m, h*0.9)
		}
	})
}

// A cut has every unit once, each part ends in time on a computer of its own, and it is refused only where no set of computers that may be taken
// suffices: a twin tries all.
func TestCutAgainstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		computers, j := drawComputers(t), drawJob(t)
		j.Deadline = max(j.Deadline, 150)
		of := Range{Work: j.Work, Delivery: float64(rapid.IntRange(0, 20).Draw(t, "delivery")) / 1000, Units: rapid.IntRange(1, 12).Draw(t, "units"), MostParts: rapid.IntRange(0, 4).Draw(t, "most")}
		parts, ok := EDF.Cut(now, computers, &j, of)
		had, on := make([]int, of.Units), make(map[int]bool)
		for _, p := range parts {
			part := j
			part.Work = of.work(p.Last - p.First + 1)
			begins := now + of.delivery(p.Last-p.First+1)
			if c := &computers[p.Computer]; on[p.Computer] || c.Free > now || c.Lacks(&part) != "" || c.Forecast.End(begins, part.Work) != p.End || p.End > j.Deadline {
				t.Fatalf("%+v must not be", p)
			}
			on[p.Computer] = true
			for u := p.First; u <= p.Last; u++ {
				had[u]++
			}
		}
		if ok && (slices.Min(had) != 1 || slices.Max(had) != 1 || of.MostParts > 0 && len(parts) > of.MostParts) {
			t.Fatalf("units are done %v times, in %d parts", had, len(parts))
		}
		var can []int // units of each computer
		for i := range computers {
			n := 0
			for u := 1; u <= of.Units; u++ {
				c := &computers[i]
				if c.Free <= now && c.Lacks(&j) == "" && c.Forecast.End(now+of.delivery(u), of.work(u)) <= j.Deadline {
					n = u
				}
			}
			can = append(can, n)
		}
		if ok { // no part could be left out
			used, least := 0, of.Units
			for c := range on {
				used, least = used+can[c], min(least, can[c])
			}
			if used-least >= of.Units {
				t.Fatalf("%d units of %d could be done without the weakest of %v: %v", used-least, of.Units, on, can)
			}
		}
		slices.Sort(can)
		slices.Reverse(can)
		if of.MostParts > 0 {
			can = can[:min(of.MostParts, len(can))]
		}
		sum := 0
		for _, n := range can {
			sum += n
		}
		if ok != (sum >= of.Units) {
			t.Fatalf("%v, but %v units can be done of %d", ok, sum, of.Units)
		}
		if most := EDF.Most(now, computers, &j, of); most != min(sum, of.Units) {
			t.Fatalf("%d units of %d are done in time at most, twin %d", most, of.Units, sum)
		}
	})
}

// Strong computers are left for those that cannot be cut.
func TestPartsGoToWeakComputers(t *testing.T) {
	t.Parallel()
	computers := []Computer{{Forecast: Constant(1)}, {Forecast: Constant(0.2)}, {Forecast: Constant(0.2)}, {Forecast: Constant(0.2)}}
	jobs := []Job{{Work: 100, Deadline: 1 + 180*grid.Second}, {Work: 100, Deadline: 1 + 200*grid.Second}}
	out := EDF.AssignParts(1, computers, jobs, []Range{{Work: 100, Units: 100}, {Work: 100, Units: 1}})
	if len(out) != 4 || out[3].Computer != 0 || out[3].Job != 1 {
		t.Errorf("%+v", out)
	}
}
