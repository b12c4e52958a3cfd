package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

const benchSites = 50

// benchSlots makes n slots, 20 on a node, at some sites: 10 to 200 s long and a little
// apart, so that a job of 100 s leaves half of them out.
func benchSlots(n, count int) ([]SlotSite, []grid.Slot) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	sites := make([]SlotSite, count)
	for j := range sites {
		sites[j] = SlotSite{grid.SiteName(fmt.Sprintf("site%d", j)), 1}
	}
	slots := make([]grid.Slot, 0, n)
	for node := 0; len(slots) < n; node++ {
		name := grid.NodeName(fmt.Sprintf("node%d", node))
		at := grid.Tick(random.IntN(200)) * grid.Second
		for range min(20, n-len(slots)) {
			length := grid.Tick(10+random.IntN(190))*grid.Second + grid.Tick(random.IntN(1000))
			slots = append(slots, grid.Slot{Site: sites[node%count].Name, Node: name, Start: at, End: at + length, Price: float64(random.IntN(10))})
			at += length + grid.Tick(1+random.IntN(50_000))
		}
	}
	return sites, slots
}

// benchWanted asks for one process more than there are nodes, so that every slot is seen.
func benchWanted(n int, walltime grid.Tick) Wanted {
	w := Wanted{Processes: n, Walltime: walltime, Delivery: make([]grid.Tick, benchSites)}
	for j := range w.Delivery {
		w.Delivery[j] = grid.Tick(10*j) * grid.Second
	}
	return w
}

// benchKinds are the forms of the sweep: half of the slots too short, none too short,
// and at most 8 sites with at least 4 processes each.
func benchKinds(n int) map[string]Wanted {
	few := benchWanted(n, 100*grid.Second)
	few.MaxSites, few.MinPerSite = 8, 4
	return map[string]Wanted{
		"half":    benchWanted(n, 100*grid.Second),
		"all":     benchWanted(n, 5*grid.Second),
		"K-sites": few,
	}
}

var sizes = []int{10_000, 100_000, 1_000_000, 10_000_000}

// BenchmarkSelect is one sweep over the sorted lists, to the end.
func BenchmarkSelect(b *testing.B) {
	for _, n := range sizes {
		sites, slots := benchSlots(n, benchSites)
		m, err := NewMarket(sites, slots)
		if err != nil {
			b.Fatal(err)
		}
		l := m.Within(AnyFee)
		for name, w := range benchKinds(n) {
			b.Run(fmt.Sprintf("%s/slots=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if l.search(w).found {
						b.Fatal("all slots were to be seen")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/slot")
			})
		}
	}
}

// BenchmarkSelectPrepare is what comes before: checking and ordering by node, then
// merging and sorting.
func BenchmarkSelectPrepare(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		sites, slots := benchSlots(n, benchSites)
		random := rand.New(rand.NewPCG(2, 3))
		random.Shuffle(n, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		m, err := NewMarket(sites, slots)
		if err != nil {
			b.Fatal(err)
		}
		for name, do := range map[string]func(){
			"market":         func() { m, _ = NewMarket(sites, slots) },
			"merge-and-sort": func() { m.Within(5) },
		} {
			b.Run(fmt.Sprintf("%s/slots=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/slot")
			})
		}
	}
}

// What a sweep allocates does not grow with the slots.
func TestSelectAllocatesNothingForASlot(t *testing.T) {
	for name := range benchKinds(0) {
		var counts []float64
		for _, n := range []int{2_000, 20_000} {
			sites, slots := benchSlots(n, benchSites)
			m, err := NewMarket(sites, slots)
			if err != nil {
				t.Fatal(err)
			}
			l, w := m.Within(AnyFee), benchKinds(n)[name]
			counts = append(counts, testing.AllocsPerRun(5, func() { l.search(w) }))
		}
		if counts[0] != counts[1] || counts[0] > 20 {
			t.Errorf("%s: %v allocations for 2,000 and 20,000 slots, want the same few", name, counts)
		}
	}
}
