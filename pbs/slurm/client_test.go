package slurm_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/pbs/slurm"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/plan"
)

// patience is a bound for what takes a second or two on an idle machine.
const patience = 90 * time.Second

// mixed is a cluster of two kinds of nodes, which counts memory.
func mixed(t *testing.T) (*slurmtest.Cluster, *slurm.Client) {
	t.Helper()
	c := slurmtest.Shared(t, "mixed", slurmtest.Config{
		Nodes: []slurmtest.Nodes{
			{Count: 2, CPUs: 2, More: "Gres=fpga:a100:2 Feature=fast,big"},
			{Count: 2, CPUs: 4, Memory: 4000, More: "Gres=fpga:2 Feature=slow"},
		},
		Partitions: []string{
			"batch Nodes=ALL Default=YES DefaultTime=10 MaxTime=1-0 State=UP",
			"short Nodes=node[03-04] MaxTime=5 State=UP",
			"closed Nodes=node01 State=DOWN",
		},
		Lines: []string{"SelectTypeParameters=CR_Core_Memory", "GresTypes=fpga", "DefMemPerCPU=100"},
		Gres:  "NodeName=node[01-02] Name=fpga Type=a100 Count=2\nNodeName=node[03-04] Name=fpga Count=2\n",
	})
	return c, client(c)
}

func client(c *slurmtest.Cluster) *slurm.Client {
	return slurm.New(slurm.Config{Runner: command.Runner{Environment: append(command.Environment(), c.Environment()...), Limit: patience}})
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	end, again := time.After(patience), time.NewTicker(100*time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// order is a job of one core that runs a script in a folder of its own, whose name is as
// unfriendly as the driver allows.
func order(t *testing.T, script string) external.Order {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a folder; of %j 100% $HOME 'ü'")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return external.Order{
		Tag: "tABCDEFGHIJKLMN", Mark: "own/s.01J@1.0#1", Script: []byte("#!/bin/sh\n" + script + "\n"),
		Work: dir, Log: filepath.Join(dir, "log%x"), Limit: 90 * grid.Second,
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}
}

func submit(t *testing.T, c *slurm.Client, o external.Order) grid.LocalID {
	t.Helper()
	id, err := c.Submit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(t.Context(), "", id); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return id
}

func look(t *testing.T, c *slurm.Client, id grid.LocalID) external.Job {
	t.Helper()
	jobs, err := c.Look(t.Context(), id)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("look at %s: %v, %v", id, jobs, err)
	}
	return jobs[0]
}

func awaitState(t *testing.T, c *slurm.Client, id grid.LocalID, want external.State) external.Job {
	t.Helper()
	var job external.Job
	eventually(t, fmt.Sprintf("job %s is in state %d", id, want), func() bool {
		job = look(t, c, id)
		return job.State == want
	})
	return job
}

// listed is the job in a fresh listing.
func listed(t *testing.T, c *slurm.Client, id grid.LocalID) (external.Job, external.Listing) {
	t.Helper()
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !l.Ranked {
		t.Error("priorities are not taken to be Slurm's own")
	}
	at := slices.IndexFunc(l.Jobs, func(j external.Job) bool { return j.Local == id })
	if at < 0 {
		t.Fatalf("job %s is not listed among %d", id, len(l.Jobs))
	}
	return l.Jobs[at], l
}

func TestJobFromSubmissionToItsEnd(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	o := order(t, `cat >in; echo "$PWD"; echo oops >&2; exit 7`)
	id := submit(t, c, o)
	job := awaitState(t, c, id, external.Done)
	if job.End == nil || job.End.ExitCode != 7 || job.End.Cause != grid.ByItself {
		t.Errorf("it ended %+v", job.End)
	}
	if job.Name != o.Tag || job.Mark != o.Mark || job.Limit != 2*grid.Minute || job.NeverStarted {
		t.Errorf("it is %+v", job)
	}
	said, err := os.ReadFile(o.Log)
	if err != nil || string(said) != o.Work+"\noops\n" {
		t.Errorf("its log says %q, %v", said, err)
	}
	again, _ := listed(t, c, id)
	if again.Name != o.Tag || again.Mark != o.Mark || again.User != job.User || again.End == nil || *again.End != *job.End ||
		again.Started != job.Started || again.Finished != job.Finished || again.Limit != job.Limit {
		t.Errorf("looked at it is\n%+v\nand listed\n%+v", job, again)
	}
}

