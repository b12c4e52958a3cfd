package broker

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
	bond := wire.Bond{Job: offered.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: "j", Digest: wire.JobDigest(offered)}
	c.Step(1000, Boot{})
	c.Step(1000, Message{From: "i", Message: wire.Offer{Bond: bond, Job: offered}})
	c.Step(1000, Message{From: "i", Message: wire.Ask{Round: 7, Questions: []wire.Question{
		{Job: "i.01M7XVNVT1HF2GHP4JW23GK3FV", Demand: demand, Walltime: 10 * grid.Second},
	}}})
	snapshot := plan.Snapshot{At: 1000, Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "j", Processes: 1, Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 1}}}
	for _, e := range c.Step(1000, Looked{Snapshot: snapshot}) {
		if s, ok := e.(Send); ok {
			if tell, ok := s.Message.(wire.Tell); ok {
				if got := tell.Answers[0].Estimate; got.Refusal != nil || got.Wait != 10*grid.Second {
					t.Errorf("the answer is %+v, want a wait of the 10 s that the offered job takes", got)
				}
				return
			}
		}
	}
	t.Error("the question was not answered")
}
