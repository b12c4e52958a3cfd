package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// probe is a test on the code as it is, alone: by which mutants it comes, and how long it takes.
type probe struct {
	name  string
	took  time.Duration
	used  time.Duration // of a processor
	comes map[int]bool
}

// probeAll runs each test of the bench alone, as many at a time as there are processors.
func (t *trial) probeAll(ctx context.Context) error {
	names, err := t.listed(ctx)
	if err != nil {
		return err
	}
	t.tests = make([]probe, len(names))
	faults := make([]error, len(names))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, name := range names {
		turns <- struct{}{}
		all.Go(func() {
			t.tests[i], faults[i] = t.probe(ctx, i, name)
			<-turns
		})
	}
	all.Wait()
	slices.SortStableFunc(t.tests, func(a, b probe) int { return cmp.Compare(a.used, b.used) })
	took, used, _ := summed(t.tests)
	t.whole = t.bounds(took, used)
	return errors.Join(faults...)
}

// listed are the tests to be run.
func (t *trial) listed(ctx context.Context) (names []string, err error) {
	cmd := exec.CommandContext(ctx, t.bench.program, "-test.list", cmp.Or(t.sample.run, "."))
	cmd.Dir = t.bench.folder
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", t.name, err)
	}
	is := regexp.MustCompile(`^(Test|Example|Fuzz)`)
	for _, name := range strings.Fields(string(text)) {
		if is.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (t *trial) probe(ctx context.Context, i int, name string) (probe, error) {
	p := probe{name: name, comes: map[int]bool{}}
	reached := filepath.Join(t.scratch, fmt.Sprint("reached", i))
	cmd := t.within(ctx, t.whole, 0, "^"+name+"$")
	cmd.Env = append(cmd.Env, "MUTANTS_REACHED="+reached)
	began := time.Now()
	o, said, err := t.run(ctx, t.whole, cmd)
	p.took = time.Since(began)
	if err != nil {
		return p, err
	} else if o != survived {
		return p, fmt.Errorf("%s fails on the code as it is: %s", name, said)
	}
	p.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	text, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("reading where %s comes by: %w", name, err)
	}
	for _, word := range strings.Fields(string(text)) {
		id, _ := strconv.Atoi(word)
		p.comes[id] = true
	}
	return p, nil
}

// summed are tests as one run.
func summed(tests []probe) (took, used time.Duration, run string) {
	names := make([]string, len(tests))
	for i, p := range tests {
		took, used, names[i] = took+p.took, used+p.used, p.name
	}
	return took, used, "^(" + strings.Join(names, "|") + ")$"
}
