package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// In a grid of a, b and c, where a knows b alone, b proposes c to a. Accepted at both, they are members of each other; c is
// proposed no more. A rule that takes what is proposed finds a member by itself, and loses it when the rule goes: live.
func TestOffersAreAccepted(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b, c := newSite(t, dir, "a", cluster.Options{}), newSite(t, dir, "b", cluster.Options{}), newSite(t, dir, "c", cluster.Options{})
	sharing(t, a, b, c)
	start(t, a, b, c)
	know(t, line(a, b), line(b, a), line(c, b), line(b, c))
	must(t, a.Sees(t.Context(), patience, "b"))
	must(t, c.Sees(t.Context(), patience, "b"))

	eventually(t, "b proposes c to a", func() bool {
		r := a.Admin(t.Context(), "neighbour", "offers", "--config", a.Config())
		return r.Code == 0 && strings.Contains(r.Stdout, "b proposes c (")
	})
	if r := a.Admin(t.Context(), "neighbour", "accept", "--config", a.Config(), "nobody"); r.Code == 0 || !strings.Contains(r.Stderr, "nobody") {
		t.Errorf("accepting who is not proposed: %d, %q", r.Code, r.Stderr)
	}
	if r := a.Admin(t.Context(), "neighbour", "accept", "--config", a.Config(), "c"); r.Code != 0 {
		t.Fatalf("accept: %s", r.Stderr)
	}
	if r := a.Admin(t.Context(), "neighbour", "offers", "--config", a.Config()); r.Code != 0 || strings.Contains(r.Stdout, "proposes c") {
		t.Errorf("who was accepted is still proposed: %s%s", r.Stdout, r.Stderr)
	}

	file := filepath.Join(filepath.Dir(c.Config()), "neighbours.yaml")
	before, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(before, "topology: {rule: full, accept: true}\n"...), 0o600))
	must(t, c.Sees(t.Context(), patience, "a"))
	must(t, a.Sees(t.Context(), patience, "c"))
	must(t, os.WriteFile(file, before, 0o600))
	eventually(t, "without the rule c has b alone", func() bool {
		r := c.Client(t.Context(), "sites")
		return r.Code == 0 && !strings.Contains(r.Stdout, " a ") && strings.Contains(r.Stdout, " b ")
	})
}