func TestWhatListingsHold(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	o := order(t, "sleep 1000")
	o.Held = true
	o.Queue = "short"
	o.Demand = grid.Demand{
		Chunks:     []grid.Chunk{{Count: 2, Processes: 2, Cores: 2, Memory: 64<<20 + 1, Resources: []grid.Resource{{Name: "fpga", Amount: 1}}}},
		Properties: []string{"slow"}, Exclusive: true,
	}
	id := submit(t, c, o)
	job, l := listed(t, c, id)
	want := grid.Demand{
		Chunks:     []grid.Chunk{{Count: 2, Processes: 1, Cores: 2, Memory: 65 << 20, Resources: []grid.Resource{{Name: "fpga", Amount: 1}}}},
		Properties: []string{"slow"}, Exclusive: true,
	}
	if fmt.Sprint(job.Demand) != fmt.Sprint(want) || job.State != external.Held || !job.OurHold || !job.NeverStarted || job.Queue != "short" {
		t.Errorf("the job is %+v", job)
	}
	if now := grid.InstantOf(time.Now()); l.At > now || l.At < now-grid.Tick(patience/time.Millisecond) {
		t.Errorf("listed at %d, now is %d", l.At, now)
	}
	if l.Policy.Kind != plan.ConsRebuild || l.Default != "batch" || len(l.Nodes) != 4 || len(l.Queues) != 3 {
		t.Errorf("policy %v, default %s, %d nodes, %d queues", l.Policy, l.Default, len(l.Nodes), len(l.Queues))
	}
	first := l.Nodes[0]
	if first.Name != "node01" || first.Cores != 2 || first.Memory != 2000<<20 || first.Architecture != "x86_64" || first.System != "LINUX" ||
		fmt.Sprint(first.Properties) != "[fast big]" || fmt.Sprint(first.Resources) != "[{fpga:a100 2} {fpga 2}]" || first.Down {
		t.Errorf("the first node is %+v", first)
	}
	for _, q := range l.Queues {
		want := map[grid.QueueName]plan.Queue{
			"batch": {Name: "batch", Nodes: []int{0, 1, 2, 3}, Limit: grid.Day}, "closed": {Name: "closed", Nodes: []int{0}, Stopped: true, Why: "the partition is DOWN"},
			"short": {Name: "short", Nodes: []int{2, 3}, Limit: 5 * grid.Minute},
		}[q.Name]
		if fmt.Sprint(q) != fmt.Sprint(want) || q.Nodes == nil {
			t.Errorf("the queue %+v should be %+v", q, want)
		}
	}
	if tr := c.Traits(); tr.Version != "22.05.8" && tr.Version < "2" || tr.Forgets != 300*grid.Second {
		t.Errorf("%+v", tr)
	}
}

func TestHoldReleaseRemove(t *testing.T) {
	t.Parallel()
	cluster, c := mixed(t)
	o := order(t, "sleep 1000")
	o.Held = true
	id := submit(t, c, o)
	if job := look(t, c, id); job.State != external.Held || !job.OurHold || !job.NeverStarted {
		t.Fatalf("submitted on hold it is %+v", job)
	}
	cluster.Run(t, "scontrol", "hold", string(id)) // the operator's
	if job := look(t, c, id); job.State != external.Held || job.OurHold {
		t.Errorf("held by the operator it is %+v", job)
	}
	if err := c.Release(t.Context(), "", id); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("an operator's hold was released: %v", err)
	}
	cluster.Run(t, "scontrol", "release", string(id))
	job := awaitState(t, c, id, external.Running)
	if len(job.Places) != 1 || job.Started == 0 || job.NeverStarted {
		t.Errorf("running it is %+v", job)
	}
	if err := c.Remove(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	job = awaitState(t, c, id, external.Done)
	if job.End.Cause != grid.ByRequest || job.NeverStarted || job.Finished < job.Started {
		t.Errorf("removed it is %+v, %+v", job, job.End)
	}
	if err := c.Remove(t.Context(), "", id); err != nil {
		t.Errorf("removed again: %v", err)
	}
	if err := c.Hold(t.Context(), "", id); err == nil {
		t.Error("one that has ended was held")
	}
}

