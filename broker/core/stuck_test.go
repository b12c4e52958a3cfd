package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// An acceptance whose fetch makes no progress keeps the offer alive for ever.
func TestAnAcceptanceEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "data", Size: 1, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	c := bare()
	c.Step(1_000_001, Message{her, offerOf(j, 1, 0)})
	c.Step(1_000_002, shot(1_000_002))
	c.Step(1_000_003, PeerChanged{her, grid.Alive})
	c.Step(1_000_004, PeerChanged{her, grid.Dead})
	now := grid.Tick(1_000_004)
	for range 100_000 {
		at, _ := c.Next()
		if now = at; now > 1_000_004+7*grid.Day {
			break
		}
		c.Step(now, Tick{})
	}
	if len(c.accepted) > 0 {
		t.Errorf("after %v s, with its owner dead, the job is still counted as coming", (now - 1_000_004).Seconds())
	}
	c.Step(now, MembersChanged{nil})
	if len(c.accepted) > 0 {
		t.Error("nor does the owner's removal end it")
	}
}

// The wait that was told counts from the delivery, the candidate compares it with a wait from now.
func TestTheWaitOfAnOfferCountsTheDelivery(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := bare()
	busy := func(now grid.Tick) Looked {
		l := shot(now)
		l.Snapshot.Running = []plan.Running{{Job: "x", Start: 0, End: 1_000_000 + 15*grid.Minute, Shares: []plan.Share{{Node: 0, Processes: 4, Cores: 4}}}}
		return l
	}
	c.Step(1_000_000, Message{her, wire.EstimateRequest{Round: 1, Questions: []wire.Question{{Job: j.ID, Demand: j.Demand, Walltime: j.Walltime, Delivery: 10 * grid.Minute}}}})
	var told grid.Tick
	for _, e := range c.Step(1_000_000, busy(1_000_000)) {
		if s, ok := e.(Send); ok {
			told = s.Message.(wire.EstimateReply).Answers[0].Estimate.Wait
		}
	}
	c.Step(1_000_100, Message{her, offerOf(j, 1, 10*grid.Minute+told)})
	for _, e := range c.Step(1_000_101, busy(1_000_101)) {
		if s, ok := e.(Send); ok {
			if r, ok := s.Message.(wire.Refuse); ok {
				t.Errorf("told a wait of %v s after delivery, and 100 ms later refuses with %v s", told.Seconds(), r.Estimate.Wait.Seconds())
			}
		}
	}
}

// Late word of a dead offer deletes the files of the new one.
func TestLateWordLeavesTheFilesOfANewOffer(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "data", Size: 1, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	c := bare()
	old, fresh := offerOf(j, 1, 0), offerOf(j, 2, 0)
	c.Step(1_000_001, Message{her, old})
	c.Step(1_000_002, shot(1_000_002))
	c.Step(1_000_003, Fetched{Job: j.ID, Epoch: old.Handoff.Epoch, Set: InputFiles}) // PREPARED at 1.1; Ready and Abort get lost
	c.Step(1_000_004, Message{her, fresh})
	c.Step(1_000_005, shot(1_000_005)) // Fetch: all is here already
	discarded := false
	for _, e := range c.Step(1_000_006, Message{her, wire.InquireReply{Handoff: old.Handoff, Verdict: wire.VerdictAborted}}) {
		if _, ok := e.(Discard); ok {
			discarded = true
		}
	}
	c.Step(1_000_007, Fetched{Job: j.ID, Epoch: fresh.Handoff.Epoch, Set: InputFiles}) // was posted before the discard ran
	if k := c.jobs[j.ID]; discarded && k != nil && k.rec.Role == grid.Prepared {
		t.Error("PREPARED, and its files are deleted")
	}
}

