package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

func TestNodeLists(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"":                       "",
		"node01":                 "node01",
		"node[01-03,07]":         "node01 node02 node03 node07",
		"a,b[1-2]c[3-4],d":       "a b1c3 b1c4 b2c3 b2c4 d",
		"n[9-11]":                "n9 n10 n11",
		"n[009-010]-ib":          "n009-ib n010-ib",
		"n[1-":                   "!",
		"n[2-1]":                 "!",
		"n[a]":                   "!",
		"n[]":                    "!",
		"a,,b":                   "!",
		"a b":                    "!",
		"n[1-9999]":              "!",
		"n[1-100]m[1-100]":       "!",
		strings.Repeat("x", 300): "!",
	} {
		var got []string
		err := eachHost(list, 1000, func(name []byte) error {
			got = append(got, string(name))
			return nil
		})
		if err != nil {
			got = []string{"!"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.40q is %.100q, %v, not %q", list, got, err, want)
		}
	}
}

func TestGenericResources(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "[]",
		"(null)":                   "[]",
		"gpu:2":                    "[{gpu 2}]",
		"gpu:a100:4(S:0-1),fpga:1": "[{gpu:a100 4} {gpu 4} {fpga 1}]",
		"gres:gpu:a100:1":          "[{gpu:a100 1} {gpu 1}]",
		"fpga(CNT:2)":              "[{fpga 2}]",
		"fpga:a100(CNT:1)":         "[{fpga:a100 1} {fpga 1}]",
		"gpu:a:1,gpu:b:2":          "[{gpu:a 1} {gpu 3} {gpu:b 2}]",
		"fpga::2":                  "[{fpga 2}]",
		"bandwidth:1K":             "[{bandwidth 1024}]",
		"gpu:0":                    "[]",
		":":                        "!",
		"a:b:c:4":                  "!",
	} {
		list, err := gres(text)
		got := fmt.Sprint(list)
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%q is %s, %v, not %s", text, got, err, want)
		}
	}
}

// Names and paths that users choose do not speak for Slurm.
func TestImitations(t *testing.T) {
	t.Parallel()
	var text string
	for _, r := range recordings(t, kept) {
		if r.name == "lifecycle/06-show-running-o" {
			text = string(r.result.Stdout)
		}
	}
	for from, to := range map[string]string{
		"JobName=ok":          "JobName=ok UserId=root(0) JobState=PENDING",
		"WorkDir=/home/alice": "WorkDir=/home/x JobState=COMPLETED ExitCode=0:0",
		"StdIn=/dev/null":     "StdIn=/tmp/ NodeList=node09",
		"JobState=RUNNING":    "JobState=SLEEPING",
		"JobId=9":             "JobId=9x",
		"UserId=alice(2001)":  "UserId=alice",
		"NumCPUs=1 ":          "",
	} {
		if !strings.Contains(text, from) {
			t.Fatalf("no %s", from)
		}
		if jobs, err := parseJob([]byte(strings.Replace(text, from, to, 1))); err == nil {
			t.Errorf("%s is read as %+v", to, jobs[0])
		}
	}
	spaced := strings.Replace(text, "JobName=ok", "JobName=ok Name=x  =y", 1)
	if jobs, err := parseJob([]byte(spaced)); err != nil || jobs[0].Name != "ok Name=x  =y" {
		t.Errorf("a name with spaces: %+v, %v", jobs, err)
	}
}

func TestStrictJSON(t *testing.T) {
	t.Parallel()
	const job = `{"job_id":1,"name":"a","user_name":"b","partition":"c","job_state":"PENDING","exit_code":0,"restart_cnt":0,"nodes":"","node_count":1}`
	const good = `{"meta":{"Slurm":{"release":"22.05.8"}},"errors":[],"jobs":[` + job + `]}`
	if _, release, err := parseQueue([]byte(good)); err != nil || release != "22.05.8" {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"errors":          {`"errors":[]`, `"errors":[{"error":"x"}]`},
		"no errors":       {`"errors":[],`, ``},
		"jobs twice":      {`"errors":[]`, `"errors":[],"jobs":[]`},
		"unknown list":    {`"errors":[]`, `"errors":[],"steps":[]`},
		"states as lists": {`"PENDING"`, `["PENDING"]`}, // as later versions have
		"numbers as sets": {`"node_count":1`, `"node_count":{"set":true,"number":1}`},
		"no identifier":   {`"job_id":1,`, ``},
		"identifier":      {`"job_id":1`, `"job_id":0`},
		"no number":       {`"restart_cnt":0`, `"restart_cnt":null`},
		"fraction":        {`"node_count":1`, `"node_count":1.5`},
		"more behind":     {`]}`, `]} {}`},
		"jobs as object":  {`"jobs":[`, `"jobs":{`},
	} {
		if jobs, _, err := parseQueue([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: read as %+v", name, jobs)
		}
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"sched/backfill", "(null)"}:                             "cons-rebuild",
		{"sched/backfill", "bf_interval=1,bf_max_job_test=2000"}: "cons-rebuild",
		{"sched/backfill", "bf_max_job_test=5,bf_continue"}:      "easy:5",
		{"sched/builtin", ""}:                                    "fcfs",
		{"sched/backfill", "bf_max_job_test=many"}:               "!",
		{"sched/wiki", ""}:                                       "!",
	} {
		p, err := policy(in[0], in[1])
		got := p.String()
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%v is %s, %v, not %s", in, got, err, want)
		}
	}
}

