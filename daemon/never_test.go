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
		if err := never(&j, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	const several = "let it have several sites"
	if err := never(&grid.Job{}, grid.Decision{Candidates: rows}); strings.Contains(err.Error(), several) {
		t.Error("no site is too small for all of its pieces alone:", err)
	}
	rows[0].Refusal.TooWide = true
	if err := never(&grid.Job{}, grid.Decision{Candidates: rows}); !strings.Contains(err.Error(), several) {
		t.Error("it is not told of several sites:", err)
	}
	rows[1].Refusal = nil
	if err := never(&grid.Job{}, grid.Decision{Candidates: rows}); err != nil {
		t.Error("one may run it:", err)
	}
}
