package grid

import "testing"

// Both addresses of what a part says are checked: they stand in the environment of programs at other sites.
func TestAddressesOfAPartAreChecked(t *testing.T) {
	t.Parallel()
	good, bad := "n1:20001", "n1:20001\nPATH=/tmp"
	for _, c := range []struct {
		address, rendezvous string
		fine                bool
	}{{good, good, true}, {"", good, true}, {good, "", true}, {bad, good, false}, {good, bad, false}} {
		g := Gathered{Site: "here", Hosts: []string{"n1:2"}, Address: c.address, Rendezvous: c.rendezvous}
		if err := g.Check(); (err == nil) != c.fine {
			t.Errorf("%q and %q: %v", c.address, c.rendezvous, err)
		}
	}
}
