package wire

import (
	"bytes"
	"encoding/hex"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

var update = flag.Bool("update", false, "write testdata/v1 anew (only for a kind that was never released)")

const (
	aJob  = grid.JobID("xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV")
	aPeer = grid.PeerID("12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN")
	other = grid.PeerID("12D3KooWQYzCrXqVnq9wUUJvMT6TBgwBdLwYXhLXTLG3Y4tDkrMz")
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
		case EstimateRequest:
			m.Questions[0].Home = aPeer
			later["estimaterequest-home"] = m
			m.Questions = slices.Clone(m.Questions)
			m.Questions[0].Reservation = "r1"
			later["estimaterequest-reserved"] = m
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
		case Offer:
			offer = m
			m.Certificates, m.Hops = certificates[:1], 3
			later["offer-certificates"] = m
			m.Journal = lived
			later["offer-journal"] = m
			m.Job.Reservation = "r1"
			m.Handoff.Digest = JobDigest(m.Job)
			later["offer-reserved"] = m
		case Ready:
			m.Journal = lived
			later["ready-life"] = m
		case Declined:
			m.Journal, m.Ready = lived, grid.JournalID{Incarnation: 3, Life: 1 << 40, Sequence: 11}
			later["declined-ready"] = m
		case Seen:
			m.Journals, m.Mine, m.Stamp = []grid.JournalID{lived}, lived, 122_688_031
			later["seen-stamp"] = m
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
			m.Of, m.Reservation = KindConfirm, grid.Reservation{ID: "r1"}
			later["reserved-none"] = m
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

// Bytes that were once sent must be understood for ever, and be sent the same.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	all := examples()
	if len(all) != len(kinds()) {
		t.Fatalf("%d examples for %d kinds", len(all), len(kinds()))
	}
	named := grown()
	for _, m := range all {
		named[strings.ToLower(m.Kind().String())] = m
	}
	for name, m := range named {
		checkGolden(t, name, m)
	}
}

// Bytes of brokers that told no kind of a refusal: what they call passing is temporary, and of
// the rest nothing is known.
func TestRefusalsOfOlderBrokers(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]grid.RefusalKind{"estimatereply-passing": grid.Temporary, "estimatereply": grid.UnknownRefusal} {
		frame, err := os.ReadFile(filepath.Join("testdata", "v1", name+".bin"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		if r := m.(EstimateReply).Answers[1].Estimate.Refusal; r == nil || r.Kind != kind || !r.MayPass() {
			t.Errorf("%s is refused by %+v", name, r)
		}
	}
}

// A kind of refusal that a later version has is unknown here, and so temporary. A broker that
// knows no kinds learns of a temporary one by the field that it has.
func TestRefusalsOfLaterBrokers(t *testing.T) {
	t.Parallel()
	c := &check{}
	r := (&refusalBody{Reason: "the moon is full", Kind: 77}).refusal(c)
	if c.err != nil || r.Kind != grid.UnknownRefusal || !r.MayPass() {
		t.Errorf("%+v, %v", r, c.err)
	}
	for kind, passing := range map[grid.RefusalKind]bool{grid.UnknownRefusal: false, grid.Permanent: false, grid.Temporary: true} {
		if b := fromRefusal(&grid.Refusal{Kind: kind}); b.Passing != passing {
			t.Errorf("%v is told as passing %v", kind, b.Passing)
		}
	}
}

// checkGolden compares m with the bytes of testdata/v1/NAME.bin, both ways.
func checkGolden(t *testing.T, name string, m Message) {
	t.Helper()
	file := filepath.Join("testdata", "v1", name+".bin")
	frame, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, frame, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(frame, golden) {
		t.Errorf("%s is encoded as\n%x, but version 1 is\n%x", name, frame, golden)
	}
	got, err := Decode(golden)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if !reflect.DeepEqual(got, m) {
		t.Errorf("%s decodes to\n%+v, not\n%+v", file, got, m)
	}
}

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

// demanding are messages with that job, each with its file.
func demanding() map[string]Message {
	job, termed := demandingJob(), termedJob()
	bringing := demandingJob()
	bringing.Bring = []grid.Bring{{Pattern: "out/*.dat"}, grid.Everything}
	sharing := demandingJob()
	sharing.Sharing = grid.Sharing{Keep: true, Grants: []grid.Grant{{Holder: other, Content: grid.Hash{1, 2}, Until: 1795400000000, Signature: []byte("signed")}}}
	deadline := In{Span: grid.Hour, Known: true}
	return map[string]Message{
		"offer-termed":              Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(termed)}, Job: termed, Wait: 10, Age: 20, Deadline: deadline},
		"recalled-termed":           Recalled{Job: termed, Epoch: grid.Epoch{Term: 1}, Age: 20, Deadline: deadline},
		"estimaterequest-termed":    EstimateRequest{Round: 7, Questions: []Question{{Job: aJob, Demand: termed.Demand, Walltime: grid.Hour, Delivery: 1500, Queue: "long"}}},
		"offer-bring":               Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(bringing)}, Job: bringing, Wait: 10, Age: 20},
		"offer-sharing":             Offer{Handoff: HandoffID{Job: aJob, Epoch: grid.Epoch{Term: 1}, To: other, Digest: JobDigest(job)}, Job: sharing, Wait: 10, Age: 20}, // of the same digest
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

