package wire

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"gbroker/grid"
)

// grown has those of the examples that got fields later, with these set too, by the
// name of their golden bytes. The bytes of the message as it was before stay.
func grown() map[string]Message {
	certificates := exampleCertificates()
	lived := grid.JournalID{Incarnation: 3, Life: 1<<63 + 1, Sequence: 17}
	later := map[string]Message{}
	var offer Offer
	var report Report
	for _, m := range examples() {
		switch m := m.(type) {
		case Hello:
			m.Site = drainingSite
			later["hello-draining"] = m
		case Announce:
			m.Site.Load = grid.Load{Cores: 16, Busy: 12, Waiting: 3}
			later["announce-load"] = m
			m.Site.Each = grid.Each{Disk: 1 << 40, Clock: 2.4e9, Bandwidth: 1e10}
			later["announce-each"] = m
			m.Site.Batch = "slurm"
			later["announce-batch"] = m
			m.Site.Reach = []grid.SiteName{"beta", "gamma"}
			later["announce-reach"] = m
			m.Site.ReachPeers = []grid.PeerID{aPeer, other}
			later["announce-reach-peers"] = m
			m.Starts = grid.Starts{Age: 5, Processes: []int{1, 4}, Walltimes: []grid.Tick{grid.Minute, grid.Hour, grid.Day}, Waits: []grid.Tick{0, 0, 1500, 0, 90 * grid.Second, grid.Unforeseen}, Whole: true}
			later["announce-starts"] = m
			m.Site.Cohorts = []grid.Cohort{
				{Architecture: "x86_64", System: "LINUX", Speed: 0.5, Memory: 8 << 30, Cores: 4, Dedicated: true, Computers: 12, Free: 7, Levels: []float64{0.5, 0.25, 0, 0, 0, 1}},
				{Computers: 1},
			}
			later["announce-cohorts"] = m
		case Change:
			m.For, m.Nodes, m.Details, m.Move, m.Count = "", nil, nil, true, 6
			later["change-move"] = m
		case EstimateRequest:
			m.Questions[0].Home = aPeer
			later["estimaterequest-home"] = m
			m.Questions = slices.Clone(m.Questions)
			m.Questions[0].Reservation = "r1"
			later["estimaterequest-reserved"] = m
			m.Questions = slices.Clone(m.Questions)
			m.Questions[0].User, m.Questions[0].Deadline = "anna", In{Span: 2 * grid.Hour, Known: true}
			later["estimaterequest-user"] = m
			m.Apart = true
			later["estimaterequest-apart"] = m
			m.Questions = slices.Clone(m.Questions)
			m.Questions[0].Within = 40 * grid.Minute
			later["estimaterequest-within"] = m
		case EstimateReply:
			m.Take = 8
			later["estimatereply-take"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[1].Estimate.Refusal = &grid.Refusal{Kind: grid.Temporary, Reason: "nodes that it needs are down", Again: 90 * grid.Second}
			later["estimatereply-temporary"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[1].Estimate.Refusal = &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "64", Available: "16"}
			later["estimatereply-permanent"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[0].Estimate.Spread = grid.Spread{Early: 5 * grid.Second, Late: grid.Minute, Of: 30}
			later["estimatereply-spread"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[0].Estimate.Price = 2.5
			later["estimatereply-price"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[0].Estimate.Run = 3 * grid.Hour
			later["estimatereply-run"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[0].Estimate.Alone = 2 * grid.Hour
			later["estimatereply-alone"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[1].Estimate.Refusal = &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "64", Available: "16", TooWide: true}
			later["estimatereply-wide"] = m
			m.Answers = slices.Clone(m.Answers)
			m.Answers[0].Estimate.Doubt = "0 of its 3 computers take jobs now"
			later["estimatereply-doubt"] = m
		case Offer:
			offer = m
			m.Certificates, m.Hops = certificates[:1], 3
			later["offer-certificates"] = m
			m.Journal = lived
			later["offer-journal"] = m
			m.Job.Reservation = "r1"
			m.Handoff.Digest = JobDigest(m.Job)
			later["offer-reserved"] = m
			m.Latest = 90 * grid.Second
			later["offer-latest"] = m
		case Ready:
			m.Journal = lived
			later["ready-life"] = m
		case Declined:
			m.Journal, m.Ready = lived, grid.JournalID{Incarnation: 3, Life: 1 << 40, Sequence: 11}
			later["declined-ready"] = m
		case Seen:
			m.Journals, m.Mine, m.Stamp = []grid.JournalID{lived}, lived, 122_688_031
			later["seen-stamp"] = m
			m.WantsReply, m.Question, m.Answers = true, 2, 3
			later["seen-question"] = m
		case Error:
			m.Of, m.Had = KindRecall, grid.Epoch{Term: 2, Hop: 9}
			later["error-had"] = m
			m.At = grid.Epoch{Term: 27_472_418}
			later["error-at"] = m
		case Recall:
			m.At = grid.Epoch{Term: 27_472_418}
			later["recall-at"] = m
		case Superseded:
			m.Keep, m.Answers = false, 12
			later["superseded-answers"] = m
		case Recount:
			m.Journal = lived
			later["recount-journal"] = m
		case Commit:
			m.Certificate = certificates[1]
			later["commit-certificate"] = m
			m.Journal = grid.JournalID{Incarnation: 3, Sequence: 17}
			later["commit-journal"] = m
			m.Ready = grid.JournalID{Incarnation: 4, Sequence: 99}
			later["commit-ready"] = m
		case Inquire:
			m.Journal = grid.JournalID{Incarnation: 3, Sequence: 17}
			later["inquire-journal"] = m
		case Owned:
			m.Certificate = certificates[1]
			later["owned-certificate"] = m
		case InquireReply:
			m.Certificate = certificates[1]
			later["inquirereply-certificate"] = m
			m.Ready = lived
			later["inquirereply-ready"] = m
		case Report:
			m.Certificates = certificates
			later["report-certificates"] = m
			m.Usage = grid.Usage{CPU: 90_500, Memory: 1 << 31}
			later["report-usage"] = m
			m.Usage.Nodes = "n1,n2"
			later["report-nodes"] = m
			m.Version = hashOf(9)
			later["report-version"] = m
			report = m
		case ReportAck:
			m.End, m.ExitCode, m.HasExit, m.Signal = grid.Completed, 3, true, 9
			later["reportack-end"] = m
			m.Back, m.Deadline = true, In{3 * grid.Hour, true}
			later["reportack-back"] = m
		case Reserve:
			m.Nodes, m.Demand = nil, exampleJob().Demand
			later["reserve-demand"] = m
			m.What, m.Demand, m.Bandwidth = grid.DeliveryReserved, grid.Demand{}, 25_000_000
			later["reserve-delivery"] = m
		case Reserved:
			changing := m.Reservation
			changing.Holding = grid.Changing
			m.Of, m.Reservation = KindConfirm, grid.Reservation{ID: "r1"}
			later["reserved-none"] = m
			m.Of, m.Reservation, m.Refusal = KindChange, changing, &grid.Refusal{Kind: grid.Temporary, Reason: "the batch system does not answer"}
			later["reserved-changing"] = m
		case Moved:
			m.Version = hashOf(9)
			later["moved-version"] = m
		case Response:
			status := *m.Status
			status.Usage = grid.Usage{CPU: 90_500, Memory: 1 << 31}
			m.Status = &status
			later["response-usage"] = m
			named := status
			named.Output, named.Error = "results/out.txt", "stderr"
			m.Status = &named
			later["response-streams"] = m
			called, numbered := named, m
			called.Local = "4711.head"
			numbered.Status = &called
			later["response-local"] = numbered
			growResponse(later, m)
		case Request:
			growRequest(later, m)
		case Recounted:
			m.Claims = append(slices.Clone(m.Claims), Claim{Job: aJob, Epoch: grid.Epoch{Term: 2}, Ended: true})
			later["recounted-ended"] = m
			m.Traces = []Trace{{Job: aJob, Epoch: grid.Epoch{Term: 1, Hop: 122_688_031}}, {Job: aJob + ".1"}}
			later["recounted-traces"] = m
		}
	}
	maps.Copy(later, coallocated(offer, report))
	return later
}

// demanding are messages with that job, each with its file.
func demanding() map[string]Message {
	job, termed := demandingJob(), termedJob()
	bringing := demandingJob()
	bringing.Bring = []grid.Bring{{Pattern: "out/*.dat"}, grid.Everything}
	sharing := demandingJob()
	sharing.Sharing = grid.Sharing{Keep: true, Grants: []grid.Grant{{Holder: other, Content: grid.Hash{1, 2}, Until: 1795400000000, Signature: []byte("signed")}}}
	whole := demandingJob() // of the same digest
	whole.Coallocation = &grid.Coallocation{Sites: 3, PerSite: 4, Early: true, Survive: true, Reach: true}
	deadline := In{Span: grid.Hour, Known: true}
	return map[string]Message{
		"offer-termed":              Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(termed)}, Job: termed, Wait: 10, Age: 20, Deadline: deadline},
		"recalled-termed":           Recalled{Job: termed, Epoch: grid.Epoch{Term: 1}, Age: 20, Deadline: deadline},
		"estimaterequest-termed":    EstimateRequest{Round: 7, Questions: []Question{{Job: aJob, Demand: termed.Demand, Walltime: grid.Hour, Delivery: 1500, Queue: "long"}}},
		"offer-bring":               Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(bringing)}, Job: bringing, Wait: 10, Age: 20},
		"offer-sharing":             Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(job)}, Job: sharing, Wait: 10, Age: 20}, // of the same digest
		"offer-whole":               Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(job)}, Job: whole, Wait: 10, Age: 20},
		"recalled-whole":            Recalled{Job: whole, Epoch: grid.Epoch{Term: 1}, Owning: true, Age: 20},
		"offer-demanding":           Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(job)}, Job: job, Wait: 10, Age: 20},
		"estimaterequest-demanding": EstimateRequest{Round: 7, Questions: []Question{{Job: aJob, Demand: job.Demand, Walltime: grid.Hour, Delivery: 1500, Queue: "long"}}},
	}
}

