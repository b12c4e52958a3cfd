package slurm_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/pbs/slurm"
	"gbroker/pbs/slurm/slurmtest"
)

// asNobody makes reservations as an account that may not.
func asNobody(c *slurmtest.Cluster) *slurm.Client {
	return slurm.New(slurm.Config{
		Runner:   command.Runner{Environment: append(command.Environment(), c.Environment()...), Limit: patience},
		Operator: "nobody",
	})
}

// A controller that is down makes everything unknown, nothing gone; the second question is
// answered at once; and when it is back, all is as it was.
func TestControllerDownAndBack(t *testing.T) {
	t.Parallel()
	cluster := slurmtest.Start(t, slurmtest.Config{})
	c := client(cluster)
	o := order(t, "while [ ! -e go ]; do sleep 0.1; done; exit 4")
	id := submit(t, c, o)
	awaitState(t, c, id, external.Running)
	cluster.StopController() // which saves its state; killed, it may forget the last seconds

	// squeue --json ends with 0 and no jobs where nobody answers. (It takes its 9 s meanwhile.)
	type answer struct {
		said []byte
		err  error
	}
	raw := make(chan answer, 1)
	squeue := cluster.Command(t.Context(), "squeue", "--json")
	go func() {
		said, err := squeue.Output()
		raw <- answer{said, err}
	}()
	if l, err := c.Listing(t.Context()); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("listed %+v, %v", l, err)
	}
	got := <-raw
	if got.err != nil {
		t.Errorf("squeue has failed, which is more than it used to tell: %v", got.err)
	} else if jobs, err := slurm.ParseQueue(got.said); err == nil {
		t.Errorf("no answer was read as %d jobs", len(jobs))
	}
	asked := time.Now()
	if jobs, err := c.Look(t.Context(), id); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("looked at %v, %v", jobs, err)
	}
	if got, err := c.Submit(t.Context(), o); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("submitted %s, %v", got, err)
	}
	if err := c.Remove(t.Context(), "", id); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("removed: %v", err)
	}
	if _, err := c.Reservations(t.Context()); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("reservations: %v", err)
	}
	// Each of the four would have taken 9 s or more; ping takes 13 ms.
	if took := time.Since(asked); took > 30*time.Second {
		t.Errorf("four questions to a controller known to be down took %v", took)
	}

	if err := os.WriteFile(filepath.Join(o.Work, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cluster.StartController(); err != nil {
		t.Fatal(err)
	}
	job := awaitState(t, c, id, external.Done)
	if job.End.ExitCode != 4 || job.Mark != o.Mark {
		t.Errorf("it ended %+v: %+v", job.End, job)
	}
}

// A node whose slurmd dies, and a job that is requeued by an operator.
func TestNodeDownAndRequeue(t *testing.T) {
	t.Parallel()
	cluster := slurmtest.Start(t, slurmtest.Config{})
	c := client(cluster)
	run := order(t, "sleep 1000")
	run.Demand.Chunks[0].Cores = 2
	fixed := submit(t, c, run)
	run.Rerunnable = true
	again := submit(t, c, run)
	awaitState(t, c, again, external.Running)
	job := awaitState(t, c, fixed, external.Running)
	node := string(job.Places[0].Node)

	if err := cluster.KillNode(node); err != nil {
		t.Fatal(err)
	}
	cluster.Run(t, "scontrol", "update", "nodename="+node, "state=down", "reason=dead")
	job = awaitState(t, c, fixed, external.Done)
	if job.End.Cause != grid.Disappeared || !job.End.NodeFail {
		t.Errorf("on a node that failed it ended %+v", job.End)
	}
	if both, l := listed(t, c, fixed); both.End == nil || !both.End.NodeFail || !l.Nodes[node[len(node)-1]-'1'].Down {
		t.Errorf("listed it is %+v, and the nodes %+v", both, l.Nodes)
	}

	cluster.Run(t, "scontrol", "requeue", string(again))
	// At first it waits for the scheduler, then for a begin time that Slurm gives it.
	waiting := func(j external.Job) bool { return j.State == external.Queued || j.State == external.Held && !j.OurHold }
	eventually(t, "the requeued job waits", func() bool { return waiting(look(t, c, again)) })
	waits, _ := listed(t, c, again)
	if job = look(t, c, again); job.NeverStarted || waits.NeverStarted || waits.Started != 0 || !waiting(waits) {
		t.Errorf("requeued it is %+v, and listed %+v", job, waits)
	}
}
