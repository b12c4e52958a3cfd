package main

import (
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// What is known of a site that is not alive stands in place of its state.
func TestSiteContact(t *testing.T) {
	t.Parallel()
	for contact, want := range map[grid.Contact]string{
		grid.Met: "dead", grid.NeverHeard: "never heard",
		grid.Refused: "refused: does it list you?", grid.OtherKey: "another key answers",
	} {
		var b strings.Builder
		if err := printSites(&b, []api.Site{{Name: "b", State: "dead", Contact: contact.String()}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || contact != grid.Met && strings.Contains(b.String(), "dead") {
			t.Errorf("%q is shown as\n%s", contact, &b)
		}
	}
}

// A site beyond the neighbours that has not renewed its record is shown as silent.
func TestFarSite(t *testing.T) {
	t.Parallel()
	for age, want := range map[float64]string{30: "far, 30s ago", 600: "far, 10m0s ago", 1191: "far, silent for 19m51s"} {
		if got := stateOf(api.Site{Far: true, AgeS: &age}); got != want {
			t.Errorf("a word of %v s ago is shown as %q", age, got)
		}
	}
}
