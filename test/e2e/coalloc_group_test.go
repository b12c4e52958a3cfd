package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/test/cluster"
)

// A job over two sites is one of a group beside an ordinary one: what there is to do with jobs is done with it, under
// the name that it has in the group.
func TestOneJobOverTwoSitesInAGroup(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 4})
	b := newSite(t, dir, "beta", cluster.Options{Nodes: 2, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	ledger := filepath.Join(dir, "ledger")
	sees(t, a, map[string]int{"alpha": 4, "beta": 4})
	wide := together(ledger, 8, 2)
	wide.output, wide.script = "said", "echo I am at $GBROKER_SITE; "+wide.script
	small := work{script: "echo small", output: "said"}
	group := strings.TrimSpace(client(t, a, "submit", small.write(t, dir, "small"), wide.write(t, dir, "wide")))
	whole := strings.TrimSuffix(group, ".all") + ".2"
	said := client(t, a, "logs", "-f", whole) // to its end
	for _, line := range []string{"alpha: I am at alpha\n", "beta: I am at beta\n"} {
		if strings.Count(said, line) != 1 {
			t.Errorf("its logs are %q", said)
		}
	}
	client(t, a, "wait", group)
	begunTogether(t, ledger, 8, "alpha", "beta")
	if x := told[api.Explanation](t, a, "explain", whole).Allocation; x == nil || len(x.Parts) != 2 || x.Begun == 0 {
		t.Errorf("explained is %+v", x)
	}
	if list := told[[]api.Status](t, a, "list", "--jobs"); len(list) != 2 {
		t.Errorf("the list has %+v", list)
	}
	out := filepath.Join(dir, "out")
	client(t, a, "output", whole, out)
	for _, s := range []string{"alpha", "beta"} {
		if text, err := os.ReadFile(filepath.Join(out, s, "said")); string(text) != fmt.Sprintf("I am at %s\n", s) {
			t.Errorf("from %s came %q, %v", s, text, err)
		}
	}
	// One that is cancelled with its group leaves no part and no reservation.
	group = strings.TrimSpace(client(t, a, "submit", small.write(t, dir, "small"), wide.write(t, dir, "wide")))
	eventually(t, "both sites hold a reservation", func() bool { return booked(t, a) == 1 && booked(t, b) == 1 })
	client(t, a, "cancel", group)
	eventually(t, "no reservation is left", func() bool { return booked(t, a) == 0 && booked(t, b) == 0 })
	if list, _ := beginnings(t, ledger); len(list) != 2 {
		t.Errorf("what was cancelled has begun: %v", list)
	}
}
