package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/internal/cli"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// siteOver makes a site over a fake batch system: its configuration file.
func siteOver(t *testing.T, s *fakebatch.Server, batch string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gbroker.yaml")
	text := fmt.Sprintf("site: a\nlisten: []\nsocket: %s/s\nbatch: {commands: %s, %s}\n", s.Dir, s.Bin, batch)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// gbroker runs the program to its end.
func gbroker(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), newRoot(), args, &out, &errs)
	return out.String(), errs.String(), code
}

// An operator sees the jobs of all in TORQUE, and that nothing is known where it does not answer.
func TestSnapshotOfTorque(t *testing.T) {
	t.Parallel()
	s := fakebatch.Start(t, batch.Config{Face: "torque", Nodes: fakebatch.Nodes("torque", 2, 2)})
	file := siteOver(t, s, "system: torque, maui: true")
	for range 3 {
		submit := exec.CommandContext(t.Context(), filepath.Join(s.Bin, "qsub"), "-l", "nodes=2:ppn=2,walltime=1:00:00", "-N", "theirs")
		submit.Dir = t.TempDir() // its output goes there
		submit.Stdin = strings.NewReader("sleep 3600\n")
		if out, err := submit.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	out, errs, code := gbroker(t, "batch", "snapshot", "--config", file)
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	for _, want := range []string{"torque ", "node02", "QUEUE", "default", "WAITING", "RESERVATION"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	_, waiting, _ := strings.Cut(out, "\nWAITING")
	waiting, _, _ = strings.Cut(waiting, "\nRESERVATION")
	if n := strings.Count(waiting, "1h0m0s"); n < 2 {
		t.Errorf("%d jobs wait:\n%s", n, out)
	}
}

func TestSnapshotWithoutCommands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gbroker.yaml")
	if err := os.WriteFile(file, []byte("site: a\nbatch: {system: openpbs, environment: {PATH: /nowhere}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, errs, code := gbroker(t, "batch", "snapshot", "--config", file)
	if code != 3 || !strings.Contains(errs, "asking openpbs") || !strings.Contains(errs, "/nowhere") {
		t.Errorf("ends with %d: %s", code, errs)
	}
}

// The tables of a snapshot have widths of their own, and memory is told as elsewhere.
func TestTablesOfASnapshot(t *testing.T) {
	t.Parallel()
	var w strings.Builder
	b := api.Batch{System: "pool", Nodes: []api.BatchNode{{Name: "n", Cores: 1, Memory: 12341828 << 10}}, Reservations: []api.Reservation{{Native: "a-long-identifier", ID: "r"}}}
	if err := printBatch(&w, b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.String(), "\nNODE  CORES  USED  MEMORY    RESOURCES") || !strings.Contains(w.String(), "\nn     1      0     11.8 GiB  -") {
		t.Errorf("printed is\n%s", w.String())
	}
}
