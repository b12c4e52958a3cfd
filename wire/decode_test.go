package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"gbroker/grid"
)

// Eight to ten bytes that declare millions of elements: the decoder alone would
// allocate gigabytes for them.
func TestDeclaredLengthsAreNotBelieved(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"array of questions":  "\x81\xa1q\xdd\x02\x00\x00\x00",
		"array of more":       "\x81\xa1q\xdd\xff\xff\xff\xff",
		"map":                 "\xdf\x02\x00\x00\x00",
		"huge map":            "\xdf\xff\xff\xff\xff",
		"bin":                 "\x81\xa1q\xc6\x7f\xff\xff\xff",
		"string":              "\x81\xa1r\xdb\x7f\xff\xff\xff",
		"key":                 "\x81\xdb\x7f\xff\xff\xff",
		"unknown field":       "\x81\xa1?\xdd\x02\x00\x00\x00",
		"array without items": "\x81\xa1q\xdc\xff\xff",
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, b := range bodies {
		for _, kind := range kinds() {
			frame := append([]byte{0x94, Version, byte(kind), 0x90}, b...)
			var malformed *Malformed
			if _, err := Decode(frame); !errors.As(err, &malformed) {
				t.Errorf("%v with %s: %v", kind, name, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("refusing them took %d MiB", n>>20)
	}
}

// The elements of a frame are bounded too: each may become a struct of a hundred
// bytes in memory.
func TestElementsAreBounded(t *testing.T) {
	t.Parallel()
	n := someElements + 1
	frame := []byte{0x94, Version, byte(KindEstimateRequest), 0x90, 0x81, 0xa1, 'q', 0xdd, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	frame = append(frame, bytes.Repeat([]byte{0x80}, n)...)
	if _, err := Decode(frame); !errors.Is(err, errMany) {
		t.Error(err)
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	for _, nest := range []string{"\x91", "\x81\xa1x"} {
		for depth, want := range map[int]error{MaxDepth - 2: nil, MaxDepth: errDeep, 1 << 12: errDeep} {
			frame := "\x94\x01\x11\x90\x83\xa1?" + strings.Repeat(nest, depth) + "\xc0\xa1j\xd9\x21" + string(aJob) + "\xa1e\x80"
			_, err := Decode([]byte(frame))
			if want == nil && err != nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%x nested %d times: %v", nest, depth, err)
			}
		}
	}
}

func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ frame, want string }{
		"empty":             {"", "ends before"},
		"no array":          {"\x80", "no array of version"},
		"too few":           {"\x93\x01\x01\x90", "no array of version"},
		"version no number": {"\x94\xa1x\x01\x90\x80", "version: it is no unsigned"},
		"negative kind":     {"\x94\x01\xff\x90\x80", "kind: it is no unsigned"},
		"kind 0":            {"\x94\x01\x00\x90\x80", "0 can be no kind"},
		"kind 256":          {"\x94\x01\xcd\x01\x00\x90\x80", "256 can be no kind"},
		"needs a number":    {"\x94\x01\x01\x07\x80", "needs: it is no array"},
		"too many needs":    {"\x94\x01\x01\xdc\x10\x00\x80", "4096 features"},
		"bad need":          {"\x94\x01\x01\x91\xa1/\x80", "needs: the name"},
		"body no map":       {"\x94\x01\x01\x90\x91\x01", "its body is no map"},
		"no body":           {"\x94\x01\x01\x90", "its body is no map"},
		"ext":               {"\x94\x01\x01\x90\x81\xa1p\xd4\x00\x00", "code 0xd4"},
		"never used":        {"\x94\x01\x01\x90\x81\xa1p\xc1", "code 0xc1"},
		"number as key":     {"\x94\x01\x01\x90\x81\x01\x01", "key that is no string"},
		"bytes after":       {"\x94\x01\x01\x90\x80\x00", "1 bytes follow"},
		"text for number":   {"\x94\x01\x02\x90\x81\xa1r\xa1x", "malformed EstimateRequest"},
	}
	for name, c := range cases {
		var malformed *Malformed
		_, err := Decode([]byte(c.frame))
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTypedRefusals(t *testing.T) {
	t.Parallel()
	var kind *UnknownKind
	if _, err := Decode([]byte("\x94\x01\xcc\xc8\x90\x80")); !errors.As(err, &kind) || kind.Number != 200 {
		t.Error(err)
	}
	var version *UnsupportedVersion
	if _, err := Decode([]byte("\x94\x02\x01\x90\x80")); !errors.As(err, &version) || !strings.Contains(err.Error(), "version 2 is newer than this gbroker's 1") {
		t.Error(err)
	}
	frame, err := Encode(Closed{Job: aJob}, "gang-scheduling")
	if err != nil {
		t.Fatal(err)
	}
	var feature *UnsupportedFeature
	if _, err := Decode(frame); !errors.As(err, &feature) || feature.Feature != "gang-scheduling" || feature.Of != KindClosed {
		t.Error(err)
	}
	e, err := unwrap(frame)
	if err != nil || len(e.needs) != 1 || e.needs[0] != "gang-scheduling" {
		t.Error(e, err)
	}
	if _, err := Encode(Closed{Job: aJob}, "Bad Name"); err == nil {
		t.Error("a feature with a bad name is encoded")
	}
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]Kind{
		"\x94\x01\xcc\xc8\x90\x80":          200,
		"\x94\x02\x01\x90\x80":              0,
		"\x94\x01\x01\x90\x80":              KindHello,
		"\x94\x01\x09\x91\xa5later\x80":     KindCommit,
		"\x94\x01\x09\x90\x81\xa1x\xa2\xff": KindCommit,
	} {
		_, err := Decode([]byte(frame))
		answer, ok := Complaint(err)
		if !ok || answer.Of != want || answer.Why == "" {
			t.Errorf("%x: %v is answered by %+v %v", frame, err, answer, ok)
		}
		if _, err := Encode(answer); err != nil {
			t.Error(err)
		}
	}
	_, err := Decode([]byte("\x94\x01\x13\x90\x81\xa1y\xa1\xff"))
	if answer, ok := Complaint(err); ok || err == nil {
		t.Errorf("a malformed Error is answered by %+v", answer)
	}
	if _, ok := Complaint(errors.New("connection reset")); ok {
		t.Error("an error of the stream is answered")
	}
}

// A later version may add fields at every depth, and elements after the body.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	for _, m := range examples() {
		frame, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		e, err := unwrap(frame)
		if err != nil {
			t.Fatal(err)
		}
		var fields any
		if err := msgpack.Unmarshal(e.body, &fields); err != nil {
			t.Fatal(err)
		}
		body, err := msgpack.Marshal(extend(fields))
		if err != nil {
			t.Fatal(err)
		}
		later := append([]byte{0x96, Version, byte(m.Kind()), 0x90}, body...)
		later = append(later, 0x81, 0xa1, 'x', 0x01, 0xc0)
		got, err := Decode(later)
		if err != nil {
			t.Errorf("%v: %v", m.Kind(), err)
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("%v with more fields decodes to %+v", m.Kind(), got)
		}
	}
}

// extend adds two fields to every map within v.
func extend(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = extend(x)
		}
		v["zz"], v["new thing"] = map[string]any{"a": []any{1, nil, "x", 2.5}}, []byte{1, 2}
	case []any:
		for i := range v {
			v[i] = extend(v[i])
		}
	}
	return v
}

