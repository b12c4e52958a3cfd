package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// With many slots the lists are read in several blocks and starts are leaped over:
// the first instant and the most at once are counted slot by slot at every instant.
func TestSelectOfManySlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(300, 1500).Draw(t, "slots")
		cores := rapid.SampledFrom([]int{1, 1, 2, 5}).Draw(t, "cores of a node")
		sites, slots := benchSlots(n, rapid.SampledFrom([]int{3, 10}).Draw(t, "sites"), cores)
		m, err := NewMarket(sites, slots)
		if err != nil {
			t.Fatal(err)
		}
		w := benchWanted(n*cores, grid.Tick(rapid.IntRange(1, 200).Draw(t, "walltime"))*grid.Second)
		w.Delivery = w.Delivery[:len(sites)]
		for j := range w.Delivery {
			w.Delivery[j] = grid.Tick(rapid.IntRange(0, 4000).Draw(t, "delivery")) * grid.Second
		}
		w.MinPerSite = rapid.IntRange(0, 2).Draw(t, "least per site")
		w.MaxSites = rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "most sites")
		o := m.offersFor(&w.Demand, AnyFee)
		all := slices.Collect(o.chunks[0].byStart.all)
		_, most := firstOf(w, all, n*cores+1)
		if s := o.nearest(&w, &o.chunks[0]); s.most != most {
			t.Fatalf("at most %d at once, counted %d", s.most, most)
		}
		if most == 0 {
			return
		}
		pieces := rapid.IntRange(max(1, w.MinPerSite), max(most, w.MinPerSite)).Draw(t, "pieces")
		w.Demand, o.chunks[0].Count = demand(pieces, 1, 0), pieces
		at, got := firstOf(w, all, pieces)
		b := o.search(&w)
		if b.found != (got >= pieces) || b.found && b.start != at {
			t.Fatalf("%d pieces: found %v at %d; counted %d at %d", pieces, b.found, b.start, got, at)
		}
	})
}

// firstOf is the first instant at which wanted pieces have room, and how many have; else
// the most that ever have.
func firstOf(w Wanted, all []stretch, wanted int) (at grid.Tick, most int) {
	var instants []grid.Tick
	for j := range w.Delivery {
		instants = append(instants, w.usable(j))
	}
	for _, a := range all {
		instants = append(instants, a.start)
	}
	slices.Sort(instants)
	for _, now := range instants {
		free := make([]int, len(w.Delivery))
		for _, a := range all {
			if a.start <= now && now+w.Walltime <= a.end && w.usable(int(a.site)) <= now {
				free[a.site] += int(a.size)
			}
		}
		slices.Sort(free)
		slices.Reverse(free)
		sum := 0
		for _, n := range free[:w.sites(w.Demand.Cores(), len(free))] {
			if n >= w.MinPerSite {
				sum += n
			}
		}
		if sum > most {
			at, most = now, sum
		}
		if most >= wanted {
			return at, most
		}
	}
	return at, most
}
