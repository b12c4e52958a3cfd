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
	job := grid.JobID(strings.Repeat("s", grid.MaxName) + ".01ARZ3NDEKTSV4RRFFQ69G5FAV.99999")
	var m EstimateRequest
	for range MaxAsked {
		m.Questions = append(m.Questions, Question{Job: job, Home: grid.PeerID(strings.Repeat("p", MaxPeer)), Reservation: grid.ReservationID(strings.Repeat("r", 24)), Demand: d, Walltime: grid.MaxWalltime, Delivery: MaxSpan, Queue: grid.QueueName(strings.Repeat("q", grid.MaxName)), User: strings.Repeat("u", MaxUser), Deadline: In{Span: MaxSpan, Known: true}, Within: MaxSpan})
	}
	if _, err := Encode(m); err != nil {
		t.Error(err)
	}
}

// What a site tells of starts takes no more than 1 KiB, and fits in a frame.
func TestLargestStartsFit(t *testing.T) {
	t.Parallel()
	var s grid.Starts
	for i := range grid.MaxStartProcesses {
		s.Processes = append(s.Processes, grid.MaxProcesses-grid.MaxStartProcesses+i)
	}
	for i := range grid.MaxStartWalltimes {
		s.Walltimes = append(s.Walltimes, grid.MaxWalltime-grid.MaxStartWalltimes+grid.Tick(i))
	}
	s.Age, s.Whole, s.Waits = grid.Hour, true, slices.Repeat([]grid.Tick{grid.Unforeseen}, grid.MaxStartProcesses*grid.MaxStartWalltimes)
	with, err := Encode(Announce{Site: drainingSite, Starts: s})
	if err != nil {
		t.Fatal(err)
	}
	without, err := Encode(Announce{Site: drainingSite})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(with) - len(without); n > 1<<10 {
		t.Errorf("%d bytes", n)
	}
	if _, err := Decode(with); err != nil {
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
			values = append(values, a.Site, a.Site.Load, a.Site.Each, a.Starts)
			for _, c := range a.Site.Cohorts {
				values = append(values, c)
			}
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
		if o, ok := m.(Offer); ok && o.Job.Coallocation != nil {
			values = append(values, *o.Job.Coallocation)
		}
	}
	set := map[string]bool{"grid.Job.Terms": true, "grid.Job.Guaranteed": true, "grid.Slot.Site": true} // stay at the home
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
