package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded"
)

const countAndWait = "echo up >> starts; " + waitForGo

var jobs atomic.Uint32

// unique is an identifier of its own for each job: they run side by side, and are found by it.
func unique() string { return fmt.Sprintf("D%d", jobs.Add(1)) }

// remove removes files of a control directory; all is the directory itself.
func remove(t *testing.T, j grid.Submission, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		names, err := filepath.Glob(filepath.Join(j.Control, p))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", p, names, err)
		}
		for _, n := range names {
			if err := os.Remove(n); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func tear(t *testing.T, j grid.Submission, kind string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(j.Control, kind+".1.0.1"), []byte("gbroker-ctl 1\natte"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func letGo(t *testing.T, j grid.Submission) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(j.Work, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// awaitPhase asks until an attempt has come so far.
func awaitPhase(t *testing.T, s *embedded.System, j grid.Submission, phase grid.Phase) (grid.Progress, error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		p, err := s.Progress(context.Background(), j.ID, j.Control)
		if p.Phase == phase {
			return p, err
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s for ever: %v", j.ID, p.Phase, err)
		}
	}
}

// What is lost or torn of the control files of an attempt that runs: it is never started a
// second time, also not by a daemon that starts anew, and its end is told.
func TestDamagedControlFilesOfWhatRuns(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		harm  func(*testing.T, grid.Submission)
		cause grid.Cause
		blind bool // nothing of the end can be read
	}{
		"the token is deleted":           {harm: func(t *testing.T, j grid.Submission) { remove(t, j, "start.*") }},
		"the token is torn":              {harm: func(t *testing.T, j grid.Submission) { tear(t, j, "start") }},
		"the start is torn":              {harm: func(t *testing.T, j grid.Submission) { tear(t, j, "run") }},
		"both are torn":                  {harm: func(t *testing.T, j grid.Submission) { tear(t, j, "start"); tear(t, j, "run") }},
		"the token torn, all else lost":  {harm: func(t *testing.T, j grid.Submission) { remove(t, j, "*"); tear(t, j, "start") }},
		"all files are deleted":          {harm: func(t *testing.T, j grid.Submission) { remove(t, j, "*") }},
		"the directory is deleted":       {harm: func(t *testing.T, j grid.Submission) { os.RemoveAll(j.Control) }, cause: grid.Disappeared, blind: true},
		"a file stands in its directory": {harm: func(t *testing.T, j grid.Submission) { os.RemoveAll(j.Control); os.WriteFile(j.Control, nil, 0o600) }, cause: grid.Disappeared, blind: true},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", and a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s, err := smallSite(dir, quick(t), func(grid.AttemptID) {})
				if err != nil {
					t.Fatal(err)
				}
				j := shellJob(dir, unique(), countAndWait)
				end := func(s *embedded.System) {
					if withdrawn, err := s.Withdraw(context.Background(), j.ID, j.Control); withdrawn || err != nil && !errors.Is(err, grid.ErrDamaged) {
						t.Fatalf("withdrawn while it runs: %v, %v", withdrawn, err)
					}
					if p, _ := s.Progress(context.Background(), j.ID, j.Control); p.Phase != grid.Started {
						t.Fatalf("while it runs it is %s", p.Phase)
					}
					letGo(t, j)
					if k.blind { // the supervisor tries for a minute to write the end
						killSupervisor(t, j)
					}
					p, err := awaitPhase(t, s, j, grid.Ended)
					if p.Cause != k.cause && k.cause != 0 || !k.blind && p.ExitCode != 7 || k.blind != errors.Is(err, grid.ErrDamaged) {
						t.Errorf("it ended %+v, %v", p, err)
					}
					awaitEmpty(t, s)
				}
				during(t, s, func() {
					submit(t, s, j)
					awaitPath(t, filepath.Join(j.Work, "stdout"))
					awaitPath(t, filepath.Join(j.Control, "run.1.0.1"))
					k.harm(t, j)
					if !restart {
						end(s)
					}
				})
				if restart {
					if s, err = smallSite(dir, quick(t), func(grid.AttemptID) {}); err != nil {
						t.Fatal(err)
					}
					during(t, s, func() { end(s) })
				}
				if starts, err := os.ReadFile(filepath.Join(j.Work, "starts")); string(starts) != "up\n" {
					t.Errorf("it was started %d times, %v", strings.Count(string(starts), "up"), err)
				}
			})
		}
	}
}

// killSupervisor kills the process that stands over the program, by the number in its sandbox.
func killSupervisor(t *testing.T, j grid.Submission) {
	t.Helper()
	spec := j.ID.Tag() + ".job"
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		line, err := os.ReadFile(n)
		if err != nil || !strings.HasSuffix(strings.TrimSuffix(string(line), "\x00"), spec) {
			continue
		}
		var p os.Process
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(n)), &p.Pid); err == nil {
			p.Kill()
		}
	}
}

func awaitEmpty(t *testing.T, s *embedded.System) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		all, err := s.Attempts(context.Background())
		if err == nil && len(all) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it still has %v, %v", all, err)
		}
	}
}

// An attempt that waits, and whose token nobody can take, leaves the queue for good.
func TestADamagedTokenOfWhatWaits(t *testing.T) {
	t.Parallel()
	for _, byKill := range []bool{false, true} {
		dir := t.TempDir()
		s, err := smallSite(dir, quick(t), func(grid.AttemptID) {})
		if err != nil {
			t.Fatal(err)
		}
		j := shellJob(dir, unique(), countAndWait)
		submit(t, s, j) // it does not run yet
		tear(t, j, "start")
		if p, err := s.Progress(context.Background(), j.ID, j.Control); p.Phase != grid.Waiting || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("it is %s, %v", p.Phase, err)
		}
		if byKill {
			if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
				t.Error(err)
			}
		} else if withdrawn, err := s.Withdraw(context.Background(), j.ID, j.Control); !withdrawn || err != nil {
			t.Errorf("withdrawn: %v, %v", withdrawn, err)
		}
		awaitEmpty(t, s)
	}
}

// A job whose directory is gone can be cancelled.
func TestKillWithoutADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := smallSite(dir, quick(t), func(grid.AttemptID) {})
	if err != nil {
		t.Fatal(err)
	}
	j := shellJob(dir, unique(), countAndWait)
	during(t, s, func() {
		submit(t, s, j)
		awaitPath(t, filepath.Join(j.Work, "stdout"))
		awaitPath(t, filepath.Join(j.Control, "run.1.0.1"))
		run, _, err := control.ReadRun(j.Control, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(j.Control)
		if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
			if alive, err := run.Leader.Alive(); !alive && err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("its program runs on")
			}
		}
		killSupervisor(t, j)
		if p, err := awaitPhase(t, s, j, grid.Ended); !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("it ended %+v, %v", p, err)
		}
	})
}
