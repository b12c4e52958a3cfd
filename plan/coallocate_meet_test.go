package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// The meetings are all sets of two or more that meet and that no other can join, found by trying all sets.
func TestMeetings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 7).Draw(t, "sites")
		meets := make([]bool, n*n)
		for i := range meets {
			meets[i] = rapid.IntRange(0, 3).Draw(t, "meets") > 0
		}
		meet := func(a, b int) bool { return meets[a*n+b] }
		all := func(set int) bool {
			for a := range n {
				for b := range n {
					if a != b && set>>a&1 == 1 && set>>b&1 == 1 && !meet(a, b) {
						return false
					}
				}
			}
			return true
		}
		var want [][]int
		for set := range 1 << n {
			var list []int
			grows := !all(set)
			for i := range n {
				if set>>i&1 == 1 {
					list = append(list, i)
				} else {
					grows = grows || all(set|1<<i)
				}
			}
			if !grows && len(list) > 1 {
				want = append(want, list)
			}
		}
		got, complete := Meetings(n, meet)
		slices.SortFunc(got, slices.Compare)
		slices.SortFunc(want, slices.Compare)
		if !complete || !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%v %v, want %v", got, complete, want)
		}
	})
}

// Many sites of which none meets cost nothing; of too many meetings it says so.
func TestMeetingsOfMany(t *testing.T) {
	t.Parallel()
	if sets, all := Meetings(500, func(a, b int) bool { return a < 2 && b < 2 }); !all || len(sets) != 1 || !slices.Equal(sets[0], []int{0, 1}) {
		t.Errorf("%v %v", sets, all)
	}
	if sets, all := Meetings(60, func(a, b int) bool { return a/2 != b/2 }); all || len(sets) != mostMeetings {
		t.Errorf("%d, all %v, of 2^30", len(sets), all)
	}
}

// Where the parts of a job talk to one another, sites that would have it sooner and do not reach each other are not taken.
func TestOnlySitesThatMeet(t *testing.T) {
	t.Parallel()
	offer := func(name grid.SiteName, from grid.Tick) Offered {
		return Offered{Site: grid.Site{Name: name, Speed: 1}, Slots: []grid.Slot{{Node: "1", Start: from, End: 1000, Cores: 1}}}
	}
	offers := []Offered{offer("a", 0), offer("b", 0), offer("c", 100)}
	w := Wide{Demand: demand(2, 1, 0), Fee: AnyFee, Walltime: 10}
	names := []grid.SiteName{"a", "b", "c"}
	for name, x := range map[string]struct {
		meet  func(a, b grid.SiteName) bool
		end   grid.Tick
		parts int
		why   string
	}{
		"none need":  {nil, 10, 2, ""},
		"a and c":    {func(a, b grid.SiteName) bool { return a != "b" && b != "b" }, 110, 2, ""},
		"none do":    {func(a, b grid.SiteName) bool { return false }, 0, 0, noneMeet},
		"by a alone": {func(a, b grid.SiteName) bool { return a == "a" }, 0, 0, noneMeet},
	} {
		if w.Meet = nil; x.meet != nil {
			w.Meet = NewMeets(names, func(a, b int) bool { return x.meet(names[a], names[b]) }, 0)
		}
		if got := coallocate(&w, offers, nil); got.End != x.end || len(got.Parts) != x.parts || got.Why != x.why {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
