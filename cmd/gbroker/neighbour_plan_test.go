package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/overlay/topology"
)

// The plan goes by the largest messages that were measured, and tells what the daemon has chosen.
func TestPlanTellsWhatTheDaemonKnows(t *testing.T) {
	t.Parallel()
	rtt, rate, assumed, age := 0.01, 5e6, 1e7, 90.0
	now := map[grid.PeerID]api.Site{
		"p": {Peer: "p", Bandwidth: []api.Rate{{SizeBytes: 1, BytesPerS: &rate, Measured: true}, {SizeBytes: 2, BytesPerS: &assumed}}},
		"q": {Peer: "q", RTTS: &rtt, NotChosen: true, AgeS: &age},
	}
	known := measured(now)
	if known["p"].Bandwidth != rate || known["q"].RTT != rtt {
		t.Errorf("measured: %+v", known)
	}
	plan := []topology.Choice{{Known: topology.Known{Peer: "q"}, Chosen: true, Why: "near: 10 ms"}, {Known: topology.Known{Peer: "p"}, Chosen: true, Why: "listed"}}
	tellAges(plan, now)
	asChosen(plan, now)
	if plan[0].Chosen || !strings.HasPrefix(plan[0].Why, "near: 10 ms, 1m30s ago; the daemon chose before that") || !plan[1].Chosen || plan[1].Why != "listed" {
		t.Errorf("the plan is %+v", plan)
	}
}

// The configuration is named by a flag: who forgets it is told so. One that has become wrong is an alarm.
func TestCheckNamesItsFlag(t *testing.T) {
	t.Parallel()
	if _, errs, code := gbroker(t, "check", "x/gbroker.yaml"); code != 2 || !strings.Contains(errs, "gbroker check --config x/gbroker.yaml") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// Who the rule has chosen is shown by status, by list and as JSON, with a daemon and without.
func TestWhoIsChosenIsShown(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "site") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	dir := filepath.Join(folder, "a")
	if out, errs, code := gbroker(t, "init", "--dir", dir, "--site", "a", "--nodes", "1", "--cores", "1"); code != 0 {
		t.Fatal(out, errs)
	}
	file := filepath.Join(dir, "gbroker.yaml")
	text := "topology: {rule: full, tags: [near]}\nmembers:\n"
	for name, tag := range map[string]string{"b": "near", "c": "far"} {
		key, err := overlay.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		text += "  - {name: " + name + ", peer: " + string(overlay.PeerIDOf(key)) + ", tags: [" + tag + "]}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "neighbours.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	row := func(text, name string) string {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, name+" ") {
				return line
			}
		}
		return ""
	}
	listed := func() {
		t.Helper()
		text, errs, code := gbroker(t, "neighbour", "list", "--config", file)
		if code != 0 || !strings.Contains(text, "CHOSEN") || !strings.Contains(row(text, "b"), " yes ") || !strings.Contains(strings.Replace(row(text, "c"), "yes", "", 1), " no ") {
			t.Errorf("code %d, %s: the list is\n%s", code, errs, text)
		}
	}
	listed()
	serve(t, file)
	listed()
	if text, _, _ := gbroker(t, "status", "--config", file); row(text, "b") == "" || strings.Contains(row(text, "b"), "not chosen") || !strings.Contains(row(text, "c"), "not chosen") {
		t.Errorf("the status is\n%s", text)
	}
	var views []memberView
	if text, _, _ := gbroker(t, "neighbour", "list", "--json", "--config", file); json.Unmarshal([]byte(text), &views) != nil || len(views) != 2 || views[0].Chosen != (views[0].Name == "b") || views[1].Chosen != (views[1].Name == "b") {
		t.Errorf("as JSON: %s", text)
	}
}
