package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A graph has the degree that it is to have, is connected, and who knows another is known by it.
func TestTopologies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind      string
		n, degree int // -1: not all the same
	}{
		{"full", 7, 6}, {"full", 1, 0}, {"ring", 7, 2}, {"ring", 2, 1}, {"grid", 9, -1}, {"grid", 7, -1},
		{"random", 14, 2}, {"random", 14, 4}, {"random", 14, 13}, {"random", 10, 3}, {"random", 1000, 2}, {"random", 1000, 8},
	} {
		seed := rand.Uint64()
		top := topology{Kind: c.kind, Random: c.degree}
		g, err := top.members(make([]string, c.n), stream(seed, 1))
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%s of %d with %d, seed %d", c.kind, c.n, c.degree, seed)
		if !connected(g) {
			t.Errorf("%s is not connected", what)
		}
		for i, all := range g {
			if c.degree >= 0 && len(all) != c.degree || len(all) > 4 && c.kind == "grid" {
				t.Errorf("%s: site %d has %d neighbours", what, i, len(all))
			}
			for _, j := range all {
				if j == i || !slices.Contains(g[j], i) {
					t.Errorf("%s: %d knows %d, which does not know it", what, i, j)
				}
			}
		}
	}
	top := topology{Kind: "members", Members: map[string][]string{"a": {"c"}}}
	g, err := top.members([]string{"a", "b", "c"}, stream(1, 1))
	if err != nil || len(g[0]) != 1 || g[0][0] != 2 || len(g[1]) != 0 || len(g[2]) != 1 {
		t.Errorf("explicit members: %v, %v", g, err)
	}
}

// Chance decides on the graph: two seeds make two.
func TestGraphsDiffer(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	one, err := regular(50, 4, stream(seed, 1))
	other, err2 := regular(50, 4, stream(seed+1, 1))
	if err != nil || err2 != nil || slices.EqualFunc(one, other, slices.Equal) {
		t.Errorf("seeds %d and the next made the same graph (%v, %v)", seed, err, err2)
	}
}
