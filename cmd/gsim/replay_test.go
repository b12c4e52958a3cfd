package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/internal/cli"
)

// gsim runs the program.
func gsim(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Run(ctx, newRoot(), args, &out, &errs)
	return code, out.String(), errs.String()
}

const threeJobs = `; MaxProcs: 2
1 10 -1 8 1 -1 -1 -1 10 -1 1 -1 -1 -1 -1 1 -1 -1
2 12 -1 20 2 -1 -1 -1 20 -1 1 -1 -1 -1 -1 1 -1 -1
7 13 -1 5 1 -1 -1 -1 5 -1 1 -1 -1 -1 -1 2 -1 -1
`

func writeLog(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.swf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayAnswers(t *testing.T) {
	t.Parallel()
	path := writeLog(t, threeJobs)
	starts := filepath.Join(t.TempDir(), "starts.tsv")
	code, out, errs := gsim(t.Context(), "replay", "--policy", "easy", "--starts", starts, "--json", path)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	got := make(map[string]any)
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if speed, ok := got["jobs_per_s"].(float64); !ok || speed <= 0 {
		t.Errorf("jobs_per_s is %v", got["jobs_per_s"])
	}
	delete(got, "jobs_per_s")
	got["bounded_slowdown_mean"] = fmt.Sprintf("%.6f", got["bounded_slowdown_mean"])
	want := map[string]any{
		"policy": "easy", "processors": 2., "jobs": 3., "wait_mean_s": 2., "wait_p99_s": 6., "response_mean_s": 13., "makespan_s": 28.,
		"bounded_slowdown_mean": "1.100000", "utilisation": 53 / 56.,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if text, err := os.ReadFile(starts); err != nil || string(text) != "#job\tstart\n1\t10\n2\t18\n7\t13\n" {
		t.Errorf("starts %q, %v", text, err)
	}
	code, out, errs = gsim(t.Context(), "replay", "--policy", "fcfs", path)
	if code != 0 || errs != "" || !strings.Contains(out, "wait, p99               25 s\n") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
}

func TestReplayNormalises(t *testing.T) {
	t.Parallel()
	raw := "1 10 -1 8 -1 -1 -1 2 -1 -1 1 -1 -1 -1 -1 1 -1 -1\n" +
		"2 11 -1 8 3 -1 -1 -1 9 -1 1 -1 -1 -1 -1 1 -1 -1\n" +
		"3 12 -1 8 3 -1 -1 -1 9 -1 1 -1 -1 -1 -1 2 -1 -1\n"
	path := writeLog(t, raw)
	starts := filepath.Join(t.TempDir(), "starts.tsv")
	args := []string{"replay", "--policy", "easy", "--procs", "2", "--partition", "1", "--starts", starts, "--json", "--normalise", path}
	code, out, errs := gsim(t.Context(), args...)
	if code != 0 || !strings.HasPrefix(errs, "normalised: dropped 1 of 2 jobs (0 without processors, 1 too large, 0 without run time); 1 without") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	var got struct{ Normalised map[string]int }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"read": 2, "too_large": 1, "no_estimate": 1, "no_processors": 0, "no_run_time": 0, "cut": 0}
	if !reflect.DeepEqual(got.Normalised, want) {
		t.Errorf("normalised %v, want %v", got.Normalised, want)
	}
	if text, err := os.ReadFile(starts); err != nil || string(text) != "#job\tstart\n1\t0\n" {
		t.Errorf("starts %q, %v", text, err)
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	path := writeLog(t, threeJobs)
	bad := writeLog(t, threeJobs+"7 15\n")
	empty := writeLog(t, "")
	bare := writeLog(t, strings.TrimPrefix(threeJobs, "; MaxProcs: 2\n"))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{path}, cli.Usage, "--policy is needed"},
		{[]string{"--policy", "easy"}, cli.Usage, "nothing is given"},
		{[]string{"--policy", "slurm", path}, cli.Usage, `policy "slurm": there are fcfs, firstfit[:N]`},
		{[]string{"--policy", "easy:1:fast", path}, cli.Usage, `there is no order "fast"`},
		{[]string{"--policy", "easy", "--procs", "0", path}, cli.Usage, "--procs 0"},
		{[]string{"--policy", "easy", "--partition", "-1", path}, cli.Usage, "--partition -1"},
		{[]string{"--policy", "easy", bare}, cli.Usage, "give --procs N"},
		{[]string{"--policy", "easy", "--starts", "", path}, cli.Usage, "--starts: name a file"},
		{[]string{"--policy", "easy", "--starts", "/dev/full", path}, cli.Failed, "writing /dev/full: "},
		{[]string{"--policy", "easy", empty}, cli.No, "the log has no jobs"},
		{[]string{"--policy", "easy", bad}, cli.No, bad + ": line 5: 2 fields, not 18"},
		{[]string{"--policy", "easy", "--procs", "1", path}, cli.No, "line 3: the job has 2 processors, and the machine 1"},
		{[]string{"--policy", "easy", path + ".gz"}, cli.Failed, "no such file"},
		{[]string{"--policy", "easy", filepath.Dir(path)}, cli.Failed, "is a directory"},
		{[]string{"--policy", "easy", "--starts", filepath.Join(path, "x"), path}, cli.Failed, "not a directory"},
	} {
		code, out, errs := gsim(t.Context(), append([]string{"replay"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, %q, %q; want %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}

func TestReplayIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, errs := gsim(ctx, "replay", "--policy", "easy", writeLog(t, threeJobs))
	if code != cli.Failed || errs != "gsim: interrupted\n" {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// A file keeps what it held until there is an answer; one that was not there is not made.
func TestAnswerFile(t *testing.T) {
	t.Parallel()
	log := writeLog(t, threeJobs)
	old := writeLog(t, strings.Repeat("an old and longer answer\n", 9))
	fresh := old + ".new"
	for _, path := range []string{old, fresh} {
		before, _ := os.ReadFile(path)
		cmd := newReplay()
		if err := cmd.Flags().Set("starts", path); err != nil {
			t.Fatal(err)
		}
		file, err := openAnswer(cmd, "starts")
		if err != nil {
			t.Fatal(err)
		}
		file.close() // the work was interrupted
		if after, err := os.ReadFile(path); string(after) != string(before) || errors.Is(err, fs.ErrNotExist) != (path == fresh) {
			t.Errorf("without an answer: %q, %v", after, err)
		}
	}
	for _, path := range []string{old, fresh} {
		if code, _, errs := gsim(t.Context(), "replay", "--policy", "easy", "--starts", path, log); code != 0 {
			t.Errorf("exit code %d, %q", code, errs)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "#job\tstart\n1\t10\n2\t18\n7\t13\n" {
			t.Errorf("%q, %v", text, err)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, 9) // a buffer is no terminal
	p.next = time.Time{}
	p.at(3)
	p.done()
	if out.Len() > 0 {
		t.Errorf("%q on what is no terminal", out.String())
	}
	p.w = &out
	p.at(3)
	p.at(4) // too soon
	p.done()
	if want := "\r3 of 9 jobs \r\x1b[K"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// The help names every policy that there is.
func TestReplayHelp(t *testing.T) {
	t.Parallel()
	code, out, _ := gsim(t.Context(), "replay", "--help")
	for _, word := range []string{"fcfs", "firstfit[:N]", "easy[:K[:ORDER]]", "easysjbf", "cons-rebuild", "cons-compress", "smallest", "--normalise", "Examples:"} {
		if code != 0 || !strings.Contains(out, word) {
			t.Errorf("exit code %d; the help does not tell of %s", code, word)
		}
	}
	if code, _, errs := gsim(t.Context(), "replai"); code != cli.Usage || !strings.Contains(errs, `did you mean "replay"`) {
		t.Error(fmt.Sprint(code, errs))
	}
}
