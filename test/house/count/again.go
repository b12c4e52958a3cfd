package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// few bounds what is run once more, of all commands: where more fails it is not the machine.
const few = 12

// again runs the tests that failed in a command once more, package by package, and counts those that
// pass alone as passed. A package that failed in no test of its own is not run again.
func (t *tally) again(command []string) error {
	for _, name := range slices.Sorted(maps.Keys(t.broken)) {
		if err := t.packageAgain(command, name); err != nil {
			return err
		}
	}
	return nil
}

// tops is how many tests failed, those inside others not counted.
func (t *tally) tops() int {
	n := 0
	for _, names := range t.broken {
		n += len(topmost(names))
	}
	return n
}

func (t *tally) packageAgain(command []string, name string) error {
	failed := t.broken[name]
	only := "^(" + strings.Join(topmost(failed), "|") + ")$"
	args := append(slices.Clone(command[1:]), "-count=1", "-run", only, name)
	cmd := exec.Command(command[0], args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("running the tests of %s again: %w", name, err)
	}
	second := newTally(t.out)
	err = second.read(out)
	cmd.Wait() // what it says by its exit code is counted already
	if err != nil {
		return err
	}
	if second.failed > 0 || second.passed < len(failed) {
		return nil
	}
	t.failed -= len(failed)
	t.passed += len(failed)
	fmt.Fprintf(t.out, "AGAIN %s: failed once, and passed alone: %s\n", name, strings.Join(failed, " "))
	return nil
}

// topmost are the tests that `go test -run` takes: without what runs inside them.
func topmost(names []string) []string {
	var all []string
	for _, n := range names {
		top, _, _ := strings.Cut(n, "/")
		if top = regexp.QuoteMeta(top); !slices.Contains(all, top) {
			all = append(all, top)
		}
	}
	return all
}