// As many of the largest questions that documents make as one round asks fit in an EstimateRequest.
func TestLargestQuestionsFit(t *testing.T) {
	t.Parallel()
	label := func(i int) string {
		return strings.Repeat("x", grid.MaxLabel-2) + string(rune('a'+i/8)) + string(rune('a'+i%8))
	}
	d := grid.Demand{Architecture: strings.Repeat("a", 7), System: strings.Repeat("s", 18), Exclusive: true}
	k := grid.Chunk{Count: 1 << 9, Processes: 1 << 9, Cores: 1 << 9, Memory: grid.MaxMemory}
	for i := range grid.MaxResources {
		k.Resources = append(k.Resources, grid.Resource{Name: label(i), Amount: grid.MaxAmount})
	}
	for i := range grid.MaxProperties {
		d.Properties = append(d.Properties, label(i))
	}
	d.Chunks = []grid.Chunk{k, k}
	var m EstimateRequest
	for range 256 {
		m.Questions = append(m.Questions, Question{Job: aJob, Demand: d, Walltime: grid.MaxWalltime, Delivery: MaxSpan, Queue: grid.QueueName(strings.Repeat("q", grid.MaxName))})
	}
	if _, err := Encode(m); err != nil {
		t.Error(err)
	}
}

// Every field must be set in the examples, so that one forgotten in a conversion is
// noticed by TestGoldenBytes.
func TestExamplesAreComplete(t *testing.T) {
	t.Parallel()
	job := demandingJob()
	values := []any{job, job.Program, job.Demand, job.Demand.Chunks[0], job.Demand.Chunks[0].Resources[0], job.Inputs[0], job.Outputs[0], job.User, termedJob(), termedJob().Program, termedJob().Demand, termedJob().Outputs[2], drainingSite, exampleCertificates()[0]}
	for _, m := range slices.AppendSeq(examples(), maps.Values(grown())) {
		values = append(values, m)
		if a, ok := m.(Announce); ok {
			values = append(values, a.Site, a.Site.Load, a.Site.Each)
		}
		if s, ok := m.(SlotsReply); ok {
			values = append(values, s.Slots[0], s.Clock)
		}
		if o, ok := m.(Offer); ok {
			values = append(values, o.Job)
		}
		if o, ok := m.(Offer); ok && o.Job.Part != nil {
			values = append(values, *o.Job.Part)
		}
		values = append(values, partsOf(m)...)
	}
	for _, m := range demanding() {
		values = append(values, m)
		if o, ok := m.(Offer); ok {
			values = append(values, o.Job)
		}
	}
	set := map[string]bool{"grid.Job.Terms": true, "grid.Job.Coallocation": true, "grid.Job.Guaranteed": true, "grid.Slot.Site": true} // stay at the home
	for _, value := range values {
		v := reflect.ValueOf(value)
		for i := range v.NumField() {
			field := v.Type().String() + "." + v.Type().Field(i).Name
			set[field] = set[field] || !v.Field(i).IsZero()
		}
	}
	for field, is := range set {
		if !is {
			t.Errorf("%s is zero in all examples", field)
		}
	}
}

