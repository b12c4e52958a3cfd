package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/internal/cli"
	"gbroker/sim/faults"
)

func TestFaultsAnswers(t *testing.T) {
	t.Parallel()
	args := []string{"faults", "--seeds", "100-103", "--brokers", "3", "--jobs", "8"}
	code, out, errs := gsim(t.Context(), append(args, "--json")...)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	var got struct {
		Histories, Steps, Moved, Jobs int
		Faults, Coverage              map[string]int
		Violations                    []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Histories != 4 || got.Steps < 100 || got.Jobs == 0 || got.Moved == 0 || len(got.Faults) == 0 || got.Violations == nil || len(got.Violations) > 0 {
		t.Errorf("%+v", got)
	}
	for _, name := range faults.Points() {
		if _, told := got.Coverage[name]; !told {
			t.Errorf("the coverage does not tell of the crash point %q", name)
		}
	}
	code, out, errs = gsim(t.Context(), args...)
	if code != 0 || errs != "" || !strings.Contains(out, "histories") || !strings.Contains(out, "violations") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
}

// Fresh seeds come from the clock, and are told, so that they can be run again; a
// limit of time ends it.
func TestFaultsFresh(t *testing.T) {
	t.Parallel()
	type answer struct {
		Histories, Steps int
		First            uint64 `json:"first_seed"`
		Last             uint64 `json:"last_seed"`
	}
	run := func(args ...string) (a answer) {
		code, out, errs := gsim(t.Context(), append([]string{"faults", "--profile", "calm", "--brokers", "2", "--jobs", "3", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &a); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v, %s", code, err, errs)
		}
		return a
	}
	before := uint64(time.Now().UnixMicro())
	first := run("--fresh", "3")
	if first.Histories != 3 || first.First < before || first.Last != first.First+2 {
		t.Errorf("%+v, begun at %d", first, before)
	}
	if again := run("--seeds", fmt.Sprintf("%d-%d", first.First, first.Last)); again != first {
		t.Errorf("%+v, and again %+v", first, again)
	}
	if short := run("--fresh", "1000000", "--for", "50ms"); short.Histories == 0 || short.Histories == 1_000_000 {
		t.Errorf("%+v", short)
	}
}

// One seed is one history, to the byte, also where many run at once.
func TestSerialFaultsTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var texts []string
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		if code, _, errs := gsim(t.Context(), "faults", "--seeds", "5-8", "--trace", path); code != 0 {
			t.Fatalf("exit code %d, %s", code, errs)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if len(texts[0]) < 10_000 || texts[0] != texts[1] {
		t.Errorf("traces of %d and %d bytes; equal: %v", len(texts[0]), len(texts[1]), texts[0] == texts[1])
	}
}

// A violation ends it with 1 and a story; with --all it goes on.
func TestFaultsTellsAViolation(t *testing.T) {
	t.Parallel()
	args := []string{"faults", "--seeds", "0-3", "--break", "no-start-token,requeue-allowed"}
	code, out, errs := gsim(t.Context(), args...)
	if code != cli.No || !strings.Contains(out, "violations") || !strings.Contains(errs, "The smallest history found with it") || !strings.Contains(errs, "VIOLATED") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	code, out, errs = gsim(t.Context(), append(args, "--all", "--json")...)
	var got struct {
		Histories  int
		Violations []struct {
			Seed, Step     int
			Property, Text string
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.No || errs != "" {
		t.Fatalf("exit code %d, %v, %s", code, err, errs)
	}
	if v := got.Violations; got.Histories != 4 || len(v) == 0 || v[0].Step == 0 || v[0].Property == "" || v[0].Text == "" {
		t.Errorf("%+v", got)
	}
}

func TestFaultsRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cli.Usage, "--seeds is needed"},
		{[]string{"--seeds", "1-2", "--fresh", "3"}, cli.Usage, "one of the two"},
		{[]string{"--fresh", "-1"}, cli.Usage, "--fresh -1"},
		{[]string{"--fresh", "1", "--for", "-1s"}, cli.Usage, "--for"},
		{[]string{"--seeds", "9-3"}, cli.Usage, "A not above B"},
		{[]string{"--seeds", "x"}, cli.Usage, "it must be A-B"},
		{[]string{"--seeds", "0-9999999999"}, cli.Usage, "at most"},
		{[]string{"--seeds", "1-2", "--brokers", "0"}, cli.Usage, "--brokers 0"},
		{[]string{"--seeds", "1-2", "--jobs", "-1"}, cli.Usage, "--jobs -1"},
		{[]string{"--seeds", "1-2", "--profile", "doom"}, cli.Usage, "there are all, calm"},
		{[]string{"--seeds", "1-2", "--break", "no-lease,luck"}, cli.Usage, `there is no rule "luck"`},
		{[]string{"--seeds", "1-2", "--trace", t.TempDir()}, cli.Failed, "is a directory"},
		{[]string{"--seeds", "1-2", "3"}, cli.Usage, "takes nothing besides its flags, and 1 word is given: 3"},
	} {
		code, out, errs := gsim(t.Context(), append([]string{"faults"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, %q, %q; want %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, out, errs := gsim(ctx, "faults", "--seeds", "1-1000000"); code != cli.Failed || !strings.Contains(out, "histories") || !strings.Contains(errs, "interrupted") {
		t.Errorf("interrupted: exit code %d, %q, %q", code, out, errs)
	}
}

// The help names every profile and every rule.
func TestFaultsHelp(t *testing.T) {
	t.Parallel()
	code, out, _ := gsim(t.Context(), "faults", "--help")
	for _, p := range faults.Profiles() {
		if code != 0 || !strings.Contains(out, p.Name+" ") || !strings.Contains(out, p.About) {
			t.Errorf("the help does not tell of the profile %s", p.Name)
		}
	}
	for _, r := range faults.Rules() {
		if !strings.Contains(out, r.Name+" ") {
			t.Errorf("the help does not tell of the rule %s", r.Name)
		}
	}
}
