package core

import (
	"maps"
	"slices"
	"testing"

	"gbroker/grid"
)

// What is believed of a way before it is measured is never more than its limit.
func TestUnmeasuredRateKeepsToTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, assumed, want int64 }{
		{0, 0, grid.DefaultBandwidth},
		{0, 20e6, 20e6},
		{1e6, 0, 1e6},
		{1e6, 20e6, 1e6},
		{50e6, 20e6, 20e6},
	} {
		core := New(Config{Self: "i"}, []grid.Member{{Name: "j", Peer: "j", Send: true, RateLimit: c.limit, DefaultBandwidth: c.assumed}}, nil)
		got, measured, _ := core.search.delivery(core.members["j"], 8<<20)
		if got != float64(c.want) || measured {
			t.Errorf("limit %d, default %d: %v is believed (measured: %v), want %d", c.limit, c.assumed, got, measured, c.want)
		}
	}
}

// The list of members that is kept is that of the map, sorted, also where a line of the file names one twice.
func TestNeighboursAreTheMembersInOrder(t *testing.T) {
	t.Parallel()
	k := newKernel(Config{Self: "a"}, nil)
	for _, members := range [][]grid.Member{nil, {{Peer: "d"}, {Peer: "b", Send: true}}, {{Peer: "c"}, {Peer: "b"}, {Peer: "c", Send: true}}, nil} {
		k.setMembers(members)
		if want := slices.Sorted(maps.Keys(k.members)); !slices.Equal(k.neighbours(), want) {
			t.Errorf("%v are told as the neighbours, and %v are", k.neighbours(), want)
		}
	}
}
