package jsdl

import (
	"testing"
)

// A document may set the variables by which a job asks something of a pool of desktops, and none of the broker's others.
func TestVariablesForAPool(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"GBROKER_CHECKPOINT": true, "GBROKER_NETWORK": true, "GBROKER_TWICE": true, "GBROKER_HOSTFILE": false, "GBROKER_NETWORKS": false} {
		d, err := Parse("x.jsdl", []byte(running("<p:Environment name='"+name+"'>a</p:Environment>")))
		if (err == nil) != allowed {
			t.Errorf("%s: %v", name, err)
		}
		if allowed && (len(d.Job.Program.Environment) != 1 || d.Job.Program.Environment[0].Name != name) {
			t.Errorf("%s: %+v", name, d.Job.Program.Environment)
		}
	}
}