func TestDemandsInWords(t *testing.T) {
	t.Parallel()
	chunk := func(count, processes, cores int, memory int64) grid.Chunk {
		return grid.Chunk{Count: count, Processes: processes, Cores: cores, Memory: memory}
	}
	gpus := chunk(2, 1, 4, 1<<30)
	gpus.Resources = []grid.Resource{{Name: "gpu:a100", Amount: 2}, {Name: "fpga", Amount: 1}}
	for _, test := range []struct {
		demand   grid.Demand
		parallel bool
		want     string
	}{
		{grid.Demand{Chunks: []grid.Chunk{chunk(1, 1, 1, 0)}}, false, "--ntasks=1 --cpus-per-task=1 --nodes=1 --ntasks-per-node=1"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(1, 4, 8, 1)}}, true, "--ntasks=4 --cpus-per-task=2 --nodes=1 --ntasks-per-node=4 --mem=1M"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(3, 1, 2, 3<<20)}}, true, "--ntasks=3 --cpus-per-task=2 --mem-per-cpu=2M"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(3, 2, 2, 1<<30)}}, true, "--ntasks=6 --cpus-per-task=1 --nodes=3 --ntasks-per-node=2 --mem=1024M"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(3, 2, 2, 0), chunk(1, 2, 2, 0)}, Exclusive: true}, false, "--ntasks=4 --cpus-per-task=2 --exclusive"},
		{grid.Demand{Chunks: []grid.Chunk{gpus}, Properties: []string{"fast", "ib"}}, false,
			"--ntasks=2 --cpus-per-task=4 --nodes=2 --ntasks-per-node=1 --mem=1024M --gres=gpu:a100:2,fpga:1 --constraint=fast&ib"},
		{grid.Demand{}, false, "!"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(1, 2, 1, 0)}}, true, "!"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(1, 1, 1, 0), chunk(1, 1, 2, 0)}}, false, "!"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(1, 1, 1, 0)}, Properties: []string{"a|b"}}, false, "!"},
		{grid.Demand{Chunks: []grid.Chunk{chunk(1<<20, 1, 1, 0)}}, false, "!"},
	} {
		words, err := demanded(test.demand, test.parallel)
		got := strings.Join(words, " ")
		if err != nil {
			got = "!"
		}
		if got != test.want {
			t.Errorf("%+v is %s, %v, not %s", test.demand, got, err, test.want)
		}
	}
}

// A limit is rounded up to minutes and never down, and an unfriendly path stays what it is.
func TestArguments(t *testing.T) {
	t.Parallel()
	o := external.Order{
		Tag: "tABC", Mark: "own/s.01J@1.0#1", Script: []byte("#!/bin/sh\n"), Work: "/a b", Log: "/a b/100%j",
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}
	for limit, want := range map[grid.Tick]string{1: "--time=1", grid.Minute: "--time=1", grid.Minute + 1: "--time=2", 25 * grid.Hour: "--time=1500"} {
		o.Limit = limit
		args, err := arguments(o)
		if err != nil || !slices.Contains(args, want) || !slices.Contains(args, "--output=/a b/100%%j") ||
			!slices.Contains(args, "--no-requeue") || slices.Contains(args, "--hold") {
			t.Errorf("%d: %q, %v", limit, args, err)
		}
	}
	o.Rerunnable, o.Held, o.Queue, o.Account, o.Reservation = true, true, "q", "a", "r"
	args, err := arguments(o)
	for _, want := range []string{"--requeue", "--hold", "--partition=q", "--account=a", "--reservation=r"} {
		if err != nil || !slices.Contains(args, want) || slices.Contains(args, "--no-requeue") {
			t.Errorf("no %s in %q, %v", want, args, err)
		}
	}
}

