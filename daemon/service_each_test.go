package daemon

import (
	"errors"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// One job of several that makes no sense answers for itself: the sites are asked about the others, and each answer is at its place.
func TestOneWrongJobOfSeveral(t *testing.T) {
	t.Parallel()
	list := []grid.Job{{Name: "first"}, {Name: "wrong", Inputs: grid.Manifest{{Path: "../out"}}}, {Name: "last"}}
	jobs, wrong, err := (service{&site{}}).jobsOf(api.Identity{Name: "bob"}, list)
	if err != nil || len(jobs) != 2 || jobs[0].Name != "first" || jobs[1].Name != "last" || !errors.Is(wrong[1], grid.ErrInvalid) {
		t.Fatalf("%v, %v, %v", jobs, wrong, err)
	}
	got := answersOf(wrong, []grid.Decision{{Chosen: "a"}, {Chosen: "b"}}, []sized{{name: "a"}, {name: "b"}})
	if len(got) != 3 || got[0].Chosen != "a" || got[2].Chosen != "b" || len(got[1].Candidates) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, row := range got[1].Candidates {
		if row.Refusal == nil || row.Refusal.MayPass() {
			t.Errorf("%+v", row)
		}
	}
}
