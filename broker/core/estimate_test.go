package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// An owner that offers a job and at once asks about the next one gets an answer that
// counts the first, though both messages wait for the same snapshot.
func TestAnswersCountWhatWasJustOffered(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}},
		[]grid.Member{{Name: "i", Peer: "i", Send: true}}, nil)
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	offered := grid.Job{ID: "i.01M7XVNVT1HF2GHP4JW23GK3FT", Home: "i", User: grid.User{Home: "i", Name: "alice"}, Demand: demand, Walltime: 10 * grid.Second}
	handoff := wire.HandoffID{Job: offered.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: "j", Digest: wire.JobDigest(offered)}
	c.Step(1000, Boot{})
	c.Step(1000, Reconciled{All: true})
	c.Step(1000, Message{From: "i", Message: wire.Offer{Handoff: handoff, Job: offered}})
	c.Step(1000, Message{From: "i", Message: wire.EstimateRequest{Round: 7, Questions: []wire.Question{
		{Job: "i.01M7XVNVT1HF2GHP4JW23GK3FV", Demand: demand, Walltime: 10 * grid.Second},
	}}})
	snapshot := plan.Snapshot{At: 1000, Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "j", Processes: 1, Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 1}}}
	for _, e := range c.Step(1000, Looked{Snapshot: snapshot}) {
		if s, ok := e.(Send); ok {
			if tell, ok := s.Message.(wire.EstimateReply); ok {
				if got := tell.Answers[0].Estimate; got.Refusal != nil || got.Wait != 10*grid.Second {
					t.Errorf("the answer is %+v, want a wait of the 10 s that the offered job takes", got)
				}
				return
			}
		}
	}
	t.Error("the question was not answered")
}

// A job of a user whose last jobs took half of what they asked for is expected to take
// half of it: the wait behind it is told as it is believed, and as it is safe.
func TestWhatWasLearnedShortensTheWait(t *testing.T) {
	t.Parallel()
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	alices := func(id grid.JobID) grid.Job {
		return grid.Job{ID: id, Home: "j", User: grid.User{Home: "j", Name: "alice"}, Demand: demand, Walltime: 100 * grid.Second}
	}
	ended := grid.Record{
		Job:    alices("j.01M7XVNVT1HF2GHP4JW23GK3FT"),
		State:  grid.Completed,
		Ended:  1000 + 50*grid.Second,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: "j"},
		Run:    grid.Run{End: grid.Completed, Queued: 1000, Started: 1000, Finished: 1000 + 50*grid.Second},
	}
	running := grid.Record{
		Job:    alices("j.01M7XVNVT1HF2GHP4JW23GK3FV"),
		State:  grid.Running,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: "j"},
		Run:    grid.Run{Attempt: 1, Queued: 100_000, Started: 100_000},
	}
	now := 100_000 + 10*grid.Second
	for name, test := range map[string]struct {
		known []grid.Record
		want  grid.Estimate
	}{
		"nothing learned": {[]grid.Record{running}, grid.Estimate{Wait: 90 * grid.Second, Safe: 90 * grid.Second}},
		"learned":         {[]grid.Record{ended, running}, grid.Estimate{Wait: 40 * grid.Second, Safe: 90 * grid.Second}},
	} {
		c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}}, []grid.Member{{Name: "i", Peer: "i", Send: true}}, test.known)
		c.Step(now, Boot{})
		c.Step(now, Message{From: "i", Message: wire.EstimateRequest{Round: 7, Questions: []wire.Question{
			{Job: "i.01M7XVNVT1HF2GHP4JW23GK3FX", Demand: demand, Walltime: grid.Minute},
		}}})
		snapshot := plan.Snapshot{
			At: now, Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "j", Processes: 1, Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 1}},
			Running: []plan.Running{{Job: running.Job.ID, Shares: []plan.Share{{Processes: 1, Cores: 1}}, Start: 100_000, End: 100_000 + 100*grid.Second}},
		}
		var got grid.Estimate
		for _, e := range c.Step(now, Looked{Snapshot: snapshot}) {
			if s, ok := e.(Send); ok {
				if tell, ok := s.Message.(wire.EstimateReply); ok {
					got = tell.Answers[0].Estimate
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: the answer is %+v, want %+v", name, got, test.want)
		}
	}
}