func TestGoldenBytesOfDemands(t *testing.T) {
	t.Parallel()
	for name, m := range demanding() {
		checkGolden(t, name, m)
		frame, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{FeatureResources, FeatureProperties, FeatureExclusive}
		if strings.HasSuffix(name, "-termed") {
			want = append(want, FeatureDistinct, FeatureHosts, FeatureDisk, FeatureMeasures)
		}
		if strings.HasSuffix(name, "-termed") && m.Kind() != KindEstimateRequest {
			want = append(want, FeatureLimits, FeatureAccount, FeatureSites, FeatureWarning, FeatureSources, FeatureTargets, FeatureDialect, FeatureDeadline)
		}
		if name == "offer-bring" {
			want = append(want, FeatureBring)
		}
		if e, err := unwrap(frame); err != nil || !slices.Equal(e.needs, want) {
			t.Errorf("%s needs %v, %v", name, e.needs, err)
		}
	}
	const golden = "6e9e1b69e9061418983412683388320fe4be96c02d5532b7a7a15a942faec46d"
	digest := JobDigest(demandingJob())
	if got := hex.EncodeToString(digest[:]); got != golden {
		t.Errorf("the digest of the demanding job is %s, not %s", got, golden)
	}
}

// A message names exactly what its jobs use, so that a broker without it refuses.
func TestNeedsOfJobs(t *testing.T) {
	t.Parallel()
	for feature, set := range map[string]func(*grid.Demand){
		FeatureResources:  func(d *grid.Demand) { d.Chunks[1].Resources = []grid.Resource{{Name: "gpu", Amount: 1}} },
		FeatureProperties: func(d *grid.Demand) { d.Properties = []string{"ib"} },
		FeatureExclusive:  func(d *grid.Demand) { d.Exclusive = true },
		FeatureDistinct:   func(d *grid.Demand) { d.DistinctNodes = true },
		FeatureHosts:      func(d *grid.Demand) { d.Hosts = []string{"n1"} },
		FeatureDisk:       func(d *grid.Demand) { d.Disk = 1 },
		FeatureMeasures: func(d *grid.Demand) {
			d.Measures = []grid.Measure{{Of: grid.ClockSpeed, Within: []grid.Interval{{Low: 1}}}}
		},
	} {
		plain, job := exampleJob(), exampleJob()
		set(&job.Demand)
		if JobDigest(job) == JobDigest(plain) {
			t.Errorf("%s: the digest does not cover it", feature)
		}
		for _, m := range []Message{
			Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job},
			EstimateRequest{Questions: []Question{{Job: aJob, Demand: plain.Demand, Walltime: 1}, {Job: aJob, Demand: job.Demand, Walltime: 1}, {Job: aJob, Demand: job.Demand, Walltime: 1}}},
		} {
			frame, err := Encode(m, "other", feature)
			if err != nil {
				t.Fatal(err)
			}
			if e, err := unwrap(frame); err != nil || !slices.Equal(e.needs, []string{"other", feature}) {
				t.Errorf("%v with %s needs %v, %v", m.Kind(), feature, e.needs, err)
			}
			if frame, err = Encode(m); err != nil {
				t.Fatal(err)
			}
			if e, err := unwrap(frame); err != nil || !slices.Equal(e.needs, []string{feature}) {
				t.Errorf("%v with %s needs %v, %v", m.Kind(), feature, e.needs, err)
			}
			if _, err := Decode(frame); err != nil {
				t.Errorf("%v with %s: %v", m.Kind(), feature, err)
			}
		}
	}
}

