package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBagTells(t *testing.T) {
	t.Parallel()
	plot := filepath.Join(t.TempDir(), "a.svg")
	args := strings.Fields("pool bag --computers 8 --tasks 8,24 --seeds 3 --seed 7 --json --plot " + plot)
	code, out, errs := gsim(t.Context(), args...)
	var rows []bagRow
	if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil || len(rows) != 4*3*2 {
		t.Fatalf("exit code %d, %v: %s %s", code, err, out, errs)
	}
	for _, r := range rows {
		if r.Seeds != 3 || r.Mean["makespan"] <= 0 || len(r.SD) != 4 {
			t.Errorf("%+v", r)
		}
	}
	if _, again, _ := gsim(t.Context(), append(args, "--workers", "5")...); again != out {
		t.Errorf("one seed, two answers:\n%s\n%s", out, again)
	}
	if drawn, err := os.ReadFile(plot); err != nil || !bytes.Contains(drawn, []byte("tasks for each computer")) || !bytes.Contains(drawn, []byte("wqr-ft, information: full")) {
		t.Errorf("no figure with named lines: %v", err)
	}
	for args, want := range map[string]string{
		"--replication wqr-x": `no replication "wqr-x"`, "--knows all": "--knows", "--tasks 0": "--tasks", "--copies 0": "--copies 0", "--measure joy": "--measure", "--plot a.gif": "--plot", "--seeds 0": "--seeds 0",
	} {
		if code, _, errs := gsim(t.Context(), append([]string{"pool", "bag"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("gsim pool bag %s: exit code %d, %s", args, code, errs)
		}
	}
}
