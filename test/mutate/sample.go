package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sample is what to draw and how to run it.
type sample struct {
	folder   string // where the go command runs
	packages []string
	number   int
	seed     uint64
	first    time.Duration // the limit of the tests on the code as it is, which set that of the mutants
	limit    time.Duration // the least for the mutants
	run      string
	files    string
	changes  string
}

// outcome of one mutant.
type outcome int

const (
	survived outcome = iota
	unreached
	killed
	circled // it took many times the processor's time
	hung    // and the tests of the code as it is took but a part of the limit
	unsure  // they came near to it too
	unbuilt
)

// all prints, package by package, the score and the survivors.
func (s sample) all(ctx context.Context, out io.Writer) error {
	if len(s.packages) == 0 {
		return errors.New("no package named: mutate ./store ./wire")
	}
	fmt.Fprintf(out, "seed %d\n", s.seed)
	draw := rand.New(rand.NewPCG(s.seed, 0))
	for _, name := range s.packages {
		if err := s.one(ctx, out, draw, name); err != nil {
			return err
		}
	}
	return nil
}

func (s sample) one(ctx context.Context, out io.Writer, draw *rand.Rand, name string) error {
	files, err := s.sources(ctx, name)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(s.changes)
	if err != nil {
		return fmt.Errorf("the changes wanted: %w", err)
	}
	var all []mutant
	for _, f := range files {
		more, err := mutants(f)
		if err != nil {
			return err
		}
		all = append(all, slices.DeleteFunc(more, func(m mutant) bool { return !wanted.MatchString(m.String()) })...)
	}
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	scratch, err := passable("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	t, err := s.trial(ctx, scratch, name, all[:min(len(all), s.number+s.number/4)])
	if err != nil {
		return err
	}
	count := map[outcome]int{}
	tried := func() int {
		return count[killed] + count[circled] + count[hung] + count[survived] + count[unreached]
	}
	defer func() { // a sample that is cut short is one of fewer
		dead := count[killed] + count[circled] + count[hung]
		fmt.Fprintf(out, "%-20s %d of %d killed (%d %%), %d of them by the limit of processor time, %d by that of time; %d unsure, which count for nothing\n",
			name, dead, tried(), 100*dead/max(tried(), 1), count[circled], count[hung], count[unsure])
	}()
	for i, m := range all {
		if tried() == s.number {
			break
		}
		o, err := t.of(ctx, i+1, m)
		if err != nil {
			return err
		}
		count[o]++
		if say := told[o]; say != "" {
			fmt.Fprintf(out, "%-9s %s %v\n", say, name, m)
		}
	}
	return nil
}

// passable makes a temporary folder that tests which run programs under other accounts may lead those into.
func passable(in, name string) (string, error) {
	dir, err := os.MkdirTemp(in, name)
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	return dir, err
}

// told is what a person has to look at.
var told = map[outcome]string{survived: "survived", unreached: "unreached", circled: "circled", hung: "hung", unsure: "unsure"}

// sources are the files of a package that its program is made of.
func (s sample) sources(ctx context.Context, name string) ([]string, error) {
	cmd := s.tool(ctx, "list", "-f", `{{.Dir}}{{range .GoFiles}}{{"\n"}}{{.}}{{end}}{{range .EmbedFiles}}{{"\n"}}{{.}}{{end}}`, name)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", name, err)
	}
	named, err := regexp.Compile(s.files)
	if err != nil {
		return nil, fmt.Errorf("the names of files: %w", err)
	}
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	var all []string
	for _, f := range rows[1:] {
		if ext := filepath.Ext(f); named.MatchString(f) && (ext == ".go" || ext == ".sh") {
			all = append(all, filepath.Join(rows[0], f))
		}
	}
	return all, nil
}

// tool is a run of the go command.
func (s sample) tool(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.folder
	return cmd
}
