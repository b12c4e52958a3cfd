package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPoolTells(t *testing.T) {
	t.Parallel()
	args := strings.Fields("pool --jobs 60 --computers 10 --seeds 3 --seed 5 --rule edf,best --weak 0,20 --arrivals first,enlarged --sigma 0,0.2 --json")
	code, out, errs := gsim(t.Context(), args...)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil || len(rows) != 16 {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out, errs)
	}
	for _, r := range rows {
		for _, name := range []string{"rule", "weak", "arrivals", "sigma", "seeds", "failures_mean", "failures_sd"} {
			if _, ok := r[name]; !ok || len(r) != 7 || r["seeds"] != 3.0 {
				t.Errorf("%s: %v", name, r)
			}
		}
	}
	if _, again, _ := gsim(t.Context(), append(args, "--workers", "5")...); again != out {
		t.Errorf("one seed, two answers:\n%s\n%s", out, again)
	}
	plot := filepath.Join(t.TempDir(), "a.svg")
	code, table, errs := gsim(t.Context(), "pool", "--jobs", "40", "--computers", "5", "--seeds", "2", "--rule", "edf,slack", "--parts", "1,2", "--plot", plot)
	drawn, err := os.ReadFile(plot)
	if err != nil || code != 0 || !bytes.Contains(drawn, []byte("parts of a job, at most")) || !bytes.Contains(drawn, []byte("slack")) {
		t.Errorf("exit code %d, %s: no figure with a named axis: %v\n%s", code, errs, err, table)
	}
	_, table, _ = gsim(t.Context(), "pool", "--jobs", "20", "--seeds", "1")
	if !strings.Contains(table, "fcfs-killed") || !strings.Contains(table, "--seed ") {
		t.Error(table)
	}
}

func TestPoolInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if code, out, errs := gsim(ctx, "pool", "--json"); code == 0 || strings.TrimSpace(out) != "[]" || !strings.Contains(errs, "partial") {
		t.Errorf("exit code %d: %s %s", code, out, errs)
	}
}

func TestPoolRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--rule sjf": `there is no rule "sjf"; there are fcfs`, "--rule edf,": `no rule ""`, "--weak -1": "--weak", "--weak 1.5": "--weak", "--weak 1e9": "--weak",
		"--arrivals later": `--arrivals "later": first or enlarged`, "--sigma NaN": "--sigma", "--sigma x": "--sigma", "--errors job": `--errors "job": run or computer`,
		"--knows all": "--knows", "--jobs 0": "--jobs 0", "--computers 0": "--computers 0", "--seeds 0": "--seeds 0", "--workers 0": "--workers 0", "--weak-h 0": "--weak-h",
		"--parts 0": "--parts", "--parts 2": "the rule fcfs cuts no jobs", "--delivery -1": "--delivery", "--plot a.gif": "--plot a.gif", "--plot a.svg": "a figure needs one of",
		"--plot a.svg --weak 0,1 --sigma 0,1": "a figure needs one of", "--measure joy": "--measure", "--seeds 100000 --jobs 9 --weak 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15": "runs: at most",
		"--margin NaN": "--margin", "--endangered -1": "--endangered", "--seed -1": "--seed", "--what": "unknown flag", "more": "pool",
	} {
		if code, _, errs := gsim(t.Context(), append([]string{"pool"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("gsim pool %s: exit code %d, %s", args, code, errs)
		}
	}
}
