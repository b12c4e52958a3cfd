package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job is offered back to its home, which fetches what it needs from elsewhere; meanwhile who offers it is forgotten, or the job ends. That the files are
// there then makes nothing PREPARED.
func TestFilesThatComeWhenTheOfferIsOver(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		meanwhile Event
		role      grid.Role
	}{
		"nothing comes between":  {Tick{}, grid.Prepared},
		"its owner is forgotten": {Forget{Site: her, Fenced: true, By: "root"}, grid.Owning},
		"it was lost there":      {Forget{Site: her, By: "root"}, grid.Watching},
	} {
		j := jobOf(me, "a", "1")
		j.Sources = []grid.Source{{Path: "x", URI: "https://h/x"}}
		chain := []grid.Certificate{certificate(j, me, 1, her)}
		c := signed(grid.Record{Job: j, State: grid.Assigned, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}, Tenure: grid.Tenure{
			Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: chain}})
		back := wire.Offer{
			Handoff: wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, To: me, Digest: wire.JobDigest(j)},
			Job:     j.Abroad(), Wait: grid.Hour, Certificates: chain,
		}
		c.Step(c.now+1, Message{her, back})
		if f, fetches := only[Fetch](c.Step(c.now+1, shot(c.now+1))); !fetches || f.With == nil {
			t.Fatalf("%s: its files are not fetched", name)
		}
		c.Step(c.now+1, k.meanwhile)
		c.Step(c.now+1, Fetched{Job: j.ID, Epoch: back.Handoff.Epoch, Set: InputFiles})
		if r := c.jobs[j.ID].rec; c.failed != nil || r.Role != k.role || len(c.accepted) > 0 {
			t.Errorf("%s: it is %v at %v of %v, accepted are %d: %v", name, r.State, r.Role, r.Epoch, len(c.accepted), c.failed)
		}
	}
}
