package daemon

import (
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// What can never run is refused in the words of what is in its way.
func TestNever(t *testing.T) {
	t.Parallel()
	rows := []grid.Candidate{
		{Site: "a", Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "200", Available: "8"}},
		{Site: "b", Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "other words"}},
	}
	for want, j := range map[string]grid.Job{
		"a: too few processors (asked 200, available 8); b: other words; correct the document": {},
		"has passed":                      {Terms: grid.Terms{Deadline: 1000}},
		"could ever run it":               {Terms: grid.Terms{Deadline: 3000}},
		"its reservation: b: other words": {Reservation: "r1", Sites: grid.Choice{Only: []grid.SiteName{"b"}}},
	} {
		d := grid.Decision{At: 2000, Candidates: append([]grid.Candidate(nil), rows...)}
		if err := never(&j, d, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	known := func(sizes ...int) (list []sized) {
		for _, n := range sizes {
			list = append(list, sized{processes: n})
		}
		return list
	}
	wide := grid.Job{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 40, Processes: 1, Cores: 1}}}}
	const several = "let it have several sites"
	if err := never(&wide, grid.Decision{Candidates: rows}, known(8, 32)); strings.Contains(err.Error(), several) {
		t.Error("no site is too small for all of its pieces alone:", err)
	}
	rows[0].Refusal.TooWide = true
	if err := never(&wide, grid.Decision{Candidates: rows}, known(8, 32)); !strings.Contains(err.Error(), several) {
		t.Error("it is not told of several sites:", err)
	}
	spread, only, mixed := wide, wide, wide
	spread.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 1}
	only.Sites.Only = []grid.SiteName{"b"}
	mixed.Demand.Chunks = append(mixed.Demand.Chunks, grid.Chunk{Count: 1, Processes: 1, Cores: 2})
	for name, c := range map[string]struct {
		job   grid.Job
		sizes []int
	}{"all are too small together": {wide, []int{8, 31}}, "it may have several": {spread, []int{8, 32}}, "it may have one": {only, []int{40, 40}}, "its pieces are not alike": {mixed, []int{40, 40}}} {
		if err := never(&c.job, grid.Decision{Candidates: rows}, known(c.sizes...)); err == nil || strings.Contains(err.Error(), several) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := never(&wide, grid.Decision{Candidates: rows}, known(8, 0)); !strings.Contains(err.Error(), several) {
		t.Error("the size of one is not known yet:", err)
	}
	rows[1].Refusal = nil
	if err := never(&wide, grid.Decision{Candidates: rows}, nil); err != nil {
		t.Error("one may run it:", err)
	}
}

// A job for which every site that has been heard of is too small is taken, where one may be larger, and its user is told.
func TestUnheard(t *testing.T) {
	t.Parallel()
	wide := grid.Job{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 40, Processes: 1, Cores: 1}}}}
	elsewhere, spread := wide, wide
	elsewhere.Sites.Not = []grid.SiteName{"c"}
	spread.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 1}
	for name, k := range map[string]struct {
		job   grid.Job
		known []sized
		warns bool
	}{
		"one is not known":                 {wide, []sized{{name: "a", processes: 8}, {name: "c"}}, true},
		"one is large enough":              {wide, []sized{{name: "a", processes: 40}, {name: "c"}}, false},
		"all are known":                    {wide, []sized{{name: "a", processes: 8}, {name: "c", processes: 9}}, false},
		"it is not to have that":           {elsewhere, []sized{{name: "a", processes: 8}, {name: "c"}}, false},
		"several may have it together":     {spread, []sized{{name: "a", processes: 8}, {name: "c"}}, false},
		"it asks for nothing that is told": {grid.Job{}, []sized{{name: "c"}}, false},
	} {
		if why := unheard(&k.job, k.known); (why != nil) != k.warns || k.warns && !strings.Contains(why.Error(), "40 processors that it asks for, and nothing is known yet of c:") {
			t.Errorf("%s: %v", name, why)
		}
	}
	one := grid.Job{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}
	if why := unheard(&one, []sized{{name: "c"}}); why == nil || !strings.Contains(why.Error(), " has the processor that it asks for") {
		t.Error(why)
	}
}

// The jobs of a group are listed whether or not their turn has come, by the pages of the group.
func TestJobsOfAGroup(t *testing.T) {
	t.Parallel()
	g := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 6, Entered: 3}
	ask := func(page api.Members) (api.GroupRecord, error) { // two at a time, of which the first three have records
		r := api.GroupRecord{Group: g}
		for n := page.After + 1; n <= min(page.After+2, g.Jobs); n++ {
			one := g.Outline(n, grid.Result{})
			if n <= g.Entered {
				one.State = grid.Running
			}
			r.Jobs = append(r.Jobs, one)
		}
		if page.After+2 < g.Jobs {
			r.Next = page.After + 2
		}
		return r, nil
	}
	for name, k := range map[string]struct {
		after  grid.JobID
		states []grid.State
		want   int
	}{
		"all":                        {"", nil, 6},
		"behind the fourth":          {g.ID.Job(4), nil, 2},
		"those that run":             {"", []grid.State{grid.Running}, 3},
		"those that wait for a turn": {"", []grid.State{grid.Submitted}, 3},
	} {
		list, err := service{&site{}}.jobsOfGroup(k.after, 100, api.Filter{Group: g.ID, States: k.states}, ask)
		if err != nil || len(list) != k.want {
			t.Errorf("%s: %d jobs, %v", name, len(list), err)
		}
	}
}
