package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/internal/cli"
)

// Job 2 waits for job 1, believed to end at 20, and job 7 for job 2, until 40.
func TestPredictAnswers(t *testing.T) {
	t.Parallel()
	path := writeLog(t, threeJobs)
	file := filepath.Join(t.TempDir(), "estimates.tsv")
	code, out, errs := gsim(t.Context(), "predict", "--policy", "fcfs", "--runtime", "requested", "--estimates", file, "--json", path)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]any{
		"policy": "fcfs", "runtime": "requested", "jobs": 3., "waited": 2., "mean_absolute_error_s": 2., "median_absolute_error_s": 2.,
		"p90_absolute_error_s": 2., "within_60s": 1., "within_600s": 1., "too_early": 0., "after_p90": 0.,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "#job\ttime\testimate\tstart\tp90\n2\t12\t20\t18\t21\n7\t13\t40\t38\t43\n" {
		t.Errorf("estimates %q, %v", text, err)
	}
	for _, method := range []string{"last2", "ratio", "best", "actual"} {
		code, out, errs = gsim(t.Context(), "predict", "--policy", "easy", "--runtime", method, path)
		if code != 0 || errs != "" || !strings.Contains(out, "waited                  1\n") {
			t.Errorf("%s: exit code %d, %s\n%s", method, code, errs, out)
		}
	}
}

// A requested time that nobody looks at may be unknown.
func TestPredictWithoutRequestedTimes(t *testing.T) {
	t.Parallel()
	path := writeLog(t, "; MaxProcs: 1\n1 10 -1 8 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 1 -1 -1\n2 11 -1 8 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 1 -1 -1\n")
	code, out, errs := gsim(t.Context(), "predict", "--policy", "fcfs", "--runtime", "actual", "--json", path)
	if code != 0 || !strings.Contains(out, `"waited": 1,`) || !strings.Contains(out, `"mean_absolute_error_s": 0,`) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if code, _, errs := gsim(t.Context(), "predict", "--policy", "easy", "--runtime", "actual", path); code != cli.No {
		t.Errorf("easy: exit code %d, %s", code, errs)
	}
}

func TestPredictRefuses(t *testing.T) {
	t.Parallel()
	path := writeLog(t, threeJobs)
	vague := writeLog(t, "; MaxProcs: 2\n1 10 -1 8 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 1 -1 -1\n")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--policy", "easy", path}, cli.Usage, "--runtime is needed: requested, last2"},
		{[]string{"--policy", "easy", "--runtime", "tarot", path}, cli.Usage, `no way "tarot"`},
		{[]string{"--policy", "slurm", "--runtime", "best", path}, cli.Usage, `policy "slurm"`},
		{[]string{"--policy", "fcfs", "--runtime", "best", vague}, cli.No, "line 2: the requested time is unknown"},
		{[]string{"--policy", "fcfs", "--runtime", "best", "--estimates", filepath.Join(path, "x"), path}, cli.Failed, "not a directory"},
	} {
		code, out, errs := gsim(t.Context(), append([]string{"predict"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, %q, %q; want %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}
