package daemon

import (
	"strings"
	"testing"

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
