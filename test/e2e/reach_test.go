package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"gbroker/daemon"
	"gbroker/test/cluster"
)

// The doctor tells whether the nodes of two sites reach each other, by jobs that meet, and leaves none of them; what the
// configuration declares is held against that.
func TestDoctorTriesReach(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 2}), newSite(t, dir, "beta", cluster.Options{Nodes: 1, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 2, "beta": 2})
	list, code := examined(t, a, "beta")
	ways := map[string]int{}
	for _, f := range list {
		if f.Verdict != daemon.Fine {
			t.Errorf("the doctor says %+v", f)
		}
		ways[f.Name]++
	}
	if code != 0 || ways["from beta to alpha"] != 2 || ways["from alpha to beta"] != 1 || !strings.Contains(list[len(list)-1].Text, "write reach: [beta]") {
		t.Errorf("it ends with %d and says %+v", code, list)
	}
	if list, code := examined(t, a, "gamma"); code != 0 || len(list) != 1 || list[0].Verdict != daemon.Untried || !strings.Contains(list[0].Text, "gamma") {
		t.Errorf("of a site that there is not it ends with %d and says %+v", code, list)
	}
	if jobs := told[[]map[string]any](t, a, "list"); len(jobs) != 0 {
		t.Errorf("it leaves %v", jobs)
	}
}

// examined are the findings of the doctor of a site about the way to another, and its exit code.
func examined(t *testing.T, s site, other string) (list []daemon.Finding, code int) {
	t.Helper()
	r := s.Admin(t.Context(), "doctor", "--config", s.Config(), "--reach", other, "--json")
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		t.Fatalf("the doctor says %s%s: %v", r.Stdout, r.Stderr, err)
	}
	return list, r.Code
}
