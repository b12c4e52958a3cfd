package wire

import (
	"gbroker/grid"
)

func hashOf(b byte) (h grid.Hash) {
	for i := range h {
		h[i] = b + byte(i)
	}
	return h
}

func exampleJob() grid.Job {
	return grid.Job{
		ID: aJob, Name: "render é", Home: aPeer, User: grid.User{Home: aPeer, Name: "alice"},
		Rerunnable: true,
		Program: grid.Program{
			Executable: "run.sh", Arguments: []string{"-n", "\xff\xfe odd", ""},
			Input: "in/data", Output: "out.txt", Error: "../err.txt", Directory: "work",
			Environment: []grid.Variable{{Name: "LANG", Value: "C"}, {Name: "EMPTY"}},
			Parallel:    "MPI", Limits: []grid.Limit{{Name: grid.LimitMemory, Value: 1 << 30}},
		},
		Demand: grid.Demand{
			Chunks:       []grid.Chunk{{Count: 2, Processes: 4, Cores: 4, Memory: 1 << 31}, {Count: 1, Processes: 1, Cores: 1}},
			Architecture: "x86_64", System: "LINUX",
		},
		Walltime: 10 * grid.Minute, WalltimeDefaulted: true, Queue: "long",
		Inputs: grid.Manifest{
			{Path: "work/in/data", Size: grid.RangeSize + 1, Mode: 0o644, Ranges: []grid.Hash{hashOf(1), hashOf(2)}},
			{Path: "work/run.sh", Size: 0, Mode: 0o755},
		},
		Outputs: []grid.Output{{Path: "work/out.txt", Target: "out.txt", Required: true}, {Path: "err.txt", Target: "err.txt"}},
	}
}

// examples has one message of each kind, with every field set.
func examples() []Message {
	handoff := HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1, Hop: 300}, To: other, Digest: hashOf(7)}
	site := grid.Site{Name: "xeon16", Processes: 16, Speed: 1.25, Architecture: "x86_64", System: "LINUX"}
	journal := grid.JournalID{Incarnation: 1 << 63, Sequence: 4711}
	refused := grid.Estimate{Refusal: &grid.Refusal{Reason: "too few processors", Asked: "64", Available: "16"}}
	job := exampleJob()
	return append([]Message{
		Hello{Program: "gbroker 0.1", Site: site, Journal: journal, Boot: 99, Clock: 1795000000000},
		EstimateRequest{Round: 7, Questions: []Question{{Job: aJob, Demand: job.Demand, Walltime: grid.Hour, Delivery: 1500, Queue: "long"}}},
		EstimateReply{Round: 7, Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Wait: 42 * grid.Second}}, {Job: aJob + ".1", Estimate: refused}}},
		Offer{Handoff: handoff, Job: job, Wait: 10, Age: 20},
		Accept{Handoff: handoff, Journal: journal},
		Refuse{Handoff: handoff, Estimate: refused},
		Ready{Handoff: handoff, Journal: journal},
		Abort{Handoff: handoff, Why: "it had started"},
		Commit{Handoff: handoff, Cancel: true},
		Owned{Handoff: handoff, Owner: other},
		Inquire{Handoff: handoff},
		InquireReply{Handoff: handoff, Verdict: VerdictCommitted, Owner: other, Cancel: true},
		Declined{Handoff: handoff, Journal: journal},
		Unknown{Handoff: handoff, Journal: journal},
		Report{
			Job: aJob, Epoch: handoff.Epoch, Number: 12, State: grid.StageOut, Attempt: 3, Local: "4711.head",
			Started: Ago{90 * grid.Second, true}, Finished: Ago{0, true}, Estimate: In{-5, true},
			End: grid.Killed, ExitCode: 137, HasExit: true, Signal: 9, Reason: "killed by its user", Cancel: true,
			Outputs: job.Inputs,
		},
		ReportAck{Job: aJob, Epoch: handoff.Epoch, Number: 12, Closed: true, Cancel: true},
		Cancel{Job: aJob, Epoch: handoff.Epoch},
		Closed{Job: aJob, Term: 2},
		Error{Of: KindOffer, Job: aJob, Why: "no member"},
		Recall{Job: aJob},
		Recalled{Job: job, Epoch: handoff.Epoch, Owning: true, Age: grid.Hour, Cancel: true, Certificates: exampleCertificates()},
		Seen{Journals: []grid.JournalID{journal, {Incarnation: 3, Sequence: 1}}, Boots: []uint64{7, 1 << 63}, Mine: journal, WantsReply: true},
		Recount{Sequence: 4711},
		Recounted{Claims: []Claim{{Job: aJob, Epoch: handoff.Epoch, Yours: true}, {Job: aJob + ".1"}}},
		Superseded{Job: aJob, Of: handoff.Epoch, Epoch: grid.Epoch{Term: 2}, Owner: other, Keep: true},
		Request{Number: 12, Job: aJob, User: "alice", Administrator: true, Wish: WishCancel},
		Response{Number: 12, Job: aJob, Outcome: OutcomeDone, Why: "it was", Status: &Status{
			Name: job.Name, User: job.User, Home: aPeer, Owner: other, State: grid.Running, Epoch: handoff.Epoch,
			Demand: job.Demand, Walltime: grid.Hour, WalltimeDefaulted: true, Queue: "long",
			Submitted: Ago{5, true}, Started: Ago{4, true}, Finished: Ago{3, true}, Ended: Ago{2, true},
			ContactLost: Ago{1, true}, Predicted: In{-5, true}, Estimate: In{6, true},
			End: grid.Completed, ExitCode: 3, HasExit: true, Signal: 9, Reason: "waits", Cancel: true, Outputs: job.Inputs,
		}},
		Moved{Job: aJob, Certificates: exampleCertificates()},
		MovedAck{Job: aJob, Epoch: handoff.Epoch},
		Announce{Site: drainingSite},
		exampleReserve(),
		Reserved{Of: KindReserve, Reservation: exampleReservation(), Refusal: refused.Refusal, Slack: 12 * grid.Second, Sent: 1795000000001, Clock: 1795000000002},
		Confirm{ID: "r1", Lease: 10 * grid.Minute, Sent: 1795000000003},
		Release{ID: "r1", Why: "given up"},
		Change{ID: "r1", Number: 3, For: aJob, Nodes: []grid.NodeName{"n1"}, Start: 1795000010000, End: 1795000020000, Details: []grid.Variable{{Name: "port", Value: "4711"}}, Sent: 5},
		ReservationWord{Reservation: exampleReservation(), Clock: 1795000000004},
		ReservationAck{ID: "r1", Seq: 7},
	}, coallocation()...)
}