// Waiting jobs are in the order in which Slurm takes them; hyper-threads count as cores; a
// job without a limit has its partition's; memory counts only where Slurm gives it out.
// A partition that starts or takes nothing says so; one that is not for users has no nodes.
func TestPartitionsThatAreClosed(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"State=UP": "{q [0] 0 false false  []}", "State=DOWN": "{q [0] 0 true false the partition is DOWN []}",
		"State=DRAIN": "{q [0] 0 false true the partition is DRAIN []}", "State=INACTIVE": "{q [0] 0 true true the partition is INACTIVE []}",
		"State=UP RootOnly=YES": "{q [] 0 false false  []}",
	} {
		text := "PartitionName=q Default=NO DefaultTime=NONE MaxTime=UNLIMITED Nodes=n1 RootOnly=NO ReqResv=NO " + state + "\n"
		if strings.Contains(state, "RootOnly") {
			text = strings.Replace(text, "RootOnly=NO ", "", 1)
		}
		list, err := parsePartitions([]byte(text))
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", text, list, err)
		}
		list[0].limit = 0
		q, err := list[0].queue(map[string]int{"n1": 0})
		if got := fmt.Sprint(q); err != nil || got != want {
			t.Errorf("%s is %s, %v; not %s", state, got, err, want)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	nodes := []node{{Node: plan.Node{Name: "n1", Cores: 4}, threads: 2}, {Node: plan.Node{Name: "n2", Cores: 8}, threads: 2}}
	jobs := []external.Job{
		{Local: "10", State: external.Queued, Priority: 5, Submitted: 2, Limit: unlimited, Queue: "q"},
		{Local: "9", State: external.Queued, Priority: 5, Submitted: 2, Limit: 7},
		{Local: "8", State: external.Queued, Priority: 9, Submitted: 3, Limit: 7},
		{Local: "7", State: external.Running, Places: []external.Place{{Node: "n1", Cores: 1, Memory: 5}}},
		{Local: "6", State: external.Queued, Priority: 5, Submitted: 1, Limit: 7},
	}
	reservations := []reservation{
		{Reservation: external.Reservation{Native: "whole", Nodes: []grid.NodeName{"n1", "n2"}, Cores: []int{3, 3}}},
		{Reservation: external.Reservation{Native: "part", Nodes: []grid.NodeName{"n2"}, Cores: []int{3}}},
		{Reservation: external.Reservation{Native: "none"}},
	}
	partitions := []partition{{name: "q", nodes: "n[1-9]", limit: 100, usual: 60, users: true, state: "UP", first: true}, {name: "off", nodes: "n1"}}
	var l external.Listing
	if err := join(&l, settings{}, nodes, partitions, jobs, reservations); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, j := range l.Jobs {
		if j.State == external.Queued {
			order = append(order, string(j.Local))
		}
		if j.Local == "10" && j.Limit != 60 || j.Local == "7" && (j.Places[0].Cores != 2 || j.Places[0].Memory != 0) {
			t.Errorf("%+v", j)
		}
	}
	if !slices.Equal(order, []string{"8", "6", "9", "10"}) {
		t.Errorf("the order is %v", order)
	}
	if l.Default != "q" || !slices.Equal(l.Queues[0].Nodes, []int{0, 1}) || len(l.Queues[1].Nodes) != 0 || l.Queues[1].Nodes == nil {
		t.Errorf("%+v", l.Queues)
	}
	if r := l.Reservations; r[0].Cores != nil || !slices.Equal(r[1].Cores, []int{6}) || r[2].Cores != nil {
		t.Errorf("%+v", r)
	}
	if err := join(&l, settings{}, append(nodes, nodes[0]), partitions, nil, nil); err == nil {
		t.Error("a node twice")
	}
}

// An identifier that is no number never becomes a word of a command.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for said, kind := range map[string]error{
		"sbatch: error: Batch job submission failed: Invalid partition name specified":                           grid.ErrInvalid,
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)":       grid.ErrUnavailable,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":                    grid.ErrUnavailable,
		"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying":                           grid.ErrUnavailable,
		"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, ...)": grid.ErrUnavailable,
		"something new": grid.ErrUnavailable,
		"":              grid.ErrUnavailable,
	} {
		r := recording{command: "sbatch"}
		r.result.Exit, r.result.Stderr = 1, []byte(said)
		if err := ofKind(r, kind); err != nil {
			t.Error(err)
		}
	}
	if _, err := jobID("1 --user=x"); !errors.Is(err, grid.ErrInvalid) {
		t.Error(err)
	}
}