func TestJobDigest(t *testing.T) {
	t.Parallel()
	const golden = "1e0eaf40b84151f9a19c295d85519c7f6a9c6dcde48a171ac69cd432e674c8e8"
	job := exampleJob()
	digest := JobDigest(job)
	if got := hex.EncodeToString(digest[:]); got != golden {
		t.Errorf("the digest of the example is %s, not %s: brokers of different versions would disagree", got, golden)
	}
	frame, err := Encode(Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	if JobDigest(m.(Offer).Job) != digest {
		t.Error("the digest changes when the job travels")
	}
	job.Inputs[1].Path, job.Outputs = "work/run.sh2", []grid.Output{}
	if JobDigest(job) == digest {
		t.Error("another job has the same digest")
	}
	job = exampleJob()
	job.Inputs[1].Ranges = []grid.Hash{}
	if JobDigest(job) != digest {
		t.Error("an empty list and none have different digests")
	}
}

// What only describes a job hinders no broker without it, and its terms stay at its home.
func TestFeaturesOfJobs(t *testing.T) {
	t.Parallel()
	for feature, set := range map[string]func(*grid.Job){
		FeatureLimits:  func(j *grid.Job) { j.Program.Limits = append(j.Program.Limits, grid.Limit{Name: grid.LimitStack}) },
		FeatureAccount: func(j *grid.Job) { j.Account = "physics" },
		FeatureSites:   func(j *grid.Job) { j.Sites.Not = []grid.SiteName{"xeon80"} },
		FeatureDialect: func(j *grid.Job) { j.Program.Dialect = grid.DialectOpenPBS },
		FeatureWarning: func(j *grid.Job) { j.Warning = grid.Warning{Signal: 10, Before: 1} },
		FeatureSources: func(j *grid.Job) { j.Sources = []grid.Source{{Path: "a", URI: "https://h/a"}} },
		FeatureTargets: func(j *grid.Job) { j.Outputs = []grid.Output{{Path: "a", URI: "https://h/a"}} },
		FeatureBring:   func(j *grid.Job) { j.Bring = []grid.Bring{{Pattern: "a"}} },
		"":             func(j *grid.Job) { j.About.Projects = []string{"p"} },
		FeaturePart:    func(j *grid.Job) { j.Part = examplePart() },
		"terms":        func(j *grid.Job) { j.Terms = grid.Terms{NotBefore: 1, Priority: 2, Held: true, Deadline: 3} },
	} {
		job := exampleJob()
		set(&job)
		covered := feature != "" && feature != "terms"
		if JobDigest(job) != JobDigest(exampleJob()) != covered {
			t.Errorf("%q: the digest covers it: %v", feature, !covered)
		}
		frame, err := Encode(Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if covered {
			want = []string{feature}
		}
		e, err := unwrap(frame)
		if err != nil || !slices.Equal(e.needs, want) {
			t.Errorf("%q: an offer needs %v, %v", feature, e.needs, err)
		}
		m, err := Decode(frame)
		if err != nil {
			t.Errorf("%q: %v", feature, err)
		} else if !reflect.DeepEqual(m.(Offer).Job.Terms, grid.Terms{}) || !reflect.DeepEqual(m.(Offer).Job.About, job.About) {
			t.Errorf("%q: terms travel, or what describes the job does not: %+v", feature, m)
		}
	}
}
