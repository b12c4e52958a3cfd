package main

import (
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
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