func exampleReserve() Reserve {
	return Reserve{
		ID: "r1", Holder: grid.User{Home: aPeer, Name: "alice"}, For: aJob, What: grid.NodesReserved, Nodes: []grid.NodeName{"n1", "N2.cluster"},
		Queue: "long", From: 1795000010000, Until: 1795003610000, Length: grid.Hour, Limit: grid.Minute, Grace: 5 * grid.Minute, Early: true, Fee: 1.5, Sent: 1795000000001,
	}
}

func exampleReservation() grid.Reservation {
	return grid.Reservation{
		ID: "r1", Kind: grid.NodesReserved, Holder: grid.User{Home: aPeer, Name: "alice"}, For: aJob, Nodes: []grid.NodeName{"n1", "N2.cluster"},
		Cores: 8, Start: 1795000010000, End: 1795003610000, State: grid.Bound, Reason: "bound", Until: 1795000060001, Grace: 5 * grid.Minute, Came: 1795000010001, Early: true, Price: 1.5,
		Details: []grid.Variable{{Name: "port", Value: "4711"}}, Seq: 7, Number: 3,
	}
}

// kinds are those of this version.
func kinds() (list []Kind) {
	for k := range rules {
		if Kind(k).Valid() {
			list = append(list, Kind(k))
		}
	}
	return list
}

func exampleCertificates() []grid.Certificate {
	return []grid.Certificate{
		{Epoch: grid.Epoch{Term: 1, Hop: 1}, To: aPeer, Signature: []byte("signed")},
		{Epoch: grid.Epoch{Term: 1, Hop: 300}, To: other, Signature: []byte{0, 255}},
	}
}

var drainingSite = grid.Site{Name: "xeon16", Processes: 16, Speed: 1.25, Architecture: "x86_64", System: "LINUX", Draining: true}

// demandingJob asks for all that came after the first messages of version 1.
func demandingJob() grid.Job {
	job := exampleJob()
	job.Demand.Chunks[0].Resources = []grid.Resource{{Name: "gpu:a100", Amount: 2}, {Name: "licence", Amount: grid.MaxAmount}}
	job.Demand.Properties = []string{"infiniband", "Scratch.1"}
	job.Demand.Exclusive = true
	return job
}

// termedJob asks for all that came with JSDL as a whole, and with terms.
func termedJob() grid.Job {
	job := demandingJob()
	job.Demand.DistinctNodes, job.Demand.Hosts, job.Demand.Disk = true, []string{"n1.cluster", "n2"}, 1<<40
	job.Demand.Measures = []grid.Measure{
		{Of: grid.Bandwidth, Within: []grid.Interval{{Low: 1e9}}},
		{Of: grid.ClockSpeed, Within: []grid.Interval{{Low: 1e9, High: 2e9, LowOpen: true}, {Low: 3e9, High: 4e9, HighOpen: true}}},
	}
	job.Program.Limits = []grid.Limit{{Name: grid.LimitCore}, {Name: grid.LimitMemory, Value: 1 << 30}, {Name: grid.LimitStack, Value: 1 << 23}}
	job.Account = "physics"
	job.Sites = grid.Choice{Only: []grid.SiteName{"xeon16", "xeon32"}, Not: []grid.SiteName{"xeon80"}, Prefer: []grid.SiteName{"xeon32"}}
	job.Warning = grid.Warning{Signal: 10, Before: grid.Minute, Leader: true}
	job.Program.Dialect = grid.DialectSlurm
	job.Sources = []grid.Source{{Path: "work/data", URI: "https://example.org/data", Flag: grid.DontOverwrite}}
	job.Outputs = append(job.Outputs, grid.Output{Path: "work/out.txt", URI: "sftp://example.org/out", Flag: grid.Append, Required: true, Delete: true})
	job.About = grid.About{Description: "what", Application: "render", Version: "2.1", Annotations: []string{"a"}, Projects: []string{"p", "q"}}
	return job
}
