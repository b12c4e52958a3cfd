package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// trial runs the tests of one package on its mutants.
type trial struct {
	sample
	name    string
	scratch string
	bench   *bench        // nil where nothing builds together
	reached map[int]bool  // the mutants of the bench that some test comes by
	slow    string        // the tests that take most of the time, as a regular expression: they are run on what the others do not notice
	hang    time.Duration // what takes so long hangs, as far as is known
	busy    time.Duration // and what takes so much of a processor's time does in any case
}

// The tests of a mutant run in a circle if they take many times the processor's time of those of the code as it is: that hardly depends on what else the
// machine does. They wait for ever if they take many times as long, and those of the code as it is take but a part of that in the same moment.
const (
	patience = 10
	circles  = 5
	part     = 4
	repeats  = 3       // on a machine that has become slower meanwhile
	memory   = 8 << 20 // KiB that a circle may fill
)

// trial runs the tests on the code as it is, to see that they hold and where they go.
func (s sample) trial(ctx context.Context, scratch, name string, drawn []mutant) (*trial, error) {
	b, err := s.together(ctx, scratch, name, drawn)
	if err != nil {
		return nil, err
	}
	t := &trial{sample: s, name: name, scratch: scratch, bench: b, reached: map[int]bool{}, hang: s.first, busy: s.first}
	cmd := t.alone(ctx)
	if b != nil {
		cmd = t.within(ctx, 0, "-test.v")
		cmd.Env = append(cmd.Env, "MUTANTS_REACHED="+filepath.Join(scratch, "reached"))
	}
	began := time.Now()
	o, said, err := t.run(ctx, cmd)
	t.slow, t.hang = slow(said), max(s.limit, patience*time.Since(began))
	if p := cmd.ProcessState; p != nil {
		t.busy = max(s.limit, circles*(p.UserTime()+p.SystemTime()))
	}
	if err != nil {
		return nil, err
	} else if o != survived {
		return nil, fmt.Errorf("the tests of %s fail on the code as it is: %s", name, said)
	}
	text, err := os.ReadFile(filepath.Join(scratch, "reached"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, word := range strings.Fields(string(text)) {
		id, _ := strconv.Atoi(word)
		t.reached[id] = true
	}
	return t, nil
}

// of is what becomes of a mutant of the sample.
func (t *trial) of(ctx context.Context, id int, m mutant) (outcome, error) {
	if t.bench == nil || !t.bench.has[id] {
		return t.unlike(ctx, m)
	}
	if !t.reached[id] {
		return unreached, nil
	}
	if t.slow != "" {
		o, err := t.patient(ctx, func(mutated bool) *exec.Cmd { return t.within(ctx, numbered(id, mutated), "-test.skip", t.slow) })
		if o != survived || err != nil {
			return o, err
		}
	}
	return t.patient(ctx, func(mutated bool) *exec.Cmd {
		return t.within(ctx, numbered(id, mutated), "-test.run", cmp.Or(t.slow, t.sample.run))
	})
}

func numbered(id int, mutated bool) int {
	if mutated {
		return id
	}
	return 0
}

// unlike is what becomes of a mutant that has no place beside the original.
func (t *trial) unlike(ctx context.Context, m mutant) (outcome, error) {
	text, err := m.text()
	if err != nil {
		return 0, err
	}
	overlay, err := overlaid(t.scratch, map[string][]byte{m.file: text})
	if err != nil {
		return 0, err
	}
	return t.patient(ctx, func(mutated bool) *exec.Cmd {
		if mutated {
			return t.alone(ctx, "-overlay", overlay)
		}
		return t.alone(ctx)
	})
}

// patient runs tests with the mutant. If they exceed the limit, the same tests of the code as it is tell whether the machine was too slow for it:
// then it is raised, and the mutant is tried again.
func (t *trial) patient(ctx context.Context, tests func(mutated bool) *exec.Cmd) (outcome, error) {
	for range repeats {
		if o, _, err := t.run(ctx, tests(true)); o != hung || err != nil {
			return o, err
		}
		began := time.Now()
		o, _, err := t.run(ctx, tests(false))
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		if o == survived && took < t.hang/part {
			return hung, nil
		}
		t.hang = max(2*t.hang, patience*took)
	}
	return unsure, nil
}

// within is a run of the bench with one mutant, or with none.
func (t *trial) within(ctx context.Context, id int, more ...string) *exec.Cmd {
	limits := fmt.Sprintf(`ulimit -v %d && ulimit -t %d && exec "$@"`, memory, int(t.busy.Seconds())+1)
	args := []string{"-c", limits, "sh", t.bench.program, "-test.short", "-test.failfast", "-test.timeout", t.hang.String()}
	if t.sample.run != "" {
		args = append(args, "-test.run", t.sample.run)
	}
	cmd := exec.CommandContext(ctx, "sh", append(args, more...)...)
	cmd.Dir = t.bench.folder
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id))
	return cmd
}

var took = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(([\d.]+)s\)`)

// slow are the tests that took so long that it pays to run the others first.
func slow(said string) string {
	var names []string
	for _, m := range took.FindAllStringSubmatch(said, -1) {
		if seconds, _ := strconv.ParseFloat(m[2], 64); seconds >= 0.3 {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// alone is a run of the tests by the go command, which builds them anew.
func (t *trial) alone(ctx context.Context, more ...string) *exec.Cmd {
	args := []string{"test", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", t.hang.String()}
	if t.sample.run != "" {
		args = append(args, "-run", t.sample.run)
	}
	cmd := t.tool(ctx, append(append(args, more...), t.name)...)
	cmd.Env = os.Environ()
	return cmd
}

func (t *trial) run(ctx context.Context, cmd *exec.Cmd) (outcome, string, error) {
	left, err := os.MkdirTemp(t.scratch, "left") // a killed test leaves its files here
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(left)
	cmd.Env = append(cmd.Env, "TMPDIR="+left)
	text, err := cmd.CombinedOutput()
	said := string(text)
	if errors.Is(ctx.Err(), context.Canceled) {
		return 0, "", ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, said, nil
	case !errors.As(err, &exit):
		return 0, "", fmt.Errorf("running the tests of %s: %w", t.name, err)
	case strings.Contains(said, "[build failed]"), strings.Contains(said, "[setup failed]"):
		return unbuilt, said, nil
	case strings.Contains(said, "panic: test timed out after "):
		return hung, said, nil
	case exit.ExitCode() < 0 && exit.UserTime()+exit.SystemTime() >= t.busy:
		return circled, said, nil
	}
	return killed, said, nil
}

// changed begins the names of changed files.
const changed = "changed-"

// overlaid writes changed files and the file by which the go command finds them.
func overlaid(folder string, texts map[string][]byte) (string, error) {
	where := map[string]string{}
	for path, text := range texts {
		where[path] = filepath.Join(folder, changed+filepath.Base(path))
		if err := os.WriteFile(where[path], text, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": where})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
