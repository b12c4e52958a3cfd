package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// sample is what to draw and how to run it.
type sample struct {
	folder   string // where the go command runs
	packages []string
	number   int
	seed     uint64
	limit    time.Duration
	run      string
	files    string
}

// outcome of one mutant.
type outcome int

const (
	survived outcome = iota
	killed
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
	var all []func() (mutant, error)
	for _, f := range files {
		more, err := mutants(f)
		if err != nil {
			return err
		}
		all = append(all, more...)
	}
	if o, why, err := s.try(ctx, name, mutant{}); err != nil {
		return err
	} else if o != survived {
		return fmt.Errorf("the tests of %s fail on the code as it is: %s", name, why)
	}
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	dead, tried := 0, 0
	defer func() { // a sample that is cut short is one of fewer
		fmt.Fprintf(out, "%-20s %d of %d killed (%d %%)\n", name, dead, tried, 100*dead/max(tried, 1))
	}()
	for _, make := range all {
		if tried == s.number {
			break
		}
		m, err := make()
		if err != nil {
			return err
		}
		o, _, err := s.try(ctx, name, m)
		if err != nil {
			return err
		}
		if o != unbuilt {
			tried++
		}
		if o == killed {
			dead++
		} else if o == survived {
			fmt.Fprintf(out, "survived  %s %s:%d: %s: %s\n", name, filepath.Base(m.file), m.line, m.kind, m.what)
		}
	}
	return nil
}

// sources are the files of a package that its program is made of.
func (s sample) sources(ctx context.Context, name string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", `{{.Dir}}{{range .GoFiles}}{{"\n"}}{{.}}{{end}}{{range .EmbedFiles}}{{"\n"}}{{.}}{{end}}`, name)
	cmd.Dir, cmd.Stderr = s.folder, os.Stderr
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

// try runs the package's tests on a mutant, or on the code as it is.
func (s sample) try(ctx context.Context, name string, m mutant) (outcome, string, error) {
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(scratch)
	args := []string{"test", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", s.limit.String()}
	if s.run != "" {
		args = append(args, "-run", s.run)
	}
	if m.file != "" {
		overlay, err := overlaid(scratch, m)
		if err != nil {
			return 0, "", err
		}
		args = append(args, "-overlay", overlay)
	}
	ctx, stop := context.WithTimeout(ctx, s.limit+3*time.Minute) // to build it, too
	defer stop()
	cmd := exec.CommandContext(ctx, "go", append(args, name)...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch) // a killed test leaves its files here
	text, err := cmd.CombinedOutput()
	if errors.Is(ctx.Err(), context.Canceled) {
		return 0, "", ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, "", nil
	case !errors.As(err, &exit):
		return 0, "", fmt.Errorf("running the tests of %s: %w", name, err)
	case strings.Contains(string(text), "[build failed]"), strings.Contains(string(text), "[setup failed]"):
		return unbuilt, string(text), nil
	}
	return killed, string(text), nil
}

// overlaid writes the mutant and the file by which the go command finds it.
func overlaid(folder string, m mutant) (string, error) {
	changed := filepath.Join(folder, "mutant"+filepath.Ext(m.file))
	overlay := filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: changed}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(changed, m.text, 0o600), os.WriteFile(overlay, text, 0o600))
}
