package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
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
	if port := portOf(list[0].Text); port < grid.DefaultPorts.First || port > grid.DefaultPorts.Last {
		t.Errorf("the port that is told is not of those that the site offers: %+v", list[0])
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

// portOf is the port in "reached HOST PORT"; 0 if there is none.
func portOf(text string) int {
	words := strings.Fields(text)
	port, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return 0
	}
	return port
}

// A job listens for as long as the other may wait for its start. Where it has ended before, nothing is said of the way.
func TestDoctorFindsNobodyListening(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 2}), newSite(t, dir, "beta", cluster.Options{Nodes: 1, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 2, "beta": 2})
	begun, goOn := filepath.Join(dir, "begun"), filepath.Join(dir, "on")
	work{script: "touch " + begun + "; " + until(goOn), cpus: 2, terms: "<gb:Sites><gb:Only>beta</gb:Only></gb:Sites>"}.submit(t, b, dir, "full")
	starts(t, begun)
	var list []daemon.Finding
	var code int
	var doctor sync.WaitGroup
	doctor.Go(func() { list, code = examined(t, a, "beta", "--wait", "1h") })
	var listener api.Status
	eventually(t, "one job listens and the other waits", func() bool {
		jobs := told[[]api.Status](t, a, "list")
		i := slices.IndexFunc(jobs, func(s api.Status) bool { return s.State == "RUNNING" })
		if i >= 0 {
			listener = jobs[i]
		}
		return i >= 0 && len(jobs) == 2
	})
	if listener = status(t, a, string(listener.ID)); listener.WalltimeS <= 3600 {
		t.Errorf("where the other may wait for an hour, it may listen for %v s", listener.WalltimeS)
	}
	client(t, a, "cancel", string(listener.ID))
	eventually(t, "it ends", func() bool { return status(t, a, string(listener.ID)).Ended != 0 })
	touch(t, goOn)
	doctor.Wait()
	if code != 0 || len(list) != 1 || list[0].Verdict != daemon.Untried || !strings.Contains(list[0].Text, string(listener.ID)) {
		t.Errorf("it ends with %d and says %+v", code, list)
	}
}

// examined are the findings of the doctor of a site about the way to another, and its exit code.
func examined(t *testing.T, s site, other string, more ...string) (list []daemon.Finding, code int) {
	t.Helper()
	r := s.Admin(t.Context(), append([]string{"doctor", "--config", s.Config(), "--reach", other, "--json"}, more...)...)
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		t.Errorf("the doctor says %s%s: %v", r.Stdout, r.Stderr, err)
	}
	return list, r.Code
}