func TestHoldAndReleaseOfWaitingJobs(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	o := order(t, "exit 0")
	o.Held = true
	id := submit(t, c, o)
	for range 2 { // again is the same
		if err := c.Hold(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
	}
	if job := look(t, c, id); job.State != external.Held || !job.OurHold {
		t.Errorf("held it is %+v", job)
	}
	if err := c.Release(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	if job := awaitState(t, c, id, external.Done); job.End.ExitCode != 0 || job.End.Cause != grid.ByItself {
		t.Errorf("released it ended %+v", job.End)
	}
	if err := c.Release(t.Context(), "", id); err != nil {
		t.Errorf("released again: %v", err)
	}

	o.Held = true
	id = submit(t, c, o)
	if err := c.Remove(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	job := awaitState(t, c, id, external.Done)
	if again, _ := listed(t, c, id); !job.NeverStarted || !again.NeverStarted {
		t.Errorf("cancelled before its start, it is %+v, and listed %+v", job, again)
	}
}

func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	if jobs, err := c.Look(t.Context(), "60000000"); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	if err := c.Remove(t.Context(), "", "60000000"); err != nil {
		t.Error(err)
	}
	for _, id := range []grid.LocalID{"", "-1", "1 2", "x", "1;2", "1_", "_1", "$(id)", "99999999999999999999"} {
		if _, err := c.Look(t.Context(), id); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestWhatSlurmRefuses(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	for name, change := range map[string]func(*external.Order){
		"partition":   func(o *external.Order) { o.Queue = "nosuch" },
		"feature":     func(o *external.Order) { o.Demand.Properties = []string{"nosuch"} },
		"memory":      func(o *external.Order) { o.Demand.Chunks[0].Memory = 1 << 40 },
		"resource":    func(o *external.Order) { o.Demand.Chunks[0].Resources = []grid.Resource{{Name: "nosuch", Amount: 1}} },
		"reservation": func(o *external.Order) { o.Reservation = "nosuch" },
		"nothing":     func(o *external.Order) { o.Demand.Chunks = nil },
		"two sizes": func(o *external.Order) {
			o.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}, {Count: 1, Processes: 1, Cores: 2}}
		},
		"option":     func(o *external.Order) { o.Queue = "a --uid=0" },
		"mark":       func(o *external.Order) { o.Mark = "a b" },
		"zero byte":  func(o *external.Order) { o.Script = []byte("#!/bin/sh\n\x00") },
		"no script":  func(o *external.Order) { o.Script = []byte("exit 0\n") },
		"no path":    func(o *external.Order) { o.Work = "work" },
		"no limit":   func(o *external.Order) { o.Limit = 0 },
		"backslash":  func(o *external.Order) { o.Log += `\x` },
		"indivisble": func(o *external.Order) { o.Parallel, o.Demand.Chunks[0].Processes = true, 2 },
	} {
		o := order(t, "exit 0")
		change(&o)
		if id, err := c.Submit(t.Context(), o); !errors.Is(err, grid.ErrInvalid) || errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
}

// Pieces of different sizes are refused when a site is asked, before a job is handed to it.
func TestDifferentSizesAreRefusedEarly(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shot := plan.Snapshot{Site: grid.Site{Processes: 12, Speed: 1}, Nodes: l.Nodes, Queues: l.Queues, Default: l.Default, Shapes: l.Shapes}
	q := plan.Question{Limit: grid.Minute, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 2, Cores: 2}, {Count: 1, Processes: 1, Cores: 1}}}}
	for _, whole := range []bool{false, true} {
		q.Demand.Exclusive = whole
		if r := plan.Refuse(shot, q); r == nil || r.Kind != grid.Permanent || !strings.Contains(r.Reason, "a multiple of the nodes") {
			t.Errorf("whole nodes %v: %+v", whole, r)
		}
	}
	q.Demand.Chunks[1] = q.Demand.Chunks[0]
	if r := plan.Refuse(shot, q); r != nil {
		t.Errorf("two alike: %+v", r)
	}
}

// Pieces are placed as they were asked for, and srun starts a task for each process.
func TestDemands(t *testing.T) {
	t.Parallel()
	_, c := mixed(t)
	for name, test := range map[string]struct {
		chunks   []grid.Chunk
		parallel bool
		tasks    string // what srun starts
	}{
		"sequential":  {[]grid.Chunk{{Count: 1, Processes: 3, Cores: 3, Memory: 200 << 20}}, false, "1"},
		"one piece":   {[]grid.Chunk{{Count: 1, Processes: 4, Cores: 4}}, true, "4"},
		"many pieces": {[]grid.Chunk{{Count: 2, Processes: 1, Cores: 1}, {Count: 1, Processes: 1, Cores: 1}}, true, "3"},
		"two each":    {[]grid.Chunk{{Count: 2, Processes: 2, Cores: 2, Memory: 10 << 20}}, true, "4"},
	} {
		o := order(t, `echo "$SLURM_NTASKS"; srun --mpi=none sh -c 'echo "$SLURM_PROCID"' | sort -u | wc -l`)
		o.Demand.Chunks, o.Parallel = test.chunks, test.parallel
		id := submit(t, c, o)
		job := awaitState(t, c, id, external.Done)
		said, _ := os.ReadFile(o.Log)
		if fields := strings.Fields(string(said)); len(fields) != 2 || fields[0] != test.tasks || fields[1] != test.tasks {
			t.Errorf("%s: it ended %+v and says %q", name, job.End, said)
		}
	}
}
