package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// trial runs the tests of one package on its mutants.
type trial struct {
	sample
	name    string
	scratch string
	bench   *bench  // nil where nothing builds together
	tests   []probe // of the bench, those first that use least
	whole   bounds  // of all tests, built alone
}

// bounds are how long tests may take.
type bounds struct {
	hang time.Duration // what takes so long hangs, as far as is known
	busy time.Duration // and what takes so much of a processor's time does in any case
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

// bounds of tests that take so long on the code as it is.
func (s sample) bounds(took, used time.Duration) bounds {
	return bounds{max(s.limit, patience*took), max(s.limit, circles*used)}
}

// trial runs the tests on the code as it is, to see that they hold and where they go.
func (s sample) trial(ctx context.Context, scratch, name string, drawn []mutant) (*trial, error) {
	b, err := s.together(ctx, scratch, name, drawn)
	if err != nil {
		return nil, err
	}
	t := &trial{sample: s, name: name, scratch: scratch, bench: b, whole: bounds{s.first, s.first}}
	if b != nil {
		return t, t.probeAll(ctx)
	}
	began := time.Now()
	cmd := t.alone(ctx, t.whole)
	o, said, err := t.run(ctx, t.whole, cmd)
	if err == nil && o != survived {
		err = fmt.Errorf("the tests of %s fail on the code as it is: %s", name, said)
	}
	t.whole = s.bounds(time.Since(began), s.first)
	return t, err
}

// quick is how much of a processor's time the tests may use that are run first.
const quick = time.Second

// of is what becomes of a mutant of the sample. Only tests that come by it are run: first some that use little.
func (t *trial) of(ctx context.Context, id int, m mutant) (outcome, error) {
	if t.bench == nil || !t.bench.has[id] {
		return t.unlike(ctx, m)
	}
	var groups [2][]probe
	used := time.Duration(0)
	for _, p := range t.tests {
		if !p.comes[id] {
			continue
		}
		k := 1
		if used += p.used; used <= quick {
			k = 0
		}
		groups[k] = append(groups[k], p)
	}
	o := unreached
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		took, used, names := summed(g)
		var err error
		if o, err = t.patient(ctx, t.bounds(took, used), func(mutated bool, b bounds) *exec.Cmd { return t.within(ctx, b, numbered(id, mutated), names) }); o != survived || err != nil {
			return o, err
		}
	}
	return o, nil
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
	return t.patient(ctx, t.whole, func(mutated bool, b bounds) *exec.Cmd {
		if mutated {
			return t.alone(ctx, b, "-overlay", overlay)
		}
		return t.alone(ctx, b)
	})
}

// patient runs tests with the mutant. If they exceed the limit, the same tests of the code as it is tell whether the machine was too slow for it:
// then it is raised, and the mutant is tried again.
func (t *trial) patient(ctx context.Context, b bounds, tests func(mutated bool, b bounds) *exec.Cmd) (outcome, error) {
	for range repeats {
		if o, _, err := t.run(ctx, b, tests(true, b)); o != hung || err != nil {
			return o, err
		}
		began := time.Now()
		o, _, err := t.run(ctx, b, tests(false, b))
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		if o == survived && took < b.hang/part {
			return hung, nil
		}
		b.hang = max(2*b.hang, patience*took)
	}
	return unsure, nil
}

// within is a run of tests of the bench with one mutant, or with none.
func (t *trial) within(ctx context.Context, b bounds, id int, tests string, more ...string) *exec.Cmd {
	limits := fmt.Sprintf(`ulimit -v %d && ulimit -t %d && exec "$@"`, memory, int(b.busy.Seconds())+1)
	args := []string{"-c", limits, "sh", t.bench.program, "-test.short", "-test.failfast", "-test.timeout", b.hang.String(), "-test.run", tests}
	cmd := exec.CommandContext(ctx, "sh", append(args, more...)...)
	cmd.Dir = t.bench.folder
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id))
	return cmd
}

// alone is a run of the tests by the go command, which builds them anew.
func (t *trial) alone(ctx context.Context, b bounds, more ...string) *exec.Cmd {
	args := []string{"test", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", b.hang.String()}
	if t.sample.run != "" {
		args = append(args, "-run", t.sample.run)
	}
	cmd := t.tool(ctx, append(append(args, more...), t.name)...)
	cmd.Env = os.Environ()
	return cmd
}

func (t *trial) run(ctx context.Context, b bounds, cmd *exec.Cmd) (outcome, string, error) {
	left, err := passable(t.scratch, "left") // a killed test leaves its files here
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
	case exit.ExitCode() < 0 && exit.UserTime()+exit.SystemTime() >= b.busy:
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
