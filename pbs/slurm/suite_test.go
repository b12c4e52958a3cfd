package slurm_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/pbs/pbstest"
	"gbroker/pbs/slurm"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/plan"
)

// TestMain lets more tests run at a time than there are processors: they wait for Slurm.
func TestMain(m *testing.M) {
	pbstest.SideBySide(turns)
	os.Exit(slurmtest.Main(m))
}

// turns is how many clusters the tests of the suite take turns on; each is idle again before
// the next test has it.
const turns = 4

// TestSuite passes the suite of all batch systems.
func TestSuite(t *testing.T) {
	slurmtest.Need(t)
	t.Setenv("PBSTEST_SECRET", "of the daemon")
	pbstest.Run(t, pbstest.Kind{
		Name: "slurm", Whole: true, Least: grid.Minute, HostFile: true, MemoryLimits: true, Rounds: 9,
		Patience: 3 * time.Minute, Take: newPool().take,
	})
}

// cores of each node.
const cores = 2

// pool holds the numbers of the clusters that no test has.
type pool chan int

func newPool() pool {
	p := make(pool, turns)
	for n := range turns {
		p <- n
	}
	return p
}

func (p pool) take(t testing.TB, _ []plan.Node) pbstest.Bench {
	n := <-p
	t.Cleanup(func() { p <- n })
	cluster := slurmtest.Shared(t, fmt.Sprintf("suite%d", n), slurmtest.Config{
		Nodes: []slurmtest.Nodes{
			{Count: 1, CPUs: cores}, {Count: 1, CPUs: cores, More: "Feature=fast"}, {Count: 1, CPUs: cores, More: "Gres=gadget:2"},
		},
		Lines: []string{"GresTypes=gadget"},
		Gres:  "NodeName=node03 Name=gadget Count=2\n",
	})
	t.Cleanup(func() {
		if err := cluster.Idle(); err != nil {
			t.Error(err)
		}
	})
	var real []string
	for _, name := range []string{"sbatch", "scancel", "scontrol", "squeue", "sinfo"} {
		full, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		real = append(real, full)
	}
	shims := pbstest.NewShims(t, real...)
	runner := command.Runner{
		Environment: append(command.Environment(), cluster.Environment()...), Folders: []string{shims.Folder}, Limit: 20 * time.Second,
	}
	return pbstest.Bench{
		Nodes: []plan.Node{
			{Name: "node01", Cores: cores}, {Name: "node02", Cores: cores, Properties: []string{"fast"}},
			{Name: "node03", Cores: cores, Resources: []grid.Resource{{Name: "gadget", Amount: 2}}},
		},
		Open: func(t testing.TB, s pbstest.Setup) pbs.System {
			system, err := external.New(external.Config{
				Client: slurm.New(slurm.Config{Runner: runner}), Owner: s.Owner, Spool: s.Spool, Site: s.Site, Runner: runner,
				Refresh: time.Second, Age: 10 * time.Second, Grace: s.Grace, Changed: s.Changed,
			})
			if err != nil {
				t.Fatal(err)
			}
			return system
		},
		Hand: hand(t, cluster, shims),
	}
}

// operator runs a command of Slurm as an operator would, or as another account.
func operator(t testing.TB, c *slurmtest.Cluster, as, script string, name string, args ...string) (string, error) {
	got, err := command.Runner{Environment: append(command.Environment(), c.Environment()...)}.Run(t.Context(),
		command.Call{Name: name, Args: args, As: as, Stdin: []byte(script)})
	if err == nil && got.Exit != 0 {
		err = fmt.Errorf("%s ends with %d: %s", name, got.Exit, got.Said())
	}
	return strings.TrimSpace(string(got.Stdout)), err
}

func hand(t testing.TB, c *slurmtest.Cluster, shims *pbstest.Shims) pbstest.Hand {
	control := func(args ...string) error {
		_, err := operator(t, c, "", "", "scontrol", args...)
		return err
	}
	job := func(verb string) func(grid.LocalID) error {
		return func(local grid.LocalID) error { return control(verb, string(local)) }
	}
	node := func(state string) func(grid.NodeName) error {
		return func(n grid.NodeName) error {
			return control("update", "NodeName="+string(n), "State="+state, "Reason=suite")
		}
	}
	h := pbstest.Hand{
		Hold: job("hold"), Release: job("release"), Requeue: job("requeue"),
		Delete: func(local grid.LocalID) error {
			_, err := operator(t, c, "", "", "scancel", string(local))
			return err
		},
		Down:  func() error { c.StopController(); return nil },
		Up:    c.StartController,
		Stall: shims.Stall, Deafen: shims.Deafen,
		Crash: func(n grid.NodeName) error { // noticed at once, and not after SlurmdTimeout
			return errors.Join(c.KillNode(string(n)), node("DOWN")(n))
		},
		Revive: func(n grid.NodeName) error {
			return errors.Join(c.StartNode(string(n)), node("RESUME")(n))
		},
		Drain: node("DRAIN"), Undrain: node("RESUME"),
	}
	if os.Geteuid() == 0 { // who else may submit for another account
		h.Submit = func(f pbstest.Foreign) (grid.LocalID, error) { return foreign(t, c, f) }
	}
	return h
}

func foreign(t testing.TB, c *slurmtest.Cluster, f pbstest.Foreign) (grid.LocalID, error) {
	as := ""
	if f.Other {
		as = "nobody"
	}
	args := []string{
		"--parsable", "--job-name=" + f.Name, "--chdir=" + f.Dir, "--output=/dev/null", "--export=PATH", "--no-requeue",
		"--ntasks=" + strconv.Itoa(f.Nodes), "--cpus-per-task=" + strconv.Itoa(cores),
		"--time=" + strconv.FormatInt(int64(f.Limit/grid.Minute), 10),
	}
	if f.Mark != "" {
		args = append(args, "--comment="+f.Mark)
	}
	id, err := operator(t, c, as, "#!/bin/sh\n"+f.Script, "sbatch", args...)
	if _, odd := strconv.Atoi(id); err == nil && odd != nil {
		err = errors.New("sbatch says " + id)
	}
	return grid.LocalID(id), err
}
