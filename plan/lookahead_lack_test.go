package plan

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"gbroker/grid"
)

// What a job of a cycle lacks is what the market says, at any price too, whoever was planned before it; the list for that is made once,
// and not for whom nobody tells.
func TestLackOfACycle(t *testing.T) {
	t.Parallel()
	told := 0
	for range 200 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		var offers []Offered
		for _, name := range []grid.SiteName{"a", "b", "c"} {
			o := Offered{Site: grid.Site{Name: name, Speed: 1}}
			for range 1 + random.IntN(4) {
				start := grid.Tick(random.IntN(50))
				node := grid.NodeName(name) + grid.NodeName(rune('0'+len(o.Slots)))
				o.Slots = append(o.Slots, grid.Slot{Node: node, Start: start, End: start + 1 + grid.Tick(random.IntN(60)), Cores: 2, Price: float64(random.IntN(4))})
			}
			offers = append(offers, o)
		}
		w := Waits{Wide: Wide{Demand: demand(2+random.IntN(16), 1, 0), Walltime: grid.Tick(1 + random.IntN(40)), Fee: float64(random.IntN(3))}}
		before := Waits{Wide: w.Wide}
		before.Fee, before.Demand = w.Fee+1, demand(2, 1, 0)
		quiet := w
		quiet.Quiet = true
		got := Lookahead([]Waits{before, w, w, quiet}, 0, offers)
		if len(got[1].Parts) > 0 {
			continue
		}
		m, sound, _ := marketOf(&w.Wide, offers)
		wanted := w.wanted(sound)
		b := m.offersFor(&wanted.Demand, AnyFee).search(&wanted)
		var want, has []Without
		if dear := got[1].Lack.Dear > 0; dear && b.found {
			want = append(want, Without{RuleFee, b.start})
			told++
		}
		for _, x := range got[1].Lack.Without {
			if x.Rule == RuleFee {
				has = append(has, x)
			}
		}
		if !reflect.DeepEqual(has, want) {
			t.Fatalf("seed %d: it says %v, the market %v", seed, has, want)
		}
		if len(got[3].Parts) == 0 && (got[3].Lack != nil || got[3].Why != "") {
			t.Fatalf("seed %d: nobody asked: %q", seed, got[3].Why)
		}
	}
	if told == 0 {
		t.Error("no job lacked only money")
	}
	m, err := NewMarket(benchSlots(100, 4, 1))
	if err != nil {
		t.Fatal(err)
	}
	if h := newHall(m); h.untouched() != h.untouched() {
		t.Error("the untouched hall is made again for each job")
	}
}
