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
