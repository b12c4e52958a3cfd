package main

import (
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// A broker that has no word of a search for another's job does not say that there was none.
func TestNothingHeardOfIsNotNothingChosen(t *testing.T) {
	t.Parallel()
	e := api.Explanation{ID: "north.00000000000000000000000001"}
	for here, want := range map[grid.SiteName]string{"north": "no place was chosen yet", "south": "its home, north, chooses its place"} {
		var b strings.Builder
		if err := printExplanation(&b, e, here); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("at %s: %q, %v", here, b.String(), err)
		}
	}
}
