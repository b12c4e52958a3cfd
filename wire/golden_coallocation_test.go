package wire

import (
	"slices"
	"testing"

	"gbroker/grid"
)

// examplePart has every field set.
func examplePart() *grid.Part {
	return &grid.Part{
		Of: aJob, Round: 3, Rank: 1, Sites: []grid.PartSite{{Name: "xeon16", Processes: 4}, {Name: "xeon32", Processes: 8}},
		Start: 1795000060000, Grace: 2 * grid.Minute, Within: grid.Minute, Limit: grid.Hour,
	}
}

func exampleGathered() grid.Gathered {
	return grid.Gathered{Site: "xeon16", Hosts: []string{"n1:2", "n2.cluster:2"}, Address: "n1:40123"}
}

// coallocation has one message of each kind of co-allocation, with every field set.
func coallocation() []Message {
	job := exampleJob()
	return []Message{
		Slots{
			Of: aJob, Round: 9, Demand: job.Demand, Walltime: grid.Hour, Queue: "long", User: job.User,
			From: grid.Minute, To: grid.Day, Fee: 7, Sent: 1795000000000,
		},
		SlotsReply{
			Of: aJob, Round: 9, Site: grid.Site{Name: "xeon16", Processes: 16, Speed: 1.25, Architecture: "x86_64", System: "LINUX"},
			Slots: []grid.Slot{{
				Node: "n1", Start: 1795000060000, End: 1795000960000, Cores: 8, Memory: 1 << 34,
				Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}}, Price: 0.5,
			}},
			Slack: grid.Minute, Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "it is drained"}, Estimate: grid.Estimate{Wait: grid.Hour, Safe: 2 * grid.Hour},
			Clock: Clocks{Asked: 1795000000000, Received: 1795000000040, Answered: 1795000000900},
		},
		Gather{Job: aJob + ".2", Epoch: grid.Epoch{Term: 1, Hop: 300}, Sites: []grid.Gathered{exampleGathered()}},
	}
}

// coallocated are messages of before that tell of parts.
func coallocated(offer Offer, report Report) map[string]Message {
	offer.Job = exampleJob()
	offer.Job.ID, offer.Job.Part, offer.Job.Reservation = aJob+".2", examplePart(), "r1"
	offer.Handoff.Job = offer.Job.ID
	named, part := offer, *offer.Job.Part
	part.Sites = slices.Clone(part.Sites)
	part.Sites[0].Peer, part.Sites[1].Peer = aPeer, other
	named.Job.Part = &part
	g := exampleGathered()
	report.Arrived, report.Hosts, report.Address = Ago{12, true}, g.Hosts, g.Address
	met := g
	met.Address, met.Rendezvous = "", "n1:40124"
	meets := report
	meets.Address, meets.Rendezvous = met.Address, met.Rendezvous
	return map[string]Message{
		"report-rendezvous": meets, "gather-rendezvous": Gather{Job: aJob + ".2", Epoch: grid.Epoch{Term: 1, Hop: 300}, Sites: []grid.Gathered{met}},
		"offer-part": offer, "offer-part-peers": named, "report-arrived": report,
		"slots-brief":  Slots{Of: aJob, Round: 9, Demand: exampleJob().Demand, Walltime: grid.Hour, User: exampleJob().User, To: grid.Day, Brief: true},
		"gather-begun": Gather{Job: aJob + ".2", Epoch: grid.Epoch{Term: 1, Hop: 300}, Begun: true},
	}
}

// Brokers that do not read who the sites of a part are give it the same digest.
func TestDigestIsWithoutThePeersOfSites(t *testing.T) {
	t.Parallel()
	j := exampleJob()
	j.Part = examplePart()
	before := JobDigest(j)
	j.Part.Sites[0].Peer = aPeer
	if JobDigest(j) != before || j.Part.Sites[0].Peer != aPeer {
		t.Error("the digest depends on them")
	}
}
