package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const small = `sites:
  - {count: 3, cores: 16}
links: {delivery_s: 0.5}
workload: {jobs: 60, cores: {poisson: 6, from: 1, to: 16}, run_s: {lognormal: 20, cv: 1}, load: [0.5, 0.9]}
brokering: {rule: [core, oracle], reevaluate_s: 5}
plots:
  - {file: response, title: Three sites, x: workload.load, y: mean_response_s}
`

func TestRunOfAnExperiment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "e.yaml")
	if err := os.WriteFile(file, []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, errs := gsim(t.Context(), "run", file, "--json", "--csv", filepath.Join(dir, "e.csv"), "--plots", filepath.Join(dir, "plots"))
	var runs []struct {
		Load      float64
		Brokering string
		Jobs      int
		Ratio     float64 `json:"oracle_ratio"`
	}
	if err := json.Unmarshal([]byte(out), &runs); err != nil || code != 0 || len(runs) != 4 {
		t.Fatal(code, errs, out, err)
	}
	for _, r := range runs {
		if r.Jobs != 60 || r.Ratio <= 0.8 || r.Ratio > 2 || r.Brokering == "oracle" && r.Ratio != 1 {
			t.Errorf("%+v", r)
		}
	}
	if csv, err := os.ReadFile(filepath.Join(dir, "e.csv")); err != nil || strings.Count(string(csv), "\n") != 5 {
		t.Errorf("%s, %v", csv, err)
	}
	if svg, err := os.ReadFile(filepath.Join(dir, "plots", "response.svg")); err != nil || !strings.Contains(string(svg), "offered load, part of all cores") {
		t.Errorf("no figure with a named axis: %v", err)
	}
	code, table, errs := gsim(t.Context(), "run", file)
	if code != 0 || strings.Count(table, "\n") != 5 || !strings.Contains(table, "BY ORACLE") {
		t.Error(code, errs, table)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "e.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(small, "count: 3", "cout: 3", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"run", file}, `e.yaml:2:6: unknown field "cout"`, 1},
		{[]string{"run", file, "--workers", "0"}, "--workers 0: from 1 to 1024", 2},
		{[]string{"run", file, "--plots-as", "gif"}, `--plots-as "gif": svg or png`, 2},
		{[]string{"run", file + ".not"}, "opening the experiment", 3},
		{[]string{"run"}, "takes EXPERIMENT.yaml", 2},
	} {
		if code, _, errs := gsim(t.Context(), c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: %d, %s", c.args, code, errs)
		}
	}
}
