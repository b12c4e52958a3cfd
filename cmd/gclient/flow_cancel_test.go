package main

import (
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
