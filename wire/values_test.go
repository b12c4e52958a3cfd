package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gbroker/grid"
)

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
	slot := func(change func(*grid.Slot)) Message {
		s := grid.Slot{Node: "n1", Start: 1, End: 2, Cores: 1}
		change(&s)
		return SlotsReply{Of: aJob, Site: site, Slots: []grid.Slot{s}}
	}
	starts := func(change func(*grid.Starts)) Message {
		s := grid.Starts{Processes: []int{1, 2}, Walltimes: []grid.Tick{grid.Minute, grid.Hour, grid.Day}, Waits: make([]grid.Tick, 6)}
		change(&s)
		return Announce{Site: site, Starts: s}
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
		{"site.load.busy", Announce{Site: grid.Site{Name: "a", Speed: 1, Load: grid.Load{Cores: 4, Busy: -1}}}},
		{"site.load.waiting", Announce{Site: grid.Site{Name: "a", Speed: 1, Load: grid.Load{Waiting: grid.MaxProcesses + 1}}}},
		{"starts.waits: 5 bytes are not one wait for each of 6", starts(func(s *grid.Starts) { s.Waits = s.Waits[:5] })},
		{"starts.waits: 7 bytes", starts(func(s *grid.Starts) { s.Waits = append(s.Waits, 1) })},
		{"starts.waits", starts(func(s *grid.Starts) { s.Waits[2] = grid.Unforeseen + 1 })},
		{"starts.waits", starts(func(s *grid.Starts) { s.Processes, s.Walltimes = nil, nil })},
		{"starts.processes: 21", starts(func(s *grid.Starts) { s.Processes = make([]int, grid.MaxStartProcesses+1) })},
		{"starts.processes[0]", starts(func(s *grid.Starts) { s.Processes[0] = 0 })},
		{"starts.processes: 2 is not after 2", starts(func(s *grid.Starts) { s.Processes[0] = 2 })},
		{"starts.walltimes[1]", starts(func(s *grid.Starts) { s.Walltimes[1] = grid.MaxWalltime + 1 })},
		{"starts.age", starts(func(s *grid.Starts) { s.Age = -1 })},
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
		{"to: from 60000 to 60000", Slots{Of: aJob, Demand: exampleJob().Demand, Walltime: 1, User: exampleJob().User, From: grid.Minute, To: grid.Minute}},
		{"slots[0].node", slot(func(s *grid.Slot) { s.Node = "-n1" })},
		{"slots[0].cores", slot(func(s *grid.Slot) { s.Cores = 0 })},
		{"slots[0].memory", slot(func(s *grid.Slot) { s.Memory = -1 })},
		{"slots[0].resources", slot(func(s *grid.Slot) { s.Resources = []grid.Resource{{}} })},
		{"slots[0].price", slot(func(s *grid.Slot) { s.Price = math.Inf(1) })},
		{"slots[0].end", slot(func(s *grid.Slot) { s.End = s.Start })},
		{"questions[0].queue", EstimateRequest{Questions: []Question{{Job: aJob, Demand: exampleJob().Demand, Walltime: 1, Queue: "../q"}}}},
		{"answers[0].job", EstimateReply{Site: site, Answers: []Answer{{Job: "x"}}}},
		{"answers[0].estimate.wait", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Wait: -1}}}}},
		{"answers[0].estimate.wait", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Wait: math.MaxInt64}}}}},
		{"answers[0].estimate.alone", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Alone: -1}}}}},
		{"answers[0].estimate.run", EstimateReply{Site: site, Answers: []Answer{{Job: aJob, Estimate: grid.Estimate{Run: -1}}}}},
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
	flagged := fromOffer(Offer{Handoff: HandoffID{Job: aJob, To: other}, Job: exampleJob()})
	flagged.Job.Sources = []sourceBody{{Path: "a", URI: "https://h/a", Flag: 256}} // the first flag, where it is cut
	for _, b := range []body{
		&closedBody{string(aJob), 1 << 32},
		&reportBody{Job: string(aJob), State: 256 + uint64(grid.Running)},
		&reportBody{Job: string(aJob), State: uint64(grid.Running), Attempt: 1 << 40},
		&errorBody{Of: 257},
		flagged,
		&requestBody{Job: string(aJob), User: "alice", Cancel: true, Wish: uint64(WishHistory)}, // two wishes
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
