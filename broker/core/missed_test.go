package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// Who was no neighbour when all were asked about a lost branch, or was forgotten, and claims a job that this journal does not know, is asked for it: it
// may have got it from that branch. What it got later its home has ended and dropped.
func TestWhoWasNotHeardMayHaveMore(t *testing.T) {
	t.Parallel()
	all := []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}
	for name, k := range map[string]struct {
		words          []Event
		later, restart bool
		asked          bool
	}{
		"it was heard":                        {nil, false, false, false},
		"nothing was lost":                    {nil, false, false, false},
		"it was no neighbour":                 {[]Event{MembersChanged{all[1:]}}, false, false, true},
		"it was forgotten":                    {[]Event{Forget{Token: 1, Site: her}}, false, false, true},
		"it was no neighbour before":          {nil, false, false, true},
		"it was no neighbour, and a start":    {[]Event{MembersChanged{all[1:]}}, false, true, true},
		"it was no neighbour, and got it now": {[]Event{MembersChanged{all[1:]}}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := signed()
			c.stamp = 7
			if name == "it was no neighbour before" {
				c.Step(c.now+1, MembersChanged{all[1:]})
			}
			if name != "nothing was lost" {
				c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
			}
			for _, w := range k.words {
				c.Step(c.now+1, w)
			}
			if heardAll(c); c.recovery.recounting() {
				t.Fatal("it still asks")
			}
			stamp := c.stamped()
			if k.restart {
				cfg := signer(me, "a")
				cfg.State = c.state
				c = New(cfg, all, nil)
				begin(c)
			}
			c.Step(c.now+1, MembersChanged{all})
			for _, p := range []grid.PeerID{her, him, it} {
				c.Step(c.now+1, PeerChanged{p, grid.Alive})
				c.Step(c.now+1, Message{p, wire.Seen{}})
			}
			at := grid.Epoch{Term: 1, Hop: stamp}
			if k.later {
				at.Hop++
			}
			effects := sentTo(c.Step(c.now+1, Message{her, wire.Report{Job: jobOf(me, "a", "7").ID, Epoch: at, Number: 3, State: grid.StageOut, End: grid.Completed}}), her)
			if len(effects) != 1 {
				t.Fatalf("it is told %v", effects)
			}
			if _, asked := effects[0].(wire.Recall); asked != k.asked {
				t.Errorf("it is told %#v", effects[0])
			}
		})
	}
}
