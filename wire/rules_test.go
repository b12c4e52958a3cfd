package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// Measures are from nothing to their most; what is above, below or no number is refused.
func TestMeasuresHaveBounds(t *testing.T) {
	t.Parallel()
	hello := func(change func(s *grid.Site)) Message {
		s := grid.Site{Name: "a", Processes: 1, Speed: 1, Cohorts: []grid.Cohort{{Computers: 1, Levels: []float64{0}}}}
		change(&s)
		return Hello{Site: s}
	}
	for field, c := range map[string]struct {
		most float64
		with func(v float64) Message
	}{
		"site.each.clock": {grid.MaxQuantity, func(v float64) Message { return hello(func(s *grid.Site) { s.Each = grid.Each{Disk: 1, Clock: v} }) }},
		"site.each.clock: 0 Hz": {grid.MaxQuantity, func(v float64) Message {
			return hello(func(s *grid.Site) { s.Each = grid.Each{Disk: 1, Bandwidth: v} })
		}},
		"site.cohorts[0].speed":           {MaxSpeed, func(v float64) Message { return hello(func(s *grid.Site) { s.Cohorts[0].Speed = v }) }},
		"site.cohorts[0].levels[0].level": {MaxSpeed, func(v float64) Message { return hello(func(s *grid.Site) { s.Cohorts[0].Levels[0] = v }) }},
		"fee":                             {MaxPrice, func(v float64) Message { m := exampleReserve(); m.Fee = v; return m }},
	} {
		for v, fine := range map[float64]bool{0: true, c.most: true, math.Nextafter(c.most, math.Inf(1)): false, -math.SmallestNonzeroFloat64: false, math.NaN(): false} {
			m := c.with(v)
			_, sent := Encode(m)
			_, came := Decode(unchecked(t, m))
			if fine && (sent != nil || came != nil) || !fine && (sent == nil || came == nil || !strings.Contains(came.Error(), ": "+field)) {
				t.Errorf("%s of %v: %v, %v", field, v, sent, came)
			}
		}
	}
}

// What contradicts itself is refused by the field that is too much, whoever sends it.
func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	delivery := func(change func(m *Reserve)) Message {
		m := exampleReserve()
		m.Nodes, m.What, m.Bandwidth = nil, grid.DeliveryReserved, 1
		change(&m)
		return m
	}
	status := func(change func(s *Status)) Message {
		s := Status{User: grid.User{Home: aPeer}, Home: aPeer, State: grid.Running, Demand: exampleJob().Demand, Walltime: 1}
		change(&s)
		return Response{Job: aJob, Outcome: OutcomeDone, Status: &s}
	}
	offer := func(change func(j *grid.Job)) Message {
		job := exampleJob()
		change(&job)
		return Offer{Handoff: HandoffID{Job: aJob, To: other}, Job: job}
	}
	for _, c := range []struct {
		field string
		m     Message
	}{
		{"bandwidth", delivery(func(m *Reserve) { m.Nodes = []grid.NodeName{"n1"} })},
		{"bandwidth", delivery(func(m *Reserve) { m.Demand = exampleJob().Demand })},
		{"count", Change{ID: "r1", Number: 1, Start: 1000, End: 2000, Count: 1, Nodes: []grid.NodeName{"n1"}}},
		{"job: it is about either", Response{Outcome: OutcomeLater}},
		{"status.end", status(func(s *Status) { s.End = grid.Running })},
		{"end", ReportAck{Job: aJob, End: grid.Running}},
		{"job.program.environment[0].name", offer(func(j *grid.Job) { j.Program.Environment = []grid.Variable{{Name: "=A"}} })},
		{"job.program.environment[0].name", offer(func(j *grid.Job) { j.Program.Environment = []grid.Variable{{Value: "a"}} })},
		{"job.program.arguments[0].value", offer(func(j *grid.Job) { j.Program.Arguments = []string{"\x00a"} })},
		{"certificates: there is none", Moved{Job: aJob}},
		{"arrived", Report{Job: aJob, State: grid.Running, Arrived: Ago{1, true}, Hosts: []string{"-n1:2"}, Address: "n1:40123"}},
		{"site.reach peers", Hello{Site: grid.Site{Name: "a", Speed: 1, ReachPeers: make([]grid.PeerID, grid.MaxChoice+2)}}},
	} {
		_, sent := Encode(c.m)
		_, came := Decode(unchecked(t, c.m))
		if sent == nil || came == nil || !strings.Contains(came.Error(), ": "+c.field) {
			t.Errorf("%s: %v, %v", c.field, sent, came)
		}
	}
	var twice, few check
	programBody{Executable: "x", MemoryLimit: 1, Limits: []limitBody{{string(grid.LimitMemory), 1}}}.program(&twice)
	if twice.err == nil || !strings.Contains(twice.err.Error(), "limited twice") {
		t.Errorf("a memory that is limited in both places: %v", twice.err)
	}
	(&spreadBody{}).spread(&few)
	if few.err == nil {
		t.Error("a spread of no outcomes is taken")
	}
}

