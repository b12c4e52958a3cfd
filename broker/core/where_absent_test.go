package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// A site that is not here is judged by what it last told: what is larger than all of it, it will not run when it is back.
func TestWhereAbsent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		told  int // processes of the dead site; 0 is that it has told nothing
		cores int
		never bool
	}{
		"larger than all of it":      {2, 4, true},
		"it has so many":             {4, 4, false},
		"nothing is known of it yet": {0, 4, false},
	} {
		for _, all := range []bool{false, true} {
			c, e, shot := wherever(test.cores)
			if test.told > 0 {
				c.Step(1000, PeerSite{Peer: "b", Site: grid.Site{Name: "b", Processes: test.told, Speed: 1}})
			}
			c.Step(1000, PeerChanged{Peer: "b", Liveness: grid.Dead})
			e.All = all
			effects := c.Step(1000, e)
			effects = append(effects, c.Step(1000, Looked{Snapshot: shot})...)
			d := decided(replied(c, effects, map[grid.PeerID]grid.Estimate{"a": never()}))
			if d == nil || Never(*d) != test.never {
				t.Errorf("%s, of all %t: %+v", name, all, d)
			} else if test.never && !strings.Contains(Reasons(*d), "b: "+tooSmallWhenSeen+" (asked 4, available 2)") {
				t.Errorf("%s: %s", name, Reasons(*d))
			}
		}
	}
}