// A site that knows neither Move nor Count, as it was released, reads a move as a change of all that it knows: so its holder says
// for which job it is, and with which details.
func TestAMoveForWhoKnowsNoMoves(t *testing.T) {
	t.Parallel()
	m := Change{ID: "r1", Number: 2, For: aJob, Start: 2_000_000, End: 2_600_000, Details: []grid.Variable{{Name: "port", Value: "7"}}, Move: true, Count: 3}
	frame, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	e, err := unwrap(frame)
	if err != nil || len(e.needs) > 0 {
		t.Fatalf("it needs %v, %v", e.needs, err)
	}
	var b struct {
		ID      string         `msgpack:"i,omitempty"`
		Number  uint64         `msgpack:"m,omitempty"`
		For     string         `msgpack:"j,omitempty"`
		Nodes   []string       `msgpack:"n,omitempty"`
		Start   int64          `msgpack:"s,omitempty"`
		End     int64          `msgpack:"e,omitempty"`
		Details []variableBody `msgpack:"d,omitempty"`
		Sent    int64          `msgpack:"c,omitempty"`
	}
	if err := msgpack.Unmarshal(e.body, &b); err != nil {
		t.Fatal(err)
	}
	if b.ID != "r1" || b.Number != 2 || b.For != string(aJob) || len(b.Nodes) > 0 || b.Start != 2_000_000 || b.End != 2_600_000 || len(b.Details) != 1 {
		t.Errorf("it reads %+v", b)
	}
}
