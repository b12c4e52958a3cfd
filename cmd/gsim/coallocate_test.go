package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/internal/cli"
	"gbroker/sim/coallocate"
)

func runCoallocate(t *testing.T, args string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(context.Background(), newRoot(), append([]string{"coallocate"}, strings.Fields(args)...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestCoallocateTellsAndDraws(t *testing.T) {
	t.Parallel()
	plot := filepath.Join(t.TempDir(), "a.svg")
	code, out, errs := runCoallocate(t, "--jobs 40 --seeds 1 --giants 0.5 --json --plot "+plot)
	var all []coallocate.Comparison
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) != 9 {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out, errs)
	}
	ran := 0
	for _, c := range all {
		if c.Without.Giant.Ran != 0 || c.With.Giant.Ran != c.With.Giant.Jobs || c.Without.Narrow.Ran != c.With.Narrow.Ran || c.Without.Several != 0 {
			t.Errorf("%+v", c)
		}
		ran += c.With.Giant.Ran
	}
	if drawn, err := os.ReadFile(plot); ran == 0 || err != nil || !bytes.Contains(drawn, []byte("<svg")) {
		t.Errorf("%d giants ran, %.80s: %v", ran, drawn, err)
	}
	_, a, _ := runCoallocate(t, "--jobs 20 --seeds 1 --seed 3")
	_, b, _ := runCoallocate(t, "--jobs 20 --seeds 1 --seed 3")
	if a != b || !strings.Contains(a, "many small") {
		t.Errorf("one seed, two answers:\n%s\n%s", a, b)
	}
}

func TestCoallocateRefuses(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "a.xyz")
	for _, args := range []string{"--jobs 0", "--seeds 0", "--use NaN", "--giants 2", "--max-sites 0", "--window -1s", "--policy x", "--log /nowhere", "--jobs 5 --seeds 1 --plot /nowhere/a.svg", "--jobs 5 --seeds 1 --plot " + other} {
		if code, _, errs := runCoallocate(t, args); code == 0 || errs == "" {
			t.Errorf("gsim coallocate %s: exit code %d, %s", args, code, errs)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a drawing that cannot be made leaves a file")
	}
}
