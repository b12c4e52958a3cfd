package main

import (
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// The book tells what is reserved: nodes, or so much of the uplink.
func TestTheBookTellsWhatIsReserved(t *testing.T) {
	t.Parallel()
	var w strings.Builder
	nodes, delivery := api.HeldReservation{ID: "r1", State: "BOUND", Nodes: []grid.NodeName{"n1", "n2"}}, api.HeldReservation{ID: "r2", Bandwidth: 8 << 20}
	if err := printBook(&w, []api.HeldReservation{nodes, delivery}); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"  n1,n2", "  8.0 MiB/s", "  BOUND  19"} {
		if !strings.Contains(w.String(), says) {
			t.Errorf("it lacks %q:\n%s", says, w.String())
		}
	}
}
