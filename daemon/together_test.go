package daemon

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// declared is a site that says of others, as it calls them, that their nodes and its own reach each other.
func declared(name grid.SiteName, processes int, reach ...grid.SiteName) sized {
	return sized{name, processes, grid.PeerID("peer-" + name), grid.Site{Reach: reach}}
}

// Who a declared site is counts, and not what it is called where that is declared.
func TestReachIsToldByPeers(t *testing.T) {
	t.Parallel()
	members := []grid.Member{{Name: "b", Peer: "peer-b"}, {Name: "c", Peer: "peer-c"}}
	own := declared("a", 4, "b", "unknown")
	own.facts.ReachPeers = reachPeers("peer-a", own.facts.Reach, members)
	if !slices.Equal(own.facts.ReachPeers, []grid.PeerID{"peer-a", "peer-b"}) || reachPeers("peer-a", nil, members) != nil {
		t.Fatalf("it tells %v", own.facts.ReachPeers)
	}
	there := declared("b", 8, "c") // it calls a so
	there.facts.ReachPeers = reachPeers("peer-b", there.facts.Reach, []grid.Member{{Name: "c", Peer: "peer-a"}, {Name: "a", Peer: "peer-c"}})
	j := grid.Job{
		Demand:       grid.Demand{Chunks: []grid.Chunk{{Count: 12, Processes: 1, Cores: 1}}},
		Coallocation: &grid.Coallocation{Sites: 2, PerSite: 1, Reach: true},
	}
	if got := tooWide(&j, []sized{own, there}); got != nil {
		t.Error("they declare each other:", got)
	}
	if got := tooWide(&j, []sized{declared("c", 4, "b"), there}); got == nil || !strings.Contains(got.Error(), "no more than 8 are together") {
		t.Errorf("another site of that name is taken for it: %v", got)
	}
	here := &site{self: "peer-a", facts: grid.Site{Name: "a"}, members: members}
	if got := here.reachNames("peer-b", there.facts); !slices.Equal(got, []grid.SiteName{"a"}) {
		t.Errorf("it is shown to reach %v", got)
	}
	if got := here.reachNames("peer-b", grid.Site{Reach: []grid.SiteName{"x"}}); !slices.Equal(got, []grid.SiteName{"x"}) {
		t.Errorf("an older broker is shown to reach %v", got)
	}
}

// A job over several sites is refused at once only where all that it may have are known, and too small together.
func TestTooWideForAllSites(t *testing.T) {
	t.Parallel()
	known := []sized{declared("a", 4, "b"), declared("b", 8, "a", "c"), declared("c", 16)}
	for _, x := range []struct {
		processes, sites int
		choice           grid.Choice
		more             []sized
		reach            bool
		says             string
		least            int
	}{
		{processes: 28, sites: 3},
		{processes: 20, sites: 2, least: 4},
		{processes: 20, sites: 3, least: 8},
		{processes: 20, sites: 2, least: 15, says: "15 processes or more at each of its sites: the largest site has 16, and those that can have so many each, no more than 1 of them, have 16 together"},
		{processes: 27, sites: 3, least: 5, says: "no more than 3 of them, have 24 together"},
		{processes: 16, sites: 2, least: 17},
		{processes: 24, sites: 2},
		{processes: 25, sites: 2, says: "the 2 largest sites that it may have (at most 2) have 24 together"},
		{processes: 29, sites: 5, says: "it asks for 29 processors, and the 3 largest"},
		{processes: 29, sites: 5, more: []sized{declared("d", 0)}},
		{processes: 29, sites: 5, more: []sized{declared("d", 1)}},
		{processes: 13, sites: 3, choice: grid.Choice{Not: []grid.SiteName{"c"}}, says: "have 12 together"},
		{processes: 13, sites: 3, choice: grid.Choice{Only: []grid.SiteName{"b", "a"}}, says: "have 12 together"},
		{processes: 13, sites: 3, choice: grid.Choice{Only: []grid.SiteName{"b", "a"}}, more: []sized{declared("d", 100)}, says: "have 12 together"},
		{processes: 29, sites: 5, choice: grid.Choice{Not: []grid.SiteName{"d"}}, more: []sized{declared("d", 0)}, says: "have 28 together"},
		{processes: 16, sites: 3, reach: true},
		{processes: 17, sites: 3, reach: true, says: "of the sites whose nodes do (batch.reach, at each of them) no more than 16 are together, at c"},
		{processes: 19, sites: 3, reach: true, more: []sized{declared("d", 2, "b", "e"), declared("e", 17, "d")}},
		{processes: 20, sites: 3, reach: true, more: []sized{declared("d", 2, "b", "e"), declared("e", 17, "d")}, says: "no more than 19 are together, at e and d"},
		{processes: 29, sites: 3, reach: true, says: "have 28 together"},
	} {
		j := grid.Job{
			Demand: grid.Demand{Chunks: []grid.Chunk{{Count: x.processes, Processes: 1, Cores: 1}}}, Sites: x.choice,
			Coallocation: &grid.Coallocation{Sites: x.sites, PerSite: max(1, x.least), Reach: x.reach},
		}
		if got := tooWide(&j, append(known[:3:3], x.more...)); (got == nil) != (x.says == "") || got != nil && !strings.Contains(got.Error(), x.says) {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// Where the parts of a program are to reach each other only what can be one world over several sites is let in.
func TestWorldsApart(t *testing.T) {
	t.Parallel()
	for kind, apart := range map[string]bool{"": false, "MPI": false, "MPICH": false, "MPICH2": false, "OpenMPI": false, "Open-MPI": false, "IntelMPI": true, "own": true} {
		for _, reach := range []bool{false, true} {
			j := grid.Job{Program: grid.Program{Parallel: kind}, Coallocation: &grid.Coallocation{Sites: 2, PerSite: 1, Reach: reach}}
			if err := worldsApart(&j); (err != nil) != (apart && reach) || err != nil && !strings.Contains(err.Error(), kind+" starts no program over several sites") {
				t.Errorf("%q, reach %v: %v", kind, reach, err)
			}
		}
	}
}