// Files that were dropped long ago push out what users have not fetched.
func TestRetentionCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	mine, theirs := jobOf(me, "a", "1"), jobOf(her, "b", "2")
	big := grid.Manifest{{Path: "out", Size: 900}}
	c := New(Config{Self: me, KeepBytes: 1000}, nil, []grid.Record{
		{Job: mine, State: grid.Completed, Ended: 1_000_000 - 10, Tenure: grid.Tenure{Role: grid.Owning}, Run: grid.Run{Outputs: big}},
		{Job: theirs, State: grid.Completed, Ended: 1_000_000 - 5, Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{Outputs: big}},
	})
	c.Step(1_000_000, Boot{})
	c.Step(1_000_000+2*grid.Minute, Tick{})
	if c.jobs[mine.ID] == nil {
		t.Error("900 of 1000 bytes are used, and the output of a user is deleted")
	}
}

// The home has removed the job before its Closed arrived: the owner keeps it for ever.
func TestAnUnclaimedResultIsDroppedInTheEnd(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := bare(grid.Record{Job: j, State: grid.StageOut, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 3}, Run: grid.Run{End: grid.Completed, Finished: 5}})
	now := grid.Tick(1_000_000)
	sent := 0
	for now < 1_000_000+60*grid.Day {
		at, _ := c.Next()
		now = at
		for _, e := range c.Step(now, Tick{}) {
			if s, ok := e.(Send); ok && s.To == her {
				sent++
				if sent < 10 {
					c.Step(now, Message{her, wire.Error{Of: wire.KindReport, Job: j.ID, Why: "this site is not the home of that job, or has removed it"}})
				}
			}
		}
	}
	if k := c.jobs[j.ID]; k != nil {
		t.Errorf("after 60 days and %d reports it is %s %s, with its files", sent, k.rec.Role, k.rec.State)
	}
}

// Boot decides before it is known who lives.
func TestAStartWaitsForItsNeighbours(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Demand.Chunks[0].Count = 4
	c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 0.01}}, []grid.Member{{Name: "b", Peer: her, Send: true}},
		[]grid.Record{{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
	c.Step(1_000_000, Boot{})
	c.Step(1_000_001, shot(1_000_001))
	c.Step(1_000_300, PeerChanged{her, grid.Alive})
	if c.jobs[j.ID].rec.State == grid.Assigned {
		t.Errorf("placed here at speed 0.01 one millisecond after the start")
	}
}

// Liveness that comes before the members is forgotten.
func TestWordOfAPeerMayComeBeforeItsLine(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: me}, nil, nil)
	c.Step(1, Boot{})
	c.Step(2, PeerChanged{her, grid.Alive})
	c.Step(3, MembersChanged{[]grid.Member{{Name: "b", Peer: her, Send: true}}})
	if c.members[her].live != grid.Alive {
		t.Error("dead for ever: the overlay tells only changes")
	}
}

// After a restart nobody says that the owner is not heard.
func TestSilenceIsToldAfterARestart(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Started: 5}})
	for now := grid.Tick(1_000_000); now < 1_000_000+grid.Day; {
		now, _ = c.Next()
		c.Step(now, Tick{})
	}
	if c.jobs[j.ID].rec.ContactLost == 0 {
		t.Error("nothing heard for a day, contact_lost_since is null")
	}
}

// A candidate that says for ever that it fetches the files does not keep the job.
func TestACandidateThatOnlyAcceptsLosesTheJob(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	c := bare(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	k := c.jobs[j.ID]
	c.ownership.makeOffer(k, her, 0, 0)
	handoff := wire.HandoffID{Job: j.ID, Epoch: epoch, To: her, Digest: wire.JobDigest(j)}
	for now := grid.Tick(1_000_000); now < 1_000_000+grid.Hour; now += 5 * grid.Second {
		c.Step(now, Message{her, wire.Accept{Handoff: handoff}})
		if k.rec.Handoff.Phase == grid.NoHandoff {
			return
		}
	}
	t.Error("after an hour the job is still hers to fetch")
}