// Annotations and projects alone describe a job too, however many there are of each.
func TestEachDescriptionTravels(t *testing.T) {
	t.Parallel()
	for _, about := range []grid.About{
		{Description: "d"}, {Application: "a"}, {Version: "1"}, {Annotations: []string{"n"}}, {Projects: []string{"p"}},
		{Annotations: []string{"n"}, Projects: []string{"p"}},
	} {
		job := exampleJob()
		job.About = about
		frame, err := Encode(Offer{Handoff: HandoffID{Job: aJob, To: other}, Job: job})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Decode(frame); err != nil || !reflect.DeepEqual(m.(Offer).Job.About, about) {
			t.Errorf("%+v comes as %+v, %v", about, m, err)
		}
	}
}

// A frame is as long as its kind may be, and no longer, also where it comes from nowhere but memory.
func TestFramesAreAsLongAsTheirKind(t *testing.T) {
	t.Parallel()
	frame := func(size int) []byte {
		head := fmt.Sprintf("\x94\x01%c\x90\x82\xa1j\xd9\x21%s\xa1?\xc5", KindCancel, aJob)
		rest := size - len(head) - 2
		return append([]byte(head+string([]byte{byte(rest >> 8), byte(rest)})), make([]byte, rest)...)
	}
	if m, err := Decode(frame(KindCancel.Limit())); err != nil || m != (Cancel{Job: aJob}) {
		t.Errorf("at its limit: %v, %v", m, err)
	}
	var large *TooLarge
	if _, err := Decode(frame(KindCancel.Limit() + 1)); !errors.As(err, &large) || large.Limit != KindCancel.Limit() {
		t.Errorf("above it: %v", err)
	}
}

// What follows the body, of later versions, is walked over as the body is.
func TestWhatFollowsTheBodyIsGuarded(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		return []byte("\x95\x01\x11\x90\x81\xa1j\xd9\x21" + string(aJob) + strings.Repeat("\x91", depth) + "\xc0")
	}
	if m, err := Decode(nested(MaxDepth - 1)); err != nil || m != (Cancel{Job: aJob}) {
		t.Errorf("as deep as may be: %v, %v", m, err)
	}
	if _, err := Decode(nested(MaxDepth)); !errors.Is(err, errDeep) {
		t.Errorf("deeper: %v", err)
	}
}

// An administrator reads which kinds the older broker knows.
func TestAnUnknownKindIsToldWithThoseThatAreKnown(t *testing.T) {
	t.Parallel()
	all := kinds()
	last := all[len(all)-1]
	_, err := Decode([]byte{0x94, Version, byte(last) + 1, 0x90, 0x80})
	if want := fmt.Sprintf("message kind %d is unknown here: the sender's gbroker is newer (this one knows 1 to %d)", last+1, last); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A message names as many features as one may ask for.
func TestNeedsThatAreNamed(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range MaxNeeds + 1 {
		names = append(names, fmt.Sprintf("f%d", i))
	}
	if _, err := Encode(Cancel{Job: aJob}, names[:MaxNeeds]...); err != nil {
		t.Errorf("the most: %v", err)
	}
	if _, err := Encode(Cancel{Job: aJob}, names...); err == nil {
		t.Error("one more is named")
	}
}
