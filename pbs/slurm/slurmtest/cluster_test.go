package slurmtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	end, again := time.After(patience), time.NewTicker(50*time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

func TestClusterRunsAJobAndComesBack(t *testing.T) {
	t.Parallel()
	c := Start(t, Config{})
	out := filepath.Join(t.TempDir(), "out")
	c.Run(t, "sbatch", "-N2", "-o", out, "--wrap", "echo $SLURM_JOB_NODELIST")
	eventually(t, "the job has said its nodes", func() bool { return read(out) == "node[01-02]" })

	c.StopController()
	if said, err := c.Command(t.Context(), "scontrol", "ping").CombinedOutput(); err == nil {
		t.Fatalf("the controller is stopped, and answers: %s", said)
	}
	if err := c.StartController(); err != nil {
		t.Fatal(err)
	}
	c.KillController()
	if err := c.StartController(); err != nil {
		t.Fatal(err)
	}
	c.Run(t, "sbatch", "-N2", "-o", out, "--wrap", "echo again")
	eventually(t, "the next job has run", func() bool { return read(out) == "again" })
}

// Whatever runs in a cluster, or was orphaned there, is gone with it.
func TestNothingStaysBehind(t *testing.T) {
	t.Parallel()
	var c *Cluster
	t.Run("cluster", func(t *testing.T) {
		c = Start(t, Config{})
		for _, node := range []string{"node01", "node02"} {
			c.Run(t, "sbatch", "-w", node, "-o", "/dev/null", "--wrap", "env -i sleep 3000; true")
			eventually(t, "slurmstepd, the script and its program run", func() bool { return len(c.processes(node)) >= 3 })
		}
		if err := c.KillNode("node01"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the node's processes are killed", func() bool { return len(c.processes("node01")) == 0 })
		if len(c.processes("node02")) < 3 {
			t.Error("the other node's job was killed too")
		}
		if said := c.Run(t, "squeue", "-h", "-t", "all", "-w", "node01", "-o", "%T"); said != "RUNNING" {
			t.Errorf("nobody could tell the controller what became of the node's job, and it says %q", said)
		}
	})
	if left := append(c.processes("node01"), c.processes("node02")...); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// A port that is claimed is given to nobody else until it is closed, though nobody listens there.
func TestPortsAreClaimed(t *testing.T) {
	t.Parallel()
	for range 50 {
		ports, err := claimPorts(3)
		if err != nil {
			t.Fatal(err)
		}
		first := ports[0].number
		if got, ok := claimRow(first+2, 1); ok {
			closePorts(got)
			t.Errorf("port %d was given twice", first+2)
		}
		closePorts(ports)
		if got, ok := claimRow(first, 3); ok {
			closePorts(got)
			return
		}
		// Another test may have been faster; not fifty times.
	}
	t.Error("ports that were closed are not free again")
}