// Each value from outside has a limit. Encode applies the same, so that it is
// asked here; that Decode does is shown for frames made without the check.
func TestValuesAreChecked(t *testing.T) {
	t.Parallel()
	handoff := HandoffID{Job: aJob, To: other}
	site := grid.Site{Name: "a", Processes: 1, Speed: 1}
	offer := func(change func(*grid.Job)) Message {
		job := exampleJob()
		change(&job)
		return Offer{Handoff: handoff, Job: job}
	}
	file := func(p string, size int64, n int) Message {
		return offer(func(j *grid.Job) {
			j.Inputs = grid.Manifest{{Path: p, Size: size, Ranges: make([]grid.Hash, n)}}
		})
	}
	chunk := func(k grid.Chunk) Message {
		return EstimateRequest{Questions: []Question{{Job: aJob, Walltime: 1, Demand: grid.Demand{Chunks: []grid.Chunk{k}}}}}
	}
	speed := func(f float64) Message { s := site; s.Speed = f; return EstimateReply{Site: s} }
	cases := []struct {
		want string
		m    Message
	}{
		{"site.speed: NaN", speed(math.NaN())},
		{"site.speed: +Inf", speed(math.Inf(1))},
		{"site.speed: -1", speed(-1)},
		{"site.speed: 0", speed(0)},
		{"site.name", Hello{Site: grid.Site{Name: "A b", Speed: 1}}},
		{"site.processes", Hello{Site: grid.Site{Name: "a", Speed: 1, Processes: grid.MaxProcesses + 1}}},
		{"site.processes", Hello{Site: grid.Site{Name: "a", Speed: 1, Processes: -1}}},
		{"site.load.busy", Announce{grid.Site{Name: "a", Speed: 1, Load: grid.Load{Cores: 4, Busy: -1}}}},
		{"site.load.waiting", Announce{grid.Site{Name: "a", Speed: 1, Load: grid.Load{Waiting: grid.MaxProcesses + 1}}}},
		{"clock", Hello{Site: site, Clock: MaxSpan + 1}},
		{"questions: 2049", EstimateRequest{Questions: make([]Question, MaxQuestions+1)}},
		{"questions[0].demand.chunks[0].count", chunk(grid.Chunk{Count: 0, Processes: 1})},
		{"questions[0].demand.chunks[0].processes", chunk(grid.Chunk{Count: 1, Processes: -1})},
		{"questions[0].demand.chunks[0].cores", chunk(grid.Chunk{Count: 1, Processes: 1, Cores: math.MaxInt})},
		{"questions[0].demand.chunks[0].memory", chunk(grid.Chunk{Count: 1, Processes: 1, Memory: -1})},
		{"questions[0].demand.chunks[0].memory", chunk(grid.Chunk{Count: 1 << 20, Processes: 1, Memory: grid.MaxMemory})},
		{"questions[0].demand.chunks[0].resources: a resource: the name is empty", chunk(grid.Chunk{Count: 1, Processes: 1, Resources: []grid.Resource{{}}})},
		{"questions[0].demand.chunks[0].resources: 0 of the resource gpu", chunk(grid.Chunk{Count: 1, Processes: 1, Resources: []grid.Resource{{Name: "gpu"}}})},
		{"questions[0].demand.chunks[0].resources: the resource gpu is named twice",
			chunk(grid.Chunk{Count: 1, Processes: 1, Resources: []grid.Resource{{Name: "gpu", Amount: 1}, {Name: "gpu", Amount: 1}}})},
		{"questions[0].demand.chunks[0].resources: 1048576 pieces with", chunk(grid.Chunk{Count: 1 << 20, Processes: 1, Resources: []grid.Resource{{Name: "gpu", Amount: grid.MaxAmount}}})},
		{"questions[0].demand.properties: the property a is named twice",
			EstimateRequest{Questions: []Question{{Job: aJob, Walltime: 1, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1}}, Properties: []string{"a", "a"}}}}}},
		{"questions[0].demand.chunks: 1099511627776 processes", chunk(grid.Chunk{Count: 1 << 20, Processes: 1 << 20})},
		{"questions[0].demand.chunks: there are none", EstimateRequest{Questions: []Question{{Job: aJob, Walltime: 1}}}},
		{"questions[0].walltime", EstimateRequest{Questions: []Question{{Job: aJob, Demand: exampleJob().Demand}}}},
		{"questions[0].delivery", EstimateRequest{Questions: []Question{{Job: aJob, Demand: exampleJob().Demand, Walltime: 1, Delivery: -1}}}},
		{"questions[0].queue", EstimateRequest{Questions: []Question{{Job: aJob, Demand: exampleJob().Demand, Walltime: 1, Queue: "../q"}}}},
		{"answers[0].job", EstimateReply{Site: site, Answers: []Answer{{Job: "x"}}}},
		{"answers[0].estimate.wait", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Wait: -1}}}}},
		{"answers[0].estimate.wait", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Wait: math.MaxInt64}}}}},
		{"answers[0].estimate.safe wait", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Safe: -1}}}}},
		{"handoff.to", Inquire{Handoff: HandoffID{Job: aJob}}},
		{"handoff.to", Inquire{Handoff: HandoffID{Job: aJob, To: "a b"}}},
		{"handoff.to", Inquire{Handoff: HandoffID{Job: aJob, To: grid.PeerID(strings.Repeat("1", MaxPeer+1))}}},
		{"handoff.job", Inquire{Handoff: HandoffID{Job: "../../etc", To: other}}},
		{"handoff.job", Offer{Handoff: HandoffID{Job: aJob + ".1", To: other}, Job: exampleJob()}},
		{"owner", Owned{Handoff: handoff, Owner: "\x1b[2J"}},
		{"verdict", InquireReply{Handoff: handoff}},
		{"verdict", InquireReply{Handoff: handoff, Verdict: 5}},
		{"state: 0 is no state", Report{Job: aJob}},
		{"state: 200 is no state", Report{Job: aJob, State: 200}},
		{"end: RUNNING is no end", Report{Job: aJob, State: grid.Running, End: grid.Running}},
		{"started", Report{Job: aJob, State: grid.Running, Started: Ago{-MaxSpan - 1, true}}},
		{"signal", Report{Job: aJob, State: grid.Running, Signal: 256}},
		{"usage.cpu", Report{Job: aJob, State: grid.Running, Usage: grid.Usage{CPU: -1}}},
		{"usage.memory", Report{Job: aJob, State: grid.Running, Usage: grid.Usage{Memory: grid.MaxUsedMemory + 1}}},
		{"exit_code", Report{Job: aJob, State: grid.Running, ExitCode: 1 << 31}},
		{"local", Report{Job: aJob, State: grid.Running, Local: grid.LocalID(strings.Repeat("1", MaxLocal+1))}},
		{"local", Report{Job: aJob, State: grid.Running, Local: "a\x1bb"}},
		{"outputs[0].path", Report{Job: aJob, State: grid.Completed, Outputs: grid.Manifest{{Path: "/etc/passwd"}}}},
		{"job.id", offer(func(j *grid.Job) { j.ID = "" })},
		{"job.home", offer(func(j *grid.Job) { j.Home = "" })},
		{"job.user.name", offer(func(j *grid.Job) { j.User.Name = "" })},
		{"job.user.name", offer(func(j *grid.Job) { j.User.Name = "a\nb\x07" })},
		{"job.name", offer(func(j *grid.Job) { j.Name = "\x1b]0;" })},
		{"job.name", offer(func(j *grid.Job) { j.Name = "\xff" })},
		{"job.walltime", offer(func(j *grid.Job) { j.Walltime = grid.MaxWalltime + 1 })},
		{"job.program.executable: it is empty", offer(func(j *grid.Job) { j.Program.Executable = "" })},
		{"job.program.executable", offer(func(j *grid.Job) { j.Program.Executable = "../../sh" })},
		{"job.program.executable", offer(func(j *grid.Job) { j.Program.Executable = "/bin/s\x00h" })},
		{"job.program.directory", offer(func(j *grid.Job) { j.Program.Directory = ".." })},
		{"job.program.directory", offer(func(j *grid.Job) { j.Program.Directory = "/tmp" })},
		{"job.program.input", offer(func(j *grid.Job) { j.Program.Input = "../../in" })},
		{"job.program.output", offer(func(j *grid.Job) { j.Program.Output = "/dev/sda" })},
		{"job.program.error", offer(func(j *grid.Job) { j.Program.Error = strings.Repeat("e", grid.MaxPath+1) })},
		{"job.program.arguments: 4097", offer(func(j *grid.Job) { j.Program.Arguments = make([]string, grid.MaxArguments+1) })},
		{"job.program.arguments[1].value", offer(func(j *grid.Job) { j.Program.Arguments = []string{"", "a\x00"} })},
		{"job.program.arguments[0].value", offer(func(j *grid.Job) { j.Program.Arguments = []string{strings.Repeat("a", grid.MaxText+1)} })},
		{"job.program.arguments: with the environment", offer(func(j *grid.Job) {
			for range 17 {
				j.Program.Environment = append(j.Program.Environment, grid.Variable{Name: "V", Value: strings.Repeat("v", grid.MaxText)})
			}
		})},
		{"job.program.environment[0].name", offer(func(j *grid.Job) { j.Program.Environment = []grid.Variable{{Name: "A=B"}} })},
		{"job.program.memory_limit", offer(func(j *grid.Job) { j.Program.SetLimit(grid.LimitMemory, -1) })},
		{"job.program.limits", offer(func(j *grid.Job) { j.Program.Limits = []grid.Limit{{Name: "moon"}} })},
		{"job.program.limits", offer(func(j *grid.Job) { j.Program.Limits = []grid.Limit{{Name: grid.LimitStack}, {Name: grid.LimitCore}} })},
		{"job.account", offer(func(j *grid.Job) { j.Account = "--qos=high" })},
		{"job.sites", offer(func(j *grid.Job) { j.Sites.Only = []grid.SiteName{"../x"} })},
		{"job.warning", offer(func(j *grid.Job) { j.Warning = grid.Warning{Signal: 65, Before: 1} })},
		{"job.warning", offer(func(j *grid.Job) { j.Warning = grid.Warning{Signal: 9} })},
		{"job.bring[0].pattern", offer(func(j *grid.Job) { j.Bring = []grid.Bring{{Pattern: "../x"}} })},
		{"job.sharing.grants[0].holder", offer(func(j *grid.Job) { j.Sharing.Grants = []grid.Grant{{Content: grid.Hash{1}}} })},
		{"job.sharing.grants[0].until", offer(func(j *grid.Job) { j.Sharing.Grants = []grid.Grant{{Holder: other, Until: -1}} })},
		{"job.sharing.grants: 65", offer(func(j *grid.Job) { j.Sharing.Grants = make([]grid.Grant, grid.MaxGrants+1) })},
		{"job.sharing.grants", offer(func(j *grid.Job) { j.Sharing.Grants = []grid.Grant{{Holder: other, Signature: make([]byte, 200)}} })},
		{"job.program.dialect", offer(func(j *grid.Job) { j.Program.Dialect = "lsf" })},
		{"job.sources[0].path", offer(func(j *grid.Job) { j.Sources = []grid.Source{{Path: "../x", URI: "https://h/x"}} })},
		{"job.sources[0].uri", offer(func(j *grid.Job) { j.Sources = []grid.Source{{Path: "x", URI: "x"}} })},
		{"job.sources[0].uri: the URI holds a password", offer(func(j *grid.Job) { j.Sources = []grid.Source{{Path: "x", URI: "ftp://me:secret@h/x"}} })},
		{"job.sources[0].flag", offer(func(j *grid.Job) { j.Sources = []grid.Source{{Path: "x", URI: "https://h/x", Flag: 7}} })},
		{"job.outputs[0].target", offer(func(j *grid.Job) { j.Outputs = []grid.Output{{Path: "x", Target: "x", URI: "https://h/x"}} })},
		{"job.outputs[0].uri", offer(func(j *grid.Job) { j.Outputs = []grid.Output{{Path: "x", URI: "h\nx"}} })},
		{"job.about", offer(func(j *grid.Job) { j.About.Description = strings.Repeat("d", grid.MaxAbout+1) })},
		{"job.about", offer(func(j *grid.Job) { j.About.Projects = []string{"\x1b[2J"} })},
		{"job.demand.hosts", offer(func(j *grid.Job) { j.Demand.Hosts = []string{"-x"} })},
		{"job.demand.disk", offer(func(j *grid.Job) { j.Demand.Disk = -1 })},
		{"job.demand.measures", offer(func(j *grid.Job) { j.Demand.Measures = []grid.Measure{{Of: "moon"}} })},
		{"job.demand.measures", offer(func(j *grid.Job) {
			j.Demand.Measures = []grid.Measure{{Of: grid.ClockSpeed, Within: []grid.Interval{{Low: math.NaN()}}}}
		})},
		{"job.outputs[0].target", offer(func(j *grid.Job) { j.Outputs = []grid.Output{{Path: "a", Target: "../.ssh/authorized_keys"}} })},
		{"job.outputs[0].path", offer(func(j *grid.Job) { j.Outputs = []grid.Output{{Path: "", Target: "a"}} })},
		{"job.inputs[0].path", file("../x", 0, 0)},
		{"job.inputs[0].path", file("..", 0, 0)},
		{"job.inputs[0].path", file("a/../../x", 0, 0)},
		{"job.inputs[0].path", file("a/./x", 0, 0)},
		{"job.inputs[0].path", file("a//x", 0, 0)},
		{"job.inputs[0].path", file("a/", 0, 0)},
		{"job.inputs[0].path", file("/x", 0, 0)},
		{"job.inputs[0].path", file("a\x00b", 0, 0)},
		{"job.inputs[0].size", file("a", -1, 0)},
		{"job.inputs[0].size", file("a", MaxSandbox+1, 0)},
		{"job.inputs[0].ranges", file("a", 1, 0)},
		{"job.inputs[0].ranges", file("a", grid.RangeSize, 2)},
		{"job.inputs[0].ranges", file("a", 0, 1)},
		{"job.inputs[0].mode", offer(func(j *grid.Job) { j.Inputs = grid.Manifest{{Path: "a", Mode: 0o4755}} })},
		{"job.inputs[1].path", offer(func(j *grid.Job) { j.Inputs = grid.Manifest{{Path: "b"}, {Path: "a"}} })},
		{"job.inputs[1].path", offer(func(j *grid.Job) { j.Inputs = grid.Manifest{{Path: "a"}, {Path: "a"}} })},
		{"job.inputs[2].path", offer(func(j *grid.Job) { j.Inputs = grid.Manifest{{Path: "a"}, {Path: "a-b"}, {Path: "a/b"}} })},
		{"job.inputs: 10001", offer(func(j *grid.Job) { j.Inputs = make(grid.Manifest, grid.MaxFiles+1) })},
		{"job", Error{Of: KindEstimateRequest, Job: "nonsense"}},
		{"user: it is empty", Request{Job: aJob}},
		{"job: it is about either", Request{User: "alice"}},
		{"job: it is about either", Request{User: "alice", Job: aJob, Group: aGroup}},
		{"group", Request{User: "alice", Group: "nonsense"}},
		{"wish", Request{User: "alice", Job: aJob, Wish: wishes}},
		{"wish: 2 is no wish for a group", Request{User: "alice", Group: aGroup, Wish: WishAlter}},
		{"alter", Request{User: "alice", Job: aJob, Wish: WishAlter}},
		{"alter", Request{User: "alice", Job: aJob, Alter: &Alteration{}}},
		{"key", Request{User: "alice", Job: aJob, Key: "k"}},
		{"key: 129 bytes", Request{User: "alice", Job: aJob, Wish: WishResubmit, Key: strings.Repeat("k", MaxKey+1)}},
		{"limit", Request{User: "alice", Group: aGroup, Limit: MaxMembers + 1}},
		{"after", Request{User: "alice", Group: aGroup, After: -1}},
		{"outcome", Response{Job: aJob, Outcome: outcomes}},
		{"about", Response{Group: aGroup, Outcome: OutcomeDone}},
		{"about.members: 1001", Response{Group: aGroup, Outcome: OutcomeDone, About: &GroupStatus{User: grid.User{Home: aPeer}, Members: make([]Member, MaxMembers+1)}}},
		{"events: 4097", Response{Job: aJob, Outcome: OutcomeLater, Events: make([]Event, MaxEvents+1)}},
		{"decisions: 129", Response{Job: aJob, Outcome: OutcomeLater, Decisions: make([]Decision, MaxDecisions+1)}},
	}
	for _, c := range cases {
		_, err := Encode(c.m)
		if err == nil || !strings.Contains(err.Error(), ": "+c.want) {
			t.Errorf("%v: %v, want %q", c.m.Kind(), err, c.want)
			continue
		}
		got, err := Decode(unchecked(t, c.m))
		var malformed *Malformed
		if !errors.As(err, &malformed) || got != nil || !strings.Contains(err.Error(), ": "+c.want) {
			t.Errorf("%v is decoded: %v, want %q", c.m.Kind(), err, c.want)
		}
	}
}

