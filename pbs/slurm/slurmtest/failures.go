package slurmtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// StopController ends slurmctld as an operator would: its state is on disk.
func (c *Cluster) StopController() { c.controller.stop(syscall.SIGTERM) }

// KillController ends slurmctld as a crash would: what happened in the last five seconds
// may be forgotten.
func (c *Cluster) KillController() { c.controller.stop(syscall.SIGKILL) }

// StartController starts it again, and returns when it answers and has heard of all nodes
// whose slurmd runs.
func (c *Cluster) StartController() error {
	var err error
	for range 20 { // the port may be taken, for a moment, by a client of somebody else
		if c.controller, err = startDaemon("slurmctld", "-D", "-f", c.Conf); err != nil {
			return err
		}
		err = c.controller.await("all nodes have registered", func() bool {
			// Nodes stay unknown for up to 20 s, unless their slurmd registers again.
			for _, d := range c.nodes {
				d.signal(syscall.SIGHUP)
			}
			return c.registered()
		})
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("start the controller again: %w; its log ends with:\n%s", err, c.log())
}

// registered tells whether the controller has heard of each node whose slurmd runs.
func (c *Cluster) registered() bool {
	out, err := c.Do("sinfo", "-h", "-N", "-o", "%N %T")
	if err != nil {
		return false
	}
	for _, line := range strings.Split(out, "\n") {
		name, state, _ := strings.Cut(line, " ")
		if d := c.nodes[name]; d == nil || d.over() {
			continue
		}
		if strings.HasPrefix(state, "unknown") || strings.ContainsAny(state, "*$@^#%!") {
			return false
		}
	}
	return true
}

// Idle ends all jobs and reservations, starts what does not run, opens all nodes, and
// returns when all are idle: a cluster that tests share is as new for the next.
func (c *Cluster) Idle() error {
	if c.controller.over() {
		if err := c.StartController(); err != nil {
			return err
		}
	}
	for name, d := range c.nodes {
		if d.over() {
			if err := c.startNode(name); err != nil {
				return err
			}
		}
	}
	err := c.controller.await("the cluster is idle", func() bool {
		states, err := c.Do("sinfo", "-h", "-N", "-o", "%N %T")
		if err != nil {
			return false
		}
		idle := true
		for _, line := range strings.Split(states, "\n") {
			name, state, _ := strings.Cut(line, " ")
			if idle = idle && state == "idle"; strings.HasPrefix(state, "d") { // down, drained, draining
				c.Do("scontrol", "update", "nodename="+name, "state=resume")
			}
		}
		queue, err := c.Do("squeue", "-h", "-o", "%A")
		for _, id := range strings.Fields(queue) {
			c.Do("scancel", id)
		}
		return idle && err == nil && queue == ""
	})
	if err != nil {
		return err
	}
	all, err := c.Do("scontrol", "-o", "show", "reservation")
	for _, line := range strings.Split(all, "\n") {
		if name, is := strings.CutPrefix(strings.SplitN(line, " ", 2)[0], "ReservationName="); is {
			if _, err := c.Do("scontrol", "delete", "ReservationName="+name); err != nil {
				return err
			}
		}
	}
	return err
}

// KillNode ends the slurmd of a node, and all of its jobs' processes, as a power cut
// would: nobody tells the controller. So all stand still before the first is killed: a
// slurmstepd that saw its program end would say so.
func (c *Cluster) KillNode(name string) error {
	d := c.nodes[name]
	if d == nil {
		return fmt.Errorf("there is no node %s", name)
	}
	d.stop(syscall.SIGKILL)
	all := c.processes(name)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, pid := range all {
			syscall.Kill(pid, s)
		}
	}
	return nil
}

// StartNode starts the slurmd of a node again.
func (c *Cluster) StartNode(name string) error { return c.startNode(name) }

// Do runs a command as the operator, and gives what it printed.
func (c *Cluster) Do(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := c.Command(ctx, name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// processes are the slurmstepd of a node, and what they run.
func (c *Cluster) processes(node string) []int {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	parent, session, hit := map[int]int{}, map[int]int{}, map[int]bool{}
	for _, folder := range folders {
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		pid, _ := strconv.Atoi(filepath.Base(folder))
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if err != nil || len(fields) < 4 || fields[0] == "Z" {
			continue
		}
		parent[pid], _ = strconv.Atoi(fields[1])
		session[pid], _ = strconv.Atoi(fields[3])
		if c.isJob(folder, node) || c.isStep(folder, node) {
			hit[pid] = true
		}
	}
	// Programs have environments of their own.
	for more := true; more; {
		more = false
		for pid := range parent {
			if !hit[pid] && (hit[parent[pid]] || hit[session[pid]]) {
				hit[pid], more = true, true
			}
		}
	}
	var out []int
	for pid := range hit {
		out = append(out, pid)
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
