package flows

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

type rates = map[grid.PeerID]float64

// A plan knows how fast two other sites are to each other where both tell of it. What one of them alone tells is none, nor what a site of before
// does not.
func TestWaysBetweenOtherSites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		links map[grid.PeerID]rates
		want  map[string]float64 // from near
	}{
		{"both", map[grid.PeerID]rates{"near": {"far": 1e8}, "far": {"near": 2e8}}, map[string]float64{"far": 1e8}},
		{"one", map[grid.PeerID]rates{"near": {"far": 1e8}, "far": {}}, map[string]float64{}},
		{"before", map[grid.PeerID]rates{"near": {"far": 1e8}}, map[string]float64{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.sites, b.links = []string{"near", "far"}, c.links
			b.rates, b.waits = map[string]float64{"near": 1e8, "far": 1e5}, map[string]time.Duration{"home": 0, "near": 0, "far": 0}
			k, stop := keeper(t, t.TempDir(), b)
			defer stop()
			for range 3 { // an answer, and that there is none, is believed for a while
				places, err := k.PlacesFlow(t.Context(), bob, api.FlowNeeds{})
				if err != nil || len(places) != 3 || !maps.Equal(places[1].Ways, c.want) || places[0].Ways != nil {
					t.Fatalf("%s: %+v (%v)", c.name, places, err)
				}
			}
			if b.heard["near"] != 1 || b.heard["far"] != 1 {
				t.Errorf("%s: asked %v", c.name, b.heard)
			}
			time.Sleep(waysLife) //house:allow sleep: virtual time
			if _, err := k.PlacesFlow(t.Context(), bob, api.FlowNeeds{}); err != nil || b.heard["near"] != 2 {
				t.Errorf("%s: asked %v after a minute (%v)", c.name, b.heard, err)
			}
		})
	}
}
