package main

import (
	"bytes"
	"strings"
	"testing"

	"gbroker/api"
)

// The cancel of a workflow that had ended says so, and not that it was cancelled.
func TestCancelledFlow(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]api.FlowStatus{
		"f: had ended already;": {ID: "f", Ended: 1},
		"f: cancelled;":         {ID: "f", Cancelled: true},
		"f: cancelled; ":        {ID: "f", Cancelled: true, Ended: 1},
	} {
		if got := cancelledFlow(&s); !strings.HasPrefix(got, want) {
			t.Errorf("%+v is told as %q, not %q", s, got, want)
		}
	}
}

// A workflow that was cancelled is shown as that, alone and among others.
func TestCancelledFlowIsShown(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]api.FlowStatus{
		"ended, cancelled":   {State: "ended", Cancelled: true},
		"running, cancelled": {State: "running", Cancelled: true},
	} {
		var alone, among bytes.Buffer
		if err := printFlow(&alone, &s); err != nil || !strings.Contains(alone.String(), "state     "+want+"\n") {
			t.Errorf("%s, %v", alone.String(), err)
		}
		if err := printFlows(&among, []api.FlowStatus{s}); err != nil || !strings.Contains(among.String(), want) {
			t.Errorf("%s, %v", among.String(), err)
		}
	}
}
