package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
)

// run is one command of go test -json and the packages it is given.
type run struct {
	command, packages []string
}

var errUsage = errors.New("usage: count COMMAND... : PACKAGE... [-- COMMAND... : PACKAGE...]")

// runs reads the arguments.
func runs(args []string) ([]run, error) {
	var all []run
	for len(args) > 0 {
		one := args
		if end := slices.Index(args, "--"); end >= 0 {
			one, args = args[:end], args[end+1:]
		} else {
			args = nil
		}
		colon := slices.Index(one, ":")
		if colon < 1 || colon == len(one)-1 {
			return nil, errUsage
		}
		all = append(all, run{one[:colon], one[colon+1:]})
	}
	if len(all) == 0 {
		return nil, errUsage
	}
	return all, nil
}

// together runs all commands at the same time, and then once more what failed in each.
func (t *tally) together(all []run) error {
	var wait sync.WaitGroup
	parts := make([]*tally, len(all))
	errs := make([]error, len(all))
	out := &lines{to: t.out}
	for i, r := range all {
		parts[i] = newTally(out)
		wait.Go(func() { errs[i] = parts[i].tests(r) })
	}
	wait.Wait()
	broken := 0
	for _, p := range parts {
		broken += p.tops()
	}
	for i, p := range parts {
		if broken <= few && errs[i] == nil {
			errs[i] = p.again(all[i].command)
		}
		t.passed, t.failed, t.skipped = t.passed+p.passed, t.failed+p.failed, t.skipped+p.skipped
	}
	return errors.Join(errs...)
}

// tests runs one command. One that fails without a failed test, and one in which no test
// passed, is a failure of its own.
func (t *tally) tests(r run) error {
	cmd := exec.Command(r.command[0], slices.Concat(r.command[1:], r.packages)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("running %s: %w", r.command[0], err)
	}
	err = t.read(out)
	ended := cmd.Wait()
	switch {
	case err != nil:
		return err
	case t.failed > 0: // told already
	case ended != nil:
		return fmt.Errorf("running %v: %w", r.command, ended)
	case t.passed == 0:
		return fmt.Errorf("running %v: no test ran in %v", r.command, r.packages)
	}
	return nil
}

// lines keeps what is written at once together.
type lines struct {
	mu sync.Mutex
	to interface{ Write([]byte) (int, error) }
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
