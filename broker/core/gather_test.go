package core

import (
	"fmt"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The word that all parts have arrived is for a part that is at its barrier, by its home and of its tenure; that all have
// begun is for one that runs, too.
func TestForWhomTheWordOfAGatheringIs(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 1}
	part := func(change func(*grid.Record)) grid.Record {
		j := jobOf(her, "b", "1")
		j.Part = &grid.Part{}
		r := grid.Record{
			Job: j, State: grid.Assigned, Submitted: 1, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
			Run: grid.Run{Attempt: 1, Local: "7", Queued: 5, Arrived: 10},
		}
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		change      func(*grid.Record)
		from        grid.PeerID
		at          grid.Epoch
		went, begun bool // what is heard of either word
	}{
		"at its barrier":         {func(*grid.Record) {}, her, at, true, true},
		"on its way there":       {func(r *grid.Record) { r.Arrived = 0 }, her, at, false, false},
		"it runs":                {func(r *grid.Record) { r.State, r.Started = grid.Running, 20 }, her, at, false, true},
		"it has ended":           {func(r *grid.Record) { r.State, r.Started = grid.Finished, 20 }, her, at, false, false},
		"by another":             {func(*grid.Record) {}, him, at, false, false},
		"of another tenure":      {func(*grid.Record) {}, her, grid.Epoch{Term: 1, Hop: 2}, false, false},
		"it is cancelled":        {func(r *grid.Record) { r.CancelRequested = true }, her, at, false, false},
		"it is no part":          {func(r *grid.Record) { r.Job.Part = nil }, her, at, false, false},
		"it is not this owner's": {func(r *grid.Record) { r.Role = grid.Prepared }, her, at, false, false},
	} {
		for _, begun := range []bool{false, true} {
			r := part(c.change)
			k := signed(r)
			heard := false
			for _, e := range k.Step(1_000_000, Message{c.from, wire.Gather{Job: r.Job.ID, Epoch: c.at, Begun: begun, Sites: []grid.Gathered{{Site: "b", Hosts: []string{"n:1"}}}}}) {
				if g, is := e.(Gather); is && g.Begun == begun && len(g.Sites) > 0 {
					heard = true
				}
			}
			if want := map[bool]bool{false: c.went, true: c.begun}[begun]; heard != want {
				t.Errorf("%s: begun %v: heard %v", name, begun, heard)
			}
		}
	}
}

// A home has so many questions for slots at most, of each job the last, and takes none from another's.
func TestQuestionsForSlotsAreBounded(t *testing.T) {
	t.Parallel()
	c := signed()
	ask := func(from grid.PeerID, n int, round uint64) {
		c.estimator.onSlots(from, wire.Slots{Of: grid.JobID(fmt.Sprintf("b.%d", n)), Round: round})
	}
	ask(him, 0, 1)
	for n := range maxSlotsAsked + 10 {
		ask(her, n, 1)
	}
	count := map[grid.PeerID]int{}
	for _, p := range c.estimator.slotsAsked {
		count[p.from]++
	}
	if count[her] != maxSlotsAsked || count[him] != 1 || c.estimator.slotsAsked[1].asks.Of != "b.10" {
		t.Errorf("%v wait, the first of the home that asks much is %s", count, c.estimator.slotsAsked[1].asks.Of)
	}
	ask(her, 20, 2)
	for _, p := range c.estimator.slotsAsked {
		if p.asks.Of == "b.20" && p.asks.Round != 2 {
			t.Error("what was asked of the job before is still to be answered")
		}
	}
}
