package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gbroker/api"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/cluster"
)

// slurms are the clusters of real Slurm that tests take turns on, with how many nodes each has, of two CPUs.
var slurms = map[string]int{"busy": 2, "free": 3, "small": 1, "spare": 3, "wide": 3}

// turns tells which clusters tests have now.
var turns = struct {
	sync.Cond
	taken map[string]bool
}{Cond: sync.Cond{L: &sync.Mutex{}}, taken: map[string]bool{}}

// take gives a test the clusters of these names for itself, all at once: who waits for one keeps nobody from another. They
// are idle, and have no reservations; they are left so.
func take(t *testing.T, wanted ...string) map[string]*slurmtest.Cluster {
	t.Helper()
	slurmtest.Need(t)
	turns.L.Lock()
	for slices.ContainsFunc(wanted, func(name string) bool { return turns.taken[name] }) {
		turns.Wait()
	}
	for _, name := range wanted {
		turns.taken[name] = true
	}
	turns.L.Unlock()
	t.Cleanup(func() {
		turns.L.Lock()
		defer turns.L.Unlock()
		for _, name := range wanted {
			delete(turns.taken, name)
		}
		turns.Broadcast()
	})
	got := map[string]*slurmtest.Cluster{}
	for _, name := range wanted {
		c := slurmtest.Shared(t, name, slurmtest.Config{Nodes: []slurmtest.Nodes{{Count: slurms[name], CPUs: 2}}})
		t.Cleanup(func() {
			if err := c.Idle(); err != nil {
				t.Error(err)
			}
		})
		got[name] = c
	}
	return got
}

// overSlurm makes a site whose batch system is a cluster: init has to find it.
func overSlurm(t *testing.T, c *slurmtest.Cluster, dir, name string, o cluster.Options) site {
	t.Helper()
	o.Batch, o.Env = "slurm", c.Environment()
	s := newSite(t, dir, name, o)
	configure(t, s, "  # refresh: 10s\n", "  refresh: 2s\n", "# estimate_deadline: 2s\n", "estimate_deadline: 20s\n")
	return s
}

// configure replaces lines of a site's configuration.
func configure(t *testing.T, s site, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile(s.Config())
	must(t, err)
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(string(text), pairs[i]) != 1 {
			t.Fatalf("%s has %q not once:\n%s", s.Config(), pairs[i], text)
		}
	}
	must(t, os.WriteFile(s.Config(), []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o644))
}

// queued is a line of squeue.
type queued struct{ id, state, mark, user, reason string }

// queue is what a cluster holds now, ended jobs left out.
func queue(t *testing.T, c *slurmtest.Cluster) (list []queued) {
	t.Helper()
	for _, line := range strings.Split(c.Run(t, "squeue", "-h", "-o", "%A|%t|%k|%u|%r"), "\n") {
		if f := strings.SplitN(line, "|", 5); len(f) == 5 {
			list = append(list, queued{f[0], f[1], f[2], f[3], f[4]})
		}
	}
	return list
}

// local waits until a job of ours is in a state in the cluster's queue, and gives its number there.
func local(t *testing.T, c *slurmtest.Cluster, id, state string) (number string) {
	t.Helper()
	eventually(t, id+" is to be "+state+" in Slurm", func() bool {
		for _, q := range queue(t, c) {
			if strings.Contains(q.mark, "/"+id+"@") && q.state == state {
				number = q.id
			}
		}
		return number != ""
	})
	return number
}

// stranger submits a job by hand, as another account if that can be, and gives its number.
func stranger(t *testing.T, c *slurmtest.Cluster, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.Command(ctx, "sbatch", append([]string{"--parsable", "--chdir=/", "--output=/dev/null", "--export=PATH"}, args...)...)
	cmd.Dir, cmd.Stdin = "/", strings.NewReader("#!/bin/sh\n"+script+"\n")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sbatch by hand: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// stateOf is the state of a job by number; "" if it is not in the queue.
func stateOf(t *testing.T, c *slurmtest.Cluster, number string) string {
	t.Helper()
	for _, q := range queue(t, c) {
		if q.id == number {
			return q.state
		}
	}
	return ""
}

// self is what a site says of itself.
func self(t *testing.T, s site) (v api.Site) {
	t.Helper()
	for _, v = range told[[]api.Site](t, s, "sites") {
		if v.Self {
			return v
		}
	}
	t.Fatalf("%s does not list itself", s.Name)
	return v
}

// sees waits until sites have heard of each other how many processes their batch systems take.
func sees(t *testing.T, s site, processes map[string]int) {
	t.Helper()
	eventually(t, s.Name+" is to know the sizes of all sites", func() bool {
		n := 0
		for _, v := range told[[]api.Site](t, s, "sites") {
			if want, ours := processes[string(v.Name)]; ours && v.Processes == want {
				n++
			}
		}
		return n == len(processes)
	})
}

// once is a script that notes its start and its end in a file outside, and in between does
// something.
func once(file, between string) string {
	return "echo start >> " + file + "; " + between + " && echo end >> " + file // what a signal ends does not note its end
}

// ranJust checks that a script of once ran, and once only.
func ranJust(t *testing.T, file string) {
	t.Helper()
	if text, err := os.ReadFile(file); string(text) != "start\nend\n" {
		t.Errorf("it was to start once and to end once: %q (%v)", text, err)
	}
}

// starts waits until a script of once has noted its start.
func starts(t *testing.T, file string) {
	t.Helper()
	eventually(t, file+" is to tell a start", func() bool { return cluster.Exists(file) })
}

// until is a script that goes on when a file is there.
func until(file string) string { return "while [ ! -e " + file + " ]; do sleep 0.2; done" }

func touch(t *testing.T, file string) {
	t.Helper()
	must(t, os.WriteFile(file, nil, 0o644))
}

// leavesQueue waits until nothing of ours is in a cluster's queue.
func leavesQueue(t *testing.T, c *slurmtest.Cluster) {
	t.Helper()
	eventually(t, "nothing of the broker's is to be left in the queue", func() bool {
		return !slices.ContainsFunc(queue(t, c), func(q queued) bool { return strings.Contains(q.mark, "@") })
	})
}

// wait is how long a candidate would let a job wait, in seconds.
func wait(c api.Candidate) float64 {
	if c.WaitS == nil {
		return -1
	}
	return *c.WaitS
}
