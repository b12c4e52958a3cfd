package main

import (
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// Where every refusal is for ever, nobody is told to come later.
func TestNobody(t *testing.T) {
	t.Parallel()
	var never, now api.Prospect
	never.Refusal, now.Refusal = &api.Refusal{Kind: grid.Permanent.String()}, &api.Refusal{Kind: grid.Temporary.String()}
	for want, sites := range map[string][]api.Prospect{"no site can run it": {never, never}, "no site can run it now": {never, now}} {
		if got := nobody(&api.Prospects{Sites: sites}).Error(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Several sites would be chosen where there is a start, whatever is said beside.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choice *api.SlotChoice
		want   bool
	}{
		{nil, false},
		{&api.SlotChoice{}, false},
		{&api.SlotChoice{Why: "no slots"}, false},
		{&api.SlotChoice{End: 9, Why: "one site alone ends it as soon"}, false},
		{&api.SlotChoice{Start: 5, End: 9}, true},
		{&api.SlotChoice{Start: 5, End: 9, Why: "a site told nothing"}, true},
	} {
		if got := together(c.choice); got != c.want {
			t.Errorf("%+v: together %t", c.choice, got)
		}
	}
}
