package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gbroker/grid"
)

// The naive twin of selection: it tries every instant, every speed and every set of
// sites, straight from the rules, and shares no code with it.
type twin struct {
	sites []SlotSite
	slots []grid.Slot
	w     Wanted
	fee   float64
}

type node struct {
	site grid.SiteName
	node grid.NodeName
}

// free reports that the node can be had from start to end: slots within the fee
// follow one another over all of it. price is that of the dearest.
func (t twin) free(n node, start, end grid.Tick) (price float64, ok bool) {
	for at := start; at < end; {
		i := slices.IndexFunc(t.slots, func(s grid.Slot) bool {
			return s.Site == n.site && s.Node == n.node && s.Price <= t.fee && s.Start <= at && at < s.End
		})
		if i < 0 {
			return 0, false
		}
		at = t.slots[i].End
		price = max(price, t.slots[i].Price)
	}
	return price, true
}

func (t twin) usable(j int) grid.Tick { return t.w.Now + t.w.Delivery[j] + t.w.Margin }

func (t twin) nodes() []node {
	var all []node
	for _, s := range t.slots {
		if n := (node{s.Site, s.Node}); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// possible reports that all processes can run from start to end on sites of at least
// that speed.
func (t twin) possible(start, end grid.Tick, speed float64) bool {
	free := make([]int, len(t.sites))
	for j, s := range t.sites {
		if s.Speed < speed || t.usable(j) > start {
			continue
		}
		for _, n := range t.nodes() {
			if _, ok := t.free(n, start, end); ok && n.site == s.Name {
				free[j]++
			}
		}
	}
	for set := range 1 << len(t.sites) {
		sites, least, most := 0, 0, 0
		for j := range t.sites {
			if set>>j&1 == 0 {
				continue
			}
			sites++
			least += max(t.w.MinPerSite, 1)
			most += free[j]
			if free[j] < max(t.w.MinPerSite, 1) {
				most = math.MinInt32 // this site cannot be in the set
			}
		}
		if (t.w.MaxSites == 0 || sites <= t.w.MaxSites) && least <= t.w.Processes && t.w.Processes <= most {
			return true
		}
	}
	return false
}

// best is the earliest instant of the kind asked for.
func (t twin) best() (at grid.Tick, ok bool) {
	var starts []grid.Tick
	for j := range t.sites {
		starts = append(starts, t.usable(j))
	}
	for _, s := range t.slots {
		starts = append(starts, s.Start)
	}
	for _, site := range t.sites {
		for _, start := range starts {
			end := start + runTime(t.w.Walltime, site.Speed)
			if !t.possible(start, end, site.Speed) {
				continue
			}
			this := end
			if t.w.FirstStart {
				this = start
			}
			if !ok || this < at {
				at, ok = this, true
			}
		}
	}
	return at, ok
}

// valid says which rule a selection breaks.
func (t twin) valid(s *Selection) error {
	if len(s.Slots) != t.w.Processes {
		return fmt.Errorf("%d slots for %d processes", len(s.Slots), t.w.Processes)
	}
	per := make(map[int]int)
	var seen []node
	var cost float64
	slowest := math.Inf(1)
	for _, slot := range s.Slots {
		n := node{slot.Site, slot.Node}
		j := slices.IndexFunc(t.sites, func(site SlotSite) bool { return site.Name == slot.Site })
		price, ok := t.free(n, s.Start, s.End)
		switch {
		case slices.Contains(seen, n):
			return fmt.Errorf("%v twice", n)
		case !ok:
			return fmt.Errorf("%v is not free from %d to %d", n, s.Start, s.End)
		case price != slot.Price:
			return fmt.Errorf("%v costs %v, not %v", n, price, slot.Price)
		case slot.Start > s.Start || slot.End < s.End:
			return fmt.Errorf("%+v does not hold %d to %d", slot, s.Start, s.End)
		case s.Start < t.usable(j):
			return fmt.Errorf("%v is used at %d, before %d", n, s.Start, t.usable(j))
		}
		seen = append(seen, n)
		per[j]++
		cost += slot.Price
		slowest = min(slowest, t.sites[j].Speed)
	}
	for j, n := range per {
		if n < t.w.MinPerSite {
			return fmt.Errorf("%d processes at %s", n, t.sites[j].Name)
		}
	}
	switch {
	case t.w.MaxSites > 0 && len(per) > t.w.MaxSites:
		return fmt.Errorf("%d sites", len(per))
	case s.End-s.Start != runTime(t.w.Walltime, slowest):
		return fmt.Errorf("it runs %d, not %d as the slowest site needs", s.End-s.Start, runTime(t.w.Walltime, slowest))
	case cost != s.Cost:
		return errors.New("the cost is not the sum of the prices")
	}
	return nil
}
