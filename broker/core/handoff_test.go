package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// Who refuses says for how long it is not to be asked, within bounds; who was taken by what it told is asked at once.
func TestARefusalBlocksForAWhile(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		again grid.Tick
		told  bool
		want  func(block grid.Tick) grid.Tick
	}{
		"it says nothing of that": {0, false, func(b grid.Tick) grid.Tick { return b }},
		"soon":                    {1, false, func(grid.Tick) grid.Tick { return 1 }},
		"never, as it were":       {grid.Day * 1000, false, func(b grid.Tick) grid.Tick { return 10 * b }},
		"it had told another":     {grid.Day, true, func(grid.Tick) grid.Tick { return 0 }},
	} {
		c, j, handoff := offering(grid.Offering)
		j.chosen.Peer, j.chosen.Told = him, k.told
		c.members[him].foretold = foretold{at: 5}
		c.Step(c.now+1, Message{him, wire.Refuse{Handoff: handoff, Estimate: grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "busy", Again: k.again}}}})
		if got := j.blocked[him] - c.now; got != k.want(c.cfg.Block) || j.rec.Handoff.Phase != grid.NoHandoff {
			t.Errorf("%s: blocked for %d, want %d; phase %d", name, got, k.want(c.cfg.Block), j.rec.Handoff.Phase)
		}
		if j.asksAll != k.told || (c.members[him].foretold.at == 0) != k.told {
			t.Errorf("%s: all are asked: %t; what it told is forgotten: %t", name, j.asksAll, c.members[him].foretold.at == 0)
		}
	}
}

// How long a delivery took is learnt of what is large enough, and was fetched from here alone.
func TestDeliveriesAreLearnt(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		less   int64
		change func(*job)
		learns bool
	}{
		"large enough":      {0, func(*job) {}, true},
		"too small":         {1, func(*job) {}, false},
		"it was there":      {0, func(j *job) { j.pullBegan = 0 }, false},
		"of elsewhere, too": {0, func(j *job) { j.rec.Job.Sources = []grid.Source{{Path: "x", URI: "https://h/x"}} }, false},
	} {
		c, j, handoff := offering(grid.Offering)
		j.rec.Job.Inputs = grid.Manifest{{Path: "in", Size: worthLearning - sizeOf(&j.rec.Job) - k.less, Ranges: make([]grid.Hash, 1)}}
		j.pullBegan = c.now - 99
		k.change(j)
		j.digest, handoff.Digest = grid.Hash{}, wire.JobDigest(j.rec.Job)
		d, learns := only[Delivered](c.Step(c.now+1, Message{him, wire.Ready{Handoff: handoff}}))
		if learns != k.learns || learns && (d.Peer != him || d.Size != worthLearning || d.Took != 100) {
			t.Errorf("%s: learns %t, %+v", name, learns, d)
		}
	}
}

// A job whose end is wanted is not handed over.
func TestACancelledJobIsNotHandedOver(t *testing.T) {
	t.Parallel()
	c, j, handoff := offering(grid.Offering)
	j.rec.CancelRequested = true
	aborts := false
	for _, m := range sentTo(c.Step(c.now+1, Message{him, wire.Ready{Handoff: handoff}}), him) {
		aborts = aborts || m.Kind() == wire.KindAbort
	}
	if !aborts || j.rec.Handoff.Phase != grid.NoHandoff {
		t.Errorf("the candidate is told: %t; phase %d", aborts, j.rec.Handoff.Phase)
	}
}

// A lost journal of a member voids what it has offered, and nothing that others have.
func TestOffersOfALostJournalAreVoid(t *testing.T) {
	t.Parallel()
	c := signed()
	for p, j := range map[grid.PeerID]grid.Job{her: jobOf(her, "b", "1"), him: jobOf(him, "c", "2")} {
		j.Inputs = grid.Manifest{{Path: "in", Size: 5, Ranges: make([]grid.Hash, 1)}}
		c.Step(c.now+1, Message{p, offerOf(j, 1, grid.Hour)})
	}
	c.Step(c.now+1, shot(c.now+1))
	if len(c.accepted) != 2 {
		t.Fatalf("%d offers are accepted", len(c.accepted))
	}
	c.recovery.voidOffers(her)
	for _, a := range c.accepted {
		if a.from != him || len(c.accepted) != 1 {
			t.Errorf("%d are left, of %s", len(c.accepted), a.from)
		}
	}
	c.Step(c.now+1, MembersChanged{Members: []grid.Member{{Name: "b", Peer: her, Send: true}}})
	if len(c.accepted) != 0 {
		t.Error("the offer of a member that was removed stays")
	}
}

// What a member told counts from when it told it to when the files of a job are there, those of its sources too.
func TestToldWaitsCountFromTheDelivery(t *testing.T) {
	t.Parallel()
	_, m, j := telling(t, grid.Hour, -1)
	j.cost = grid.SourceCost{Takes: grid.Minute}
	at := m.members[her]
	_, _, delivery := m.delivery(at, sizeOf(&j.rec.Job))
	want := at.foretold.at + grid.Hour - m.now - delivery - grid.Minute
	least, most := m.waits(j, at)
	if least.Wait != want || most.Wait != want || most.Safe != want {
		t.Errorf("it waits %d to %d (safe %d), want %d", least.Wait, most.Wait, most.Safe, want)
	}
}