// unchecked is the frame that a lying peer would send.
func unchecked(t testing.TB, m Message) []byte {
	t.Helper()
	b, err := mirror(m)
	if err != nil {
		t.Fatal(err)
	}
	frame := bytes.NewBuffer([]byte{0x94, Version, byte(m.Kind()), 0x90})
	write(frame, b)
	return frame.Bytes()
}

func TestNumbersAreNotCut(t *testing.T) {
	t.Parallel()
	for _, b := range []body{
		&closedBody{string(aJob), 1 << 32},
		&reportBody{Job: string(aJob), State: 256 + uint64(grid.Running)},
		&reportBody{Job: string(aJob), State: uint64(grid.Running), Attempt: 1 << 40},
		&errorBody{Of: 257},
	} {
		var c check
		if b.message(&c); c.err == nil {
			t.Errorf("%+v is taken", b)
		}
	}
}

// A text for people never makes a message impossible to send.
func TestTextsForPeopleAreMadePlain(t *testing.T) {
	t.Parallel()
	why := "no\x1b[2J\xff\u009b " + strings.Repeat("é", MaxWhy)
	for _, m := range []Message{
		Abort{HandoffID{Job: aJob, To: other}, why},
		Report{Job: aJob, State: grid.Failed, Reason: why},
		Error{Why: why},
		Refuse{HandoffID{Job: aJob, To: other}, grid.Estimate{Refusal: &grid.Refusal{Reason: why, Asked: why, Available: why}}},
	} {
		frame, err := Encode(m)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := Decode(frame)
		if err != nil || strings.ContainsAny(fmt.Sprint(got), "\x1b\u009b") {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got := plain("abcdé", 5); got != "ab…" {
		t.Errorf("%q", got)
	}
}

func TestEncodeRefusesWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	for _, m := range []Message{nil, &Inquire{}} {
		if _, err := Encode(m); err == nil {
			t.Errorf("%T is encoded", m)
		}
	}
}

// What the limits of grid allow must fit into a frame: the largest manifest, the
// most paths and the longest program at once.
func TestLargestOffer(t *testing.T) {
	t.Parallel()
	job := exampleJob()
	job.Program.Arguments = []string{strings.Repeat("a", grid.MaxText)}
	job.Inputs = nil
	size := MaxSandbox / grid.MaxFiles / grid.RangeSize * grid.RangeSize
	for i := range grid.MaxFiles {
		job.Inputs = append(job.Inputs, grid.File{
			Path: fmt.Sprintf("%05d%s", i, strings.Repeat("/"+strings.Repeat("d", 50), 19)),
			Size: size, Mode: 0o777, Ranges: make([]grid.Hash, size/grid.RangeSize),
		})
	}
	frame, err := Encode(Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(frame)
	if err != nil || !reflect.DeepEqual(m.(Offer).Job, job) {
		t.Fatal(err)
	}
	job.Inputs[0].Size = MaxSandbox
	job.Inputs[0].Ranges = make([]grid.Hash, MaxSandbox/grid.RangeSize)
	if _, err := Encode(Offer{Handoff: HandoffID{Job: job.ID, To: other}, Job: job}); err == nil || !strings.Contains(err.Error(), "bytes of files") {
		t.Error(err)
	}
}

// The largest question and its answer fit as well.
func TestLargestEstimateRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("q", grid.MaxName)
	id := grid.NewJobID(grid.SiteName(long), "01ARZ3NDEKTSV4RRFFQ69G5FAV") + ".123456789"
	q := Question{
		Job: id, Walltime: grid.MaxWalltime, Delivery: MaxSpan, Queue: grid.QueueName(long),
		Demand: grid.Demand{
			Chunks:       []grid.Chunk{{Count: 1, Processes: grid.MaxProcesses, Cores: grid.MaxProcesses, Memory: grid.MaxMemory}},
			Architecture: strings.Repeat("a", MaxWord), System: strings.Repeat("s", MaxWord),
		},
	}
	refusal := &grid.Refusal{Kind: grid.Temporary, Again: MaxSpan, Reason: strings.Repeat("r", MaxRefusal), Asked: strings.Repeat("a", MaxWord), Available: strings.Repeat("v", MaxWord)}
	ask, tell := EstimateRequest{}, EstimateReply{Site: grid.Site{Name: "a", Speed: 1}}
	for range MaxQuestions {
		ask.Questions = append(ask.Questions, q)
		tell.Answers = append(tell.Answers, Answer{Job: id, Estimate: grid.Estimate{Wait: MaxSpan, Safe: MaxSpan, Refusal: refusal}})
	}
	for _, m := range []Message{ask, tell} {
		if _, err := Encode(m); err != nil {
			t.Error(err)
		}
	}
}
