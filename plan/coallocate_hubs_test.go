package plan

import (
	"fmt"
	"testing"

	"gbroker/grid"
)

// hubs are two sites that meet 40 others each. All have a core until an instant, both hubs longer; one of the others has three, and longer too.
func hubs(large int, until grid.Tick) (offers []Offered, names []grid.SiteName, meet func(a, b int) bool) {
	for i := range 82 {
		slot := grid.Slot{Node: "1", End: until, Cores: 1}
		if i < 2 || i == large {
			slot.End = 1000
		}
		if i == large {
			slot.Cores = 3
		}
		names = append(names, grid.SiteName(fmt.Sprintf("s%02d", i)))
		offers = append(offers, Offered{Site: grid.Site{Name: names[i], Speed: 1}, Slots: []grid.Slot{slot}})
	}
	return offers, names, func(a, b int) bool { return min(a, b) < 2 && max(a, b) > 1 && max(a, b)%2 == min(a, b) }
}

// Sites without any room do not keep those that have it from being looked at, however many meetings there are.
func TestMeetingsOfThoseWithRoom(t *testing.T) {
	t.Parallel()
	for large := 2; large < 82; large++ {
		offers, names, meet := hubs(large, 5)
		w := Wide{Demand: demand(4, 1, 0), Fee: AnyFee, Walltime: 10, Meet: NewMeets(names, meet, 0)}
		if got := coallocate(&w, offers, nil); len(got.Parts) != 2 {
			t.Errorf("its hub and site %d have room alone: %d parts, %s", large, len(got.Parts), got.Why)
		}
	}
}

// Where not all meetings can be looked at the job is told so, and other seeds look at others.
func TestMeetingsTakeTurns(t *testing.T) {
	t.Parallel()
	for large := 2; large < 82; large++ {
		offers, names, meet := hubs(large, 1000)
		w := Wide{Demand: demand(4, 1, 0), Fee: AnyFee, Walltime: 10}
		found := false
		for seed := uint64(0); seed < 200 && !found; seed++ {
			w.Meet = NewMeets(names, meet, seed)
			got := coallocate(&w, offers, nil)
			if found = len(got.Parts) == 2; !found && !got.Unseen {
				t.Fatalf("site %d: of 80 meetings 64 are looked at: %q", large, got.Why)
			}
		}
		if !found {
			t.Errorf("its hub and site %d are never found", large)
		}
	}
}

// A search for meetings takes no more than so many steps, and is made once for the same sites.
func TestMeetingsAreBounded(t *testing.T) {
	t.Parallel()
	m := NewMeets(make([]grid.SiteName, 60), func(a, b int) bool { return a/2 != b/2 }, 1)
	every := newSet(60)
	for i := range 60 {
		every.add(i)
	}
	for range 2 {
		if got := m.among(every); got.all || len(got.sets) != mostMeetings || len(m.found) != 1 {
			t.Errorf("%d sets, all %v, of 2^30; %d searches", len(got.sets), got.all, len(m.found))
		}
	}
	c := cliques{of: m.of, steps: mostSteps - 1}
	if c.extend(newSet(60), every, newSet(60)) || len(c.found) > 0 {
		t.Errorf("%d sets are found after %d steps", len(c.found), c.steps)
	}
}
