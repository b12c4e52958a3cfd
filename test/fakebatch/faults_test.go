package fakebatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/test/fakebatch/batch"
)

// givenUp runs a command and kills it when the server has heard of it.
func givenUp(t *testing.T, s *Server, script string, args ...string) {
	t.Helper()
	heard := s.Calls()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.Bin, "qsub"), args...)
	cmd.Dir, cmd.Stdin = s.Dir, strings.NewReader(script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the server hears of it", func() bool { return s.Calls() > heard })
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a command that was killed has ended well")
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(patience); !done(); <-again.C {
		if time.Now().After(end) {
			t.Fatalf("it never comes: %s", what)
		}
	}
}

// TestGivenUp: a command that was killed takes effect late, or not at all, or has taken it.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "torque"})
	s.Stall()
	givenUp(t, s, "true", "-N", "stalled", "-h")
	if n := len(s.Jobs()); n != 0 {
		t.Errorf("a stalled command has taken effect: %d jobs", n)
	}
	s.Healthy()
	until(t, "the stalled command takes effect", func() bool { return len(s.Jobs()) == 1 })

	s.Deafen()
	givenUp(t, s, "true", "-N", "deaf", "-h")
	until(t, "the command without an answer takes effect", func() bool { return len(s.Jobs()) == 2 })
	s.Healthy()

	s.Hang("qsub", time.Hour, 1)
	givenUp(t, s, "true", "-N", "hung", "-h")
	s.Late("qsub", 50*time.Millisecond, 1)
	givenUp(t, s, "true", "-N", "late", "-h")
	until(t, "the late command takes effect", func() bool { return len(s.Jobs()) == 3 })
	for i, name := range []string{"stalled", "deaf", "late"} {
		if j := s.Jobs()[i]; j.Name != name {
			t.Errorf("job %d is %s, not %s", i+1, j.Name, name)
		}
	}
	s.Refuse("qsub", 190, "qsub: not today\n", 1)
	if a := s.Run("alice", "true", "qsub"); a.Exit != 190 || a.Stderr != "qsub: not today\n" {
		t.Errorf("a refusal is %+v", a)
	}
	want(t, s, 0, "alice", "true", "qsub")
}

// TestDown: nobody is answered, jobs run on, and all is as before when it is over.
func TestDown(t *testing.T) {
	t.Parallel()
	for face, exits := range map[string][3]int{"torque": {111, 111, 1}, "openpbs": {255, 162, 1}} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			s := Start(t, batch.Config{Face: face})
			id := submit(t, s, "alice", "until test -e go; do sleep 0.05; done; exit 5", "-l", "walltime=600", "-v", "A=b")
			j := s.Await(id, running)
			s.Down()
			want(t, s, exits[0], "alice", "", "qstat", "-f", "-F", "json")
			want(t, s, exits[1], "alice", "", "qdel", id)
			want(t, s, exits[2], "alice", "", "pbsnodes", "-a")
			if face == "torque" { // the trap: no jobs, and 0
				if a := want(t, s, 0, "alice", "", "showq"); !strings.Contains(a.Stdout, "Total Jobs: 0 ") {
					t.Errorf("showq says %s", a.Stdout)
				}
			}
			if err := os.WriteFile(filepath.Join(s.Dir, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			s.Await(id, over)
			s.Up()
			if j, _ = s.Job(id); j.Exit == nil || *j.Exit != 5 {
				t.Errorf("it ended as %+v", j)
			}
			s.Set(batch.Faults{Forgetful: true})
			until(t, "the job is forgotten", func() bool { return len(s.Jobs()) == 0 })
			want(t, s, 153, "alice", "", "qdel", id)
		})
	}
}

// TestSudo: another account submits without any right to.
func TestSudo(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "openpbs"})
	a := want(t, s, 0, "alice", "true", "sudo", "-n", "-u", "carol", "--", "qsub", "-h")
	if j, _ := s.Job(strings.TrimSpace(a.Stdout)); j.User != "carol" {
		t.Errorf("it was submitted by %s", j.User)
	}
}

// TestUnknownOptions: what is not served is refused loudly.
func TestUnknownOptions(t *testing.T) {
	t.Parallel()
	for face, calls := range map[string]string{
		"torque":  "qstat -G|qstat -fw|qdel -a|pbsnodes -q|qmgr -c x|showres -Q|setres -j a|checkjob -A 1|qsub -X|qhold -t 1",
		"openpbs": "qstat -f -F dsv|qdel -Wnothing|pbsnodes -H x|qmgr -c x|pbs_rsub -q a|pbs_rstat -z|pbs_ralter -l select=1 R1|qsub -J 1-2|qmove a",
	} {
		s := Start(t, batch.Config{Face: face})
		for _, call := range strings.Split(calls, "|") {
			f := strings.Fields(call)
			if a := s.Run("alice", "true", f[0], f[1:]...); a.Exit != 2 {
				t.Errorf("%s: %s ended with %d: %s%s", face, call, a.Exit, a.Stdout, a.Stderr)
			}
		}
	}
}

// TestNothingIsLeft: with the test its server ends, and every process of its jobs.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	var dir string
	var pids []int
	t.Run("system", func(t *testing.T) {
		s := Start(t, batch.Config{Face: "torque"})
		dir = s.Dir
		files := filepath.Join(t.TempDir(), "pid")
		submit(t, s, "", fmt.Sprintf("trap '' TERM; (trap '' TERM; exec sleep 1001) & echo $! > %s.new; mv %s.new %s; echo $$ > %s2; wait", files, files, files, files))
		for _, f := range []string{files, files + "2"} {
			until(t, f, func() bool {
				text, err := os.ReadFile(f)
				n, bad := strconv.Atoi(strings.TrimSpace(string(text)))
				if err == nil && bad == nil {
					pids = append(pids, n)
				}
				return err == nil && bad == nil
			})
		}
	})
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d ends", pid), func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
}
