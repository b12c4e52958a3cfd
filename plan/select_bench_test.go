package plan

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
)

const benchSites = 50

// eachBenchSlot makes n slots, 20 on a node, the nodes dealt to some sites: 10 to 200 s
// long and a little apart, so that a job of 100 s leaves half of them out.
func eachBenchSlot(n, sites int, made func(site, node int, start, end grid.Tick, price float64)) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for i, at := 0, grid.Tick(0); i < n; i++ {
		if i%20 == 0 {
			at = grid.Tick(random.IntN(200)) * grid.Second
		}
		length := grid.Tick(10+random.IntN(190))*grid.Second + grid.Tick(random.IntN(1000))
		made(i/20%sites, i/20, at, at+length, float64(random.IntN(10)))
		at += length + grid.Tick(1+random.IntN(50_000))
	}
}

func benchSlotSites(count int) []SlotSite {
	sites := make([]SlotSite, count)
	for j := range sites {
		sites[j] = SlotSite{Site: grid.Site{Name: grid.SiteName(fmt.Sprintf("site%d", j)), Speed: 1}}
	}
	return sites
}

// benchSlots are slots of nodes of so many cores, of which any number may be free.
func benchSlots(n, count, cores int) ([]SlotSite, []grid.Slot) {
	random := rand.New(rand.NewPCG(2, uint64(n)))
	sites := benchSlotSites(count)
	slots := make([]grid.Slot, 0, n)
	var name grid.NodeName
	last := -1
	eachBenchSlot(n, count, func(site, node int, start, end grid.Tick, price float64) {
		if node != last {
			name, last = grid.NodeName(fmt.Sprintf("node%d", node)), node
			sites[site].Nodes = append(sites[site].Nodes, Node{Name: name, Cores: cores})
		}
		slots = append(slots, grid.Slot{Site: sites[site].Name, Node: name, Start: start, End: end, Cores: 1 + random.IntN(cores), Price: price})
		if cores > 1 && random.IntN(2) == 0 { // another follows at once
			s := slots[len(slots)-1]
			slots[len(slots)-1].End = (s.Start + s.End) / 2
			s.Start, s.Cores = (s.Start+s.End)/2, 1+random.IntN(cores)
			slots = append(slots, s)
		}
	})
	return sites, slots
}

// benchOffers is what offersFor makes of benchSlots, as far as the sweep looks at it: ten
// million slots by name would not leave it in a gigabyte.
func benchOffers(n, count int, d grid.Demand) *offers {
	m := &Market{speeds: []float64{1}}
	for _, s := range benchSlotSites(count) {
		m.sites = append(m.sites, &ground{site: s.Site})
	}
	c := chunkOffers{Chunk: d.Chunks[0], widest: (n + 20*count - 1) / (20 * count)}
	all := make([]stretch, 0, n)
	eachBenchSlot(n, count, func(site, _ int, start, end grid.Tick, _ float64) {
		all = append(all, stretch{start, end, int32(site), 1})
	})
	c.sort(all)
	return &offers{market: m, fee: AnyFee, chunks: []chunkOffers{c}}
}

func TestBenchOffersAreThoseOfAMarket(t *testing.T) {
	t.Parallel()
	const n = 4_010
	m, err := NewMarket(benchSlots(n, benchSites, 1))
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range benchKinds(n) {
		made, want := benchOffers(n, benchSites, w.Demand), m.offersFor(&w.Demand, AnyFee)
		a, b := made.nearest(&w, &made.chunks[0]), want.nearest(&w, &want.chunks[0])
		if a.most != b.most || a.mostAt != b.mostAt || a.most == 0 || made.chunks[0].widest != want.chunks[0].widest {
			t.Errorf("%s: %d at %d and %d pieces at a site, want %d at %d and %d", name, a.most, a.mostAt, made.chunks[0].widest, b.most, b.mostAt, want.chunks[0].widest)
		}
	}
}

// benchWanted asks for more pieces than there is room for, so that every slot is seen.
func benchWanted(n int, walltime grid.Tick) Wanted {
	w := Wanted{Demand: demand(n, 1, 0), Fee: AnyFee, Walltime: walltime, Delivery: make([]grid.Tick, benchSites)}
	for j := range w.Delivery {
		w.Delivery[j] = grid.Tick(10*j) * grid.Second
	}
	return w
}

// benchKinds are the forms of the sweep: half of the slots too short, none too short,
// and at most 8 sites with at least 4 pieces each.
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

// processorTime is what this process has used, which counts where others use the machine too.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSelect is one sweep over the sorted lists, to the end.
func BenchmarkSelect(b *testing.B) {
	for _, n := range sizes {
		runtime.GC() // of the size before
		o := benchOffers(n, benchSites, demand(n, 1, 0))
		for name, w := range benchKinds(n) {
			b.Run(fmt.Sprintf("%s/slots=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				begun := processorTime(b)
				for b.Loop() {
					if o.search(&w).found {
						b.Fatal("all slots were to be seen")
					}
				}
				each := float64(b.N) * float64(n)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/each, "ns/slot")
				b.ReportMetric(float64((processorTime(b)-begun).Nanoseconds())/each, "cpu-ns/slot")
			})
		}
	}
}

// BenchmarkSelectPrepare is what comes before: checking and ordering by node, then
// merging and sorting.
func BenchmarkSelectPrepare(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		sites, slots := benchSlots(n, benchSites, 1)
		random := rand.New(rand.NewPCG(2, 3))
		random.Shuffle(n, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		m, err := NewMarket(sites, slots)
		if err != nil {
			b.Fatal(err)
		}
		d := demand(n, 1, 0)
		for name, do := range map[string]func(){
			"market":         func() { m, _ = NewMarket(sites, slots) },
			"merge-and-sort": func() { m.offersFor(&d, 5) },
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
			m, err := NewMarket(benchSlots(n, benchSites, 1))
			if err != nil {
				t.Fatal(err)
			}
			w := benchKinds(n)[name]
			o := m.offersFor(&w.Demand, AnyFee)
			counts = append(counts, testing.AllocsPerRun(5, func() { o.search(&w) }))
		}
		if counts[0] != counts[1] || counts[0] > 20 {
			t.Errorf("%s: %v allocations for 2,000 and 20,000 slots, want the same few", name, counts)
		}
	}
}
