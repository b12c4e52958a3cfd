package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/cgroup"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"
)

// confined is a site with one job in a control group with some cgroup.Controllers.
func confined(t *testing.T, wanted []string, script string) (s *System, j grid.Submission) {
	t.Helper()
	g := openGroups(wanted)
	if g.why != nil {
		t.Skipf("control groups with the cgroup.Controllers %v: %v", wanted, g.why)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err = New(Config{
		Site: grid.Site{Name: "here", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 1, Memory: 64 << 20}}, Spool: filepath.Join(dir, "spool"),
		Supervisor: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, supervise.Command},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.groups = g
	t.Cleanup(func() { os.Remove(g.root) }) // if no other uses it
	at := grid.AttemptID{Job: grid.NewJobID("here", ulid(t)), Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	j = grid.Submission{ID: at, Work: filepath.Join(dir, "w"), Control: filepath.Join(dir, "c"), Limit: grid.Minute}
	j.Job = grid.Job{ID: at.Job, Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}}}
	j.Job.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Memory: 32 << 20}}
	for _, d := range []string{j.Work, j.Control} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Submit(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, j
}

// ulid is one that no other test process uses: groups of all tests lie beside each other.
func ulid(t *testing.T) string {
	t.Helper()
	n := strconv.Itoa(os.Getpid()) + strconv.Itoa(len(t.Name())) + strconv.FormatInt(time.Now().UnixNano()%1e6, 10)
	return strings.Repeat("0", 26-len(n)) + n
}

// await looks until a condition holds.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it never comes that %s", what)
		}
	}
}

func ended(t *testing.T, s *System, j grid.Submission) (p grid.Progress) {
	t.Helper()
	await(t, "the job ends", func() bool {
		var err error
		p, err = s.Progress(context.Background(), j.ID, j.Control)
		return err == nil && p.Phase == grid.Ended
	})
	return p
}

// A job runs in a group of its own. Where its supervisor is killed, all in the group dies,
// also what has neither its session nor its environment; and the group is removed.
func TestGroupOfAJob(t *testing.T) {
	t.Parallel()
	s, j := confined(t, nil, `grep ^0:: /proc/self/cgroup
(env -i setsid sh -c 'echo $$ > p; mv p away; exec sleep 1000' &) ; sleep 1000`)
	group := filepath.Join(s.groups.root, j.ID.Tag())
	away := filepath.Join(j.Work, "away")
	await(t, "the program has a child elsewhere", func() bool { _, err := os.Stat(away); return err == nil })
	out, err := os.ReadFile(filepath.Join(j.Work, "stdout"))
	if err != nil || !strings.HasSuffix(string(out), "/gbroker/"+j.ID.Tag()+"\n") {
		t.Errorf("the program is in %q, %v", out, err)
	}
	number, err := os.ReadFile(away)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(number)))
	if err != nil {
		t.Fatal(err)
	}
	child, err := control.Describe(pid)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := control.ReadToken(j.Control, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(token.Process.PID, syscall.SIGKILL)
	if p := ended(t, s, j); p.Cause != grid.Disappeared {
		t.Errorf("ended %+v", p)
	}
	if alive, err := child.Alive(); alive || err != nil {
		t.Errorf("its child still lives (%v)", err)
		syscall.Kill(pid, syscall.SIGKILL)
	}
	await(t, "the group is removed", func() bool { _, err := os.Stat(group); return os.IsNotExist(err) })
}

// A job that takes more memory than it asked for is killed, and is told why.
func TestGroupMemory(t *testing.T) {
	t.Parallel()
	s, j := confined(t, cgroup.Controllers, `head -c 200000000 /dev/zero | tail -n 1 | wc -c`)
	if p := ended(t, s, j); !strings.Contains(p.Detail, "more memory than it had asked for") {
		t.Errorf("ended %+v", p)
	}
}
