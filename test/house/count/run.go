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

var errUsage = errors.New("usage: count COMMAND... : PACKAGE... [-- COMMAND... : PACKAGE...] [then COMMAND... : PACKAGE...] [and COMMAND...]")

// chain is commands in stages: those of a stage run at the same time.
type chain [][]run

// chains reads the arguments.
func chains(args []string) ([]chain, error) {
	var all []chain
	for _, one := range split(args, "and") {
		c, err := stages(one)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func stages(args []string) (chain, error) {
	var all chain
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

// part is what came of one command.
type part struct {
	*tally
	command []string
	err     error
}

// tests runs the chains, and when all have ended once more what failed in each command.
func (t *tally) tests(all []chain) error {
	var wait sync.WaitGroup
	out, ended := &lines{to: t.out}, make([][]*part, len(all))
	for i, c := range all {
		wait.Go(func() { ended[i] = c.run(out) })
	}
	wait.Wait()
	parts, broken := slices.Concat(ended...), 0
	for _, p := range parts {
		broken += p.tops()
	}
	var errs []error
	for _, p := range parts {
		if broken <= few && p.err == nil {
			p.err = p.again(p.command)
		}
		errs = append(errs, p.err)
		t.passed, t.failed, t.skipped = t.passed+p.passed, t.failed+p.failed, t.skipped+p.skipped
	}
	return errors.Join(errs...)
}

// run runs the commands, stage after stage.
func (c chain) run(out *lines) (all []*part) {
	for _, stage := range c {
		var wait sync.WaitGroup
		for _, r := range stage {
			p := &part{tally: newTally(out), command: r.command}
			all = append(all, p)
			wait.Go(func() { p.err = p.run(r) })
		}
		wait.Wait()
	}
	return all
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
