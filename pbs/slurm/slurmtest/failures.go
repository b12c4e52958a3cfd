package slurmtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// StopController ends slurmctld as an operator would; its state is on disk.
func (c *Cluster) StopController(t testing.TB) {
	t.Helper()
	c.controller.stop(syscall.SIGTERM)
}

// KillController ends slurmctld as a crash would.
func (c *Cluster) KillController(t testing.TB) {
	t.Helper()
	c.controller.stop(syscall.SIGKILL)
}

// StartController starts it again, and returns when it answers and has heard of all nodes
// whose slurmd runs.
func (c *Cluster) StartController(t testing.TB) {
	t.Helper()
	var err error
	for range 20 { // the port may be taken, for a moment, by a client of somebody else
		if c.controller, err = startDaemon("slurmctld", "-D", "-f", c.Conf); err != nil {
			t.Fatal(err)
		}
		err = c.controller.await("all nodes have registered", func() bool {
			// Nodes stay unknown for up to 20 s, unless their slurmd registers again.
			for _, d := range c.nodes {
				d.signal(syscall.SIGHUP)
			}
			return c.registered(t)
		})
		if err == nil {
			return
		}
	}
	t.Fatalf("start the controller again: %v; its log ends with:\n%s", err, c.log())
}

// registered tells whether the controller has heard of each node whose slurmd runs.
func (c *Cluster) registered(t testing.TB) bool {
	out, err := c.Command(t.Context(), "sinfo", "-h", "-N", "-o", "%N %T").Output()
	if err != nil {
		return false
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		name, state, _ := strings.Cut(line, " ")
		select {
		case <-c.nodes[name].ended:
			continue
		default:
		}
		if strings.HasPrefix(state, "unknown") || strings.ContainsAny(state, "*$@^#%!") {
			return false
		}
	}
	return true
}

// KillNode ends the slurmd of a node, and all of its jobs' processes, as a power cut
// would: nobody tells the controller.
func (c *Cluster) KillNode(t testing.TB, name string) {
	t.Helper()
	d := c.nodes[name]
	if d == nil {
		t.Fatalf("no node %s", name)
	}
	d.stop(syscall.SIGKILL)
	for _, pid := range c.processes(name) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processes are the slurmstepd of a node, and what they run.
func (c *Cluster) processes(node string) []int {
	var out []int
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err == nil && (c.isJob(folder, node) || c.isStep(folder, node)) {
			out = append(out, pid)
		}
	}
	return out
}

func (c *Cluster) isJob(folder, node string) bool {
	text, _ := os.ReadFile(filepath.Join(folder, "environ"))
	environ := "\x00" + string(text)
	return strings.Contains(environ, "\x00SLURM_CONF="+c.Conf+"\x00") && strings.Contains(environ, "\x00SLURMD_NODENAME="+node+"\x00")
}

// isStep looks for the log that slurmstepd has open: its environment does not say whose it is.
func (c *Cluster) isStep(folder, node string) bool {
	if comm, _ := os.ReadFile(filepath.Join(folder, "comm")); string(comm) != "slurmstepd\n" {
		return false
	}
	open, _ := filepath.Glob(filepath.Join(folder, "fd", "*"))
	for _, fd := range open {
		if to, _ := os.Readlink(fd); to == filepath.Join(c.dir, "slurmd."+node+".log") {
			return true
		}
	}
	return false
}

// StartNode starts the slurmd of a node again.
func (c *Cluster) StartNode(t testing.TB, name string) {
	t.Helper()
	if err := c.startNode(name); err != nil {
		t.Fatal(err)
	}
}
