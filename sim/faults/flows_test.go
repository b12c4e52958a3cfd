package faults

import (
	"testing"
	"time"

	"gbroker/flow/enact"
)

// Workflows are worth their time: tasks are done, also after a retry, fail and are cancelled, and their homes crash around the writes of how far they
// are.
func TestWorkflowsAreFull(t *testing.T) {
	t.Parallel()
	seed, n := uint64(time.Now().UnixMicro()), some(12)
	states, crashes, retried := map[string]int{}, 0, 0
	for k := range uint64(n) {
		r, w := run(usual(seed+k, profile(t, "flow")))
		if r.Violation != nil {
			t.Fatalf("seed %d: %+v", seed+k, *r.Violation)
		}
		crashes += r.Coverage["before save of a workflow"] + r.Coverage["after save of a workflow"]
		for _, e := range w.flows {
			for _, x := range e.mem.tasks {
				if states[x.State]++; x.State == enact.Done && x.Attempt > 1 {
					retried++
				}
			}
		}
	}
	t.Logf("%d histories from seed %d: tasks %v, %d of them done after a retry; %d crashes around a write", n, seed, states, retried, crashes)
	if states[enact.Done] < 8*n || states[enact.Failed] < n || states[enact.Cancelled] < n || retried < n/10 || crashes < n {
		t.Error("that is too little")
	}
}
