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
	if left := c.accepted[jobOf(him, "c", "2").ID]; left == nil || len(c.accepted) != 1 {
		t.Errorf("%d are left, that of another %+v", len(c.accepted), left)
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

// A candidate that waits on an old offer hears that the job has ended, whatever else was known of its owner; of one that goes on, what is
// known of that offer, and nothing of one that its owner may have made meanwhile.
func TestALateCandidateHearsOfTheEndFirst(t *testing.T) {
	t.Parallel()
	const ended, owned, dead = "the job has ended", "you have owned it, and lost your journal since", "that offer is dead"
	for _, k := range []struct {
		state grid.State
		from  grid.PeerID
		hop   uint32
		why   string
	}{
		{grid.Killed, him, 1, ended}, {grid.Killed, her, 2, ended}, {grid.Killed, him, 3, ended},
		{grid.Running, him, 1, dead}, {grid.Running, her, 2, owned}, {grid.Running, him, 3, ""},
	} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: k.state, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 2}}})
		b := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: k.hop}, To: k.from, Digest: wire.JobDigest(j)}
		why := ""
		for _, m := range sentTo(c.Step(c.now+1, Message{k.from, wire.Ready{Handoff: b}}), k.from) {
			if a, is := m.(wire.Abort); is {
				why = a.Why
			}
		}
		if why != k.why {
			t.Errorf("%v, an offer at hop %d to %s: %q, want %q", k.state, k.hop, k.from, why, k.why)
		}
	}
}

// Who asks about a commit out of another journal may have owned the job, and lost that: its offer is dead, and the home says that the
// owner is lost. Where the candidate had said that it owns the job, that alone tells nothing new.
func TestACommitToALostJournalLosesTheOwner(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 1}
	for phase, lost := range map[grid.HandoffPhase]bool{grid.Committed: true, grid.NoHandoff: false} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{
			Role: grid.Watching, Owner: her, Epoch: at, Candidate: grid.JournalID{Incarnation: 3}, Handoff: grid.Handoff{Phase: phase, To: her, Epoch: at},
		}})
		b := wire.HandoffID{Job: j.ID, Epoch: at, To: her, Digest: wire.JobDigest(j)}
		var got wire.InquireReply
		for _, m := range sentTo(c.Step(c.now+1, Message{her, wire.Inquire{Handoff: b, Journal: grid.JournalID{Incarnation: 4}}}), her) {
			if r, is := m.(wire.InquireReply); is {
				got = r
			}
		}
		r := c.jobs[j.ID].rec
		if got.Verdict != wire.VerdictAborted || r.Handoff.Phase != grid.NoHandoff || (r.ContactLost != 0) != lost || (r.Reason != "") != lost {
			t.Errorf("phase %d: verdict %d, phase %d since, lost at %d: %q", phase, got.Verdict, r.Handoff.Phase, r.ContactLost, r.Reason)
		}
	}
}
