package main

import (
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// Where every refusal is for ever, nobody is told to come later.
func TestNobody(t *testing.T) {
	t.Parallel()
	var never, now api.Prospect
	never.Refusal, now.Refusal = &api.Refusal{Kind: grid.Permanent.String()}, &api.Refusal{Kind: grid.Temporary.String()}
	for want, sites := range map[string][]api.Prospect{"no site can run it": {never, never}, "no site can run it now": {never, now}} {
		if got := nobody(&api.Prospects{Sites: sites}).Error(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
