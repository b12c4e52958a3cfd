package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/test/cluster"
)

// A command without a file: what it writes and how it ends are its own. Ctrl-C cancels it, and says so. An
// array of a script is a group of jobs, each with its index and its own files.
func TestCommandsAndArrays(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 2})
	start(t, s)
	must(t, os.WriteFile(filepath.Join(dir, "prog"), []byte("#!/bin/sh\necho \"$1|$2|$#\"; echo bad >&2; exit 3\n"), 0o755))
	cmd := s.Command(t.Context(), "run", "-t", "5", "-c2", "--", "./prog", "-t", "a b")
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, _ := cmd.Output()
	if string(out) != "-t|a b|2\n" || strings.Count(said.String(), "bad\n") != 1 || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("it writes %q, says %q and ends with %d", out, said.String(), cmd.ProcessState.ExitCode())
	}

	// Both streams come while it runs: it ends only when both were seen.
	both := s.Command(t.Context(), "run", "-t1", "sh", "-c", "echo to out; echo to err >&2; until [ -e "+dir+"/seen ]; do sleep 0.2; done")
	both.Dir = dir
	var output, failed streamed
	both.Stdout, both.Stderr = &output, &failed
	must(t, both.Start())
	eventually(t, "both streams are to come", func() bool { return output.has("to out\n") && failed.has("to err\n") })
	must(t, os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600))
	must(t, both.Wait())

	began := filepath.Join(dir, "began")
	endless := s.Command(t.Context(), "run", "-t1", "sh", "-c", "touch "+began+"; sleep 60")
	endless.Dir = dir
	said.Reset()
	endless.Stderr = &said
	must(t, endless.Start())
	eventually(t, "it is to begin", func() bool { return cluster.Exists(began) })
	must(t, endless.Process.Signal(syscall.SIGINT))
	_ = endless.Wait() // its exit code is looked at
	id := strings.Fields(strings.SplitAfterN(said.String(), "job ", 2)[1])[0]
	if endless.ProcessState.ExitCode() != 130 || !strings.Contains(said.String(), "interrupted; job "+id) {
		t.Errorf("it ends with %d and says %q", endless.ProcessState.ExitCode(), said.String())
	}
	if r := s.Client(t.Context(), "wait", id); r.Code == 0 || !strings.Contains(r.Stderr, "KILLED") {
		t.Errorf("the job: %+v", r)
	}

	folder := laid(t, dir, "slurm-array-throttle")
	came := filepath.Join(dir, "came")
	client(t, s, "submit", filepath.Join(folder, "slurm-array-throttle.sh"), "--output", came)
	if got := written(t, came); got != "0\n|11\n|13\n|3\n|7\n|9\n" {
		t.Errorf("the array writes %q", got)
	}
}
