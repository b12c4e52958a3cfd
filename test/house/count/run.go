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

var errUsage = errors.New("usage: count COMMAND... : PACKAGE... [-- COMMAND... : PACKAGE...] [then COMMAND... : PACKAGE...]")

// stages reads the arguments: the commands of each stage.
func stages(args []string) ([][]run, error) {
	var all [][]run
	for _, stage := range split(args, "then") {
		var together []run
		for _, one := range split(stage, "--") {
			colon := slices.Index(one, ":")
			if colon < 1 || colon == len(one)-1 {
				return nil, errUsage
			}
			together = append(together, run{one[:colon], one[colon+1:]})
		}
		all = append(all, together)
	}
	return all, nil
}

// split gives what stands between the separators, of which there may be none.
func split(args []string, separator string) [][]string {
	var all [][]string
	for {
		end := slices.Index(args, separator)
		if end < 0 {
			return append(all, args)
		}
		all, args = append(all, args[:end]), args[end+1:]
	}
}

// tests runs the commands, stage after stage, and then once more what failed in each.
func (t *tally) tests(all [][]run) error {
	var commands []run
	var parts []*tally
	var errs []error
	for _, stage := range all {
		p, err := together(stage, &lines{to: t.out})
		commands, parts, errs = append(commands, stage...), append(parts, p...), append(errs, err...)
	}
	broken := 0
	for _, p := range parts {
		broken += p.tops()
	}
	for i, p := range parts {
		if broken <= few && errs[i] == nil {
			errs[i] = p.again(commands[i].command)
		}
		t.passed, t.failed, t.skipped = t.passed+p.passed, t.failed+p.failed, t.skipped+p.skipped
	}
	return errors.Join(errs...)
}

// together runs commands at the same time, and gives the tally and the error of each.
func together(all []run, out *lines) ([]*tally, []error) {
	var wait sync.WaitGroup
	parts, errs := make([]*tally, len(all)), make([]error, len(all))
	for i, r := range all {
		parts[i] = newTally(out)
		wait.Go(func() { errs[i] = parts[i].run(r) })
	}
	wait.Wait()
	return parts, errs
}

// run runs one command. One that fails without a failed test, and one in which no test
// passed, is a failure of its own.
func (t *tally) run(r run) error {
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
