package topology

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

func sites(t *rapid.T) []Known {
	n := rapid.IntRange(1, 40).Draw(t, "sites")
	all := make([]Known, n)
	for i := range all {
		all[i] = Known{
			Name: grid.SiteName(fmt.Sprintf("s%d", i)), Peer: grid.PeerID(fmt.Sprintf("%x-%d", rapid.Uint16().Draw(t, "peer"), i)),
			Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"gpu", "big", "old"}), 0, 2).Draw(t, "tags"), Organisation: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "organisation"),
			RTT: rapid.SampledFrom([]float64{0, 0.01, 0.05, 0.2}).Draw(t, "rtt"), Bandwidth: rapid.SampledFrom([]float64{0, 1e6, 1e8}).Draw(t, "bandwidth"),
		}
	}
	return all
}

func (r Rule) of(self Known, all []Known) map[grid.PeerID]bool {
	chosen := map[grid.PeerID]bool{}
	for _, c := range r.Plan(self.Peer, all) {
		if c.Chosen {
			chosen[c.Peer] = true
		}
	}
	return chosen
}

// Each site but self is told of once, with a reason, in whatever order they come; limits, tags and organisations hold.
func TestPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := sites(t)
		r := Rule{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), AtMost: rapid.IntRange(0, 12).Draw(t, "at most")}
		if r.Kind == Ring || r.Kind == Random || r.Kind == Nearest {
			r.Degree = 2 * rapid.IntRange(0, 5).Draw(t, "half degree")
		}
		r.Bandwidth = r.Kind == Nearest && rapid.Bool().Draw(t, "bandwidth")
		if rapid.Bool().Draw(t, "tagged") {
			r.Tags = []string{"gpu"}
		}
		if rapid.Bool().Draw(t, "of an organisation") {
			r.Organisations = []string{"a"}
		}
		if rapid.Bool().Draw(t, "always") {
			r.Always = []grid.SiteName{"s0"}
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		self := all[len(all)-1]
		plan := r.Plan(self.Peer, all)
		if len(plan) != len(all)-1 {
			t.Fatalf("%d of %d sites are told of", len(plan), len(all)-1)
		}
		shuffled := slices.Clone(all)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := r.Plan(self.Peer, shuffled); !reflect.DeepEqual(plan, again) {
			t.Fatalf("in another order\n%v\nbecame\n%v", plan, again)
		}
		chosen := 0
		for _, c := range plan {
			always := slices.Contains(r.Always, c.Name)
			switch {
			case c.Why == "" || c.Peer == self.Peer:
				t.Fatalf("%+v", c)
			case always && !c.Chosen && r.AtMost != 0 && chosen < r.AtMost:
				t.Fatalf("%s is not chosen, though always: %s", c.Name, c.Why)
			case c.Chosen && !always && (len(r.Tags) > 0 && !slices.Contains(c.Tags, "gpu") || len(r.Organisations) > 0 && c.Organisation != "a"):
				t.Fatalf("%+v is chosen", c)
			}
			if c.Chosen {
				chosen++
			}
		}
		if r.AtMost > 0 && chosen > r.AtMost {
			t.Fatalf("%d are chosen", chosen)
		}
		measured := slices.DeleteFunc(slices.Clone(plan), func(c Choice) bool { return r.Bandwidth && c.Bandwidth == 0 || !r.Bandwidth && c.RTT == 0 })
		if r.Kind == Nearest && len(measured) == len(plan) && chosen > r.degree()+len(r.Always) {
			t.Fatalf("%d are the nearest %d", chosen, r.degree())
		}
	})
}

// Where all know the same sites both ends come to the same edge, and all are connected; degrees are as the rule says.
func TestGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := sites(t)
		r := Rule{Kind: rapid.SampledFrom([]Kind{Explicit, Full, Ring, Grid, Random}).Draw(t, "kind")}
		edges := map[grid.PeerID]map[grid.PeerID]bool{}
		for _, s := range all {
			edges[s.Peer] = r.of(s, all)
		}
		for a, list := range edges {
			for b := range list {
				if !edges[b][a] {
					t.Fatalf("%s: %s chooses %s and not the other way", r.Kind, a, b)
				}
			}
			n := len(all) - 1
			switch r.Kind {
			case Full, Explicit:
				if len(list) != n {
					t.Fatalf("%d neighbours of %d", len(list), n)
				}
			case Ring:
				if len(list) != min(2, n) {
					t.Fatalf("a ring with %d neighbours of %d", len(list), n)
				}
			case Grid:
				if len(list) > 4 {
					t.Fatalf("a grid with %d neighbours", len(list))
				}
			case Random:
				if len(list) < min(8, n) {
					t.Fatalf("%d random neighbours of %d", len(list), n)
				}
			}
		}
		reached := map[grid.PeerID]bool{}
		var visit func(grid.PeerID)
		visit = func(p grid.PeerID) {
			if !reached[p] {
				reached[p] = true
				for q := range edges[p] {
					visit(q)
				}
			}
		}
		visit(all[0].Peer)
		if len(reached) != len(all) {
			t.Fatalf("%s connects %d of %d", r.Kind, len(reached), len(all))
		}
	})
}

// The nearest by round trip and by bandwidth, the measured before the others.
func TestNearest(t *testing.T) {
	t.Parallel()
	all := []Known{
		{Name: "far", Peer: "1", RTT: 0.2, Bandwidth: 9e9}, {Name: "near", Peer: "2", RTT: 0.01, Bandwidth: 1e6},
		{Name: "unknown", Peer: "3"}, {Name: "middle", Peer: "4", RTT: 0.05, Bandwidth: 1e8}, {Name: "self", Peer: "5"},
	}
	for _, c := range []struct {
		rule Rule
		want []grid.SiteName
	}{
		{Rule{Kind: Nearest, Degree: 2}, []grid.SiteName{"near", "middle", "unknown"}},
		{Rule{Kind: Nearest, Degree: 2, Bandwidth: true}, []grid.SiteName{"far", "middle", "unknown"}},
		{Rule{Kind: Nearest, Degree: 4, AtMost: 1}, []grid.SiteName{"near"}},
		{Rule{Kind: Nearest, Degree: 2, Always: []grid.SiteName{"unknown"}}, []grid.SiteName{"unknown", "near", "middle"}},
	} {
		var got []grid.SiteName
		for _, k := range c.rule.Plan("5", all) {
			if k.Chosen {
				got = append(got, k.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.rule, got, c.want)
		}
	}
	for _, bad := range []Rule{{Kind: "star"}, {Kind: Ring, Degree: 3}, {Kind: Full, Degree: 3}, {Kind: Random, Bandwidth: true}, {AtMost: -1}, {Kind: Random, Degree: MaxDegree + 1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is no rule", bad)
		}
	}
}
