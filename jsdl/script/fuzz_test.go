package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/jsdl"
)

// Whatever a script says, it is a job that can be, or has mistakes at places of the script.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("#!/bin/sh\n#SBATCH -n1048576 -c1048576 --mem=999999T --gres=gpu:9999999999 -a0-999999999\n")
	f.Add("#PBS -l select=1048576:ncpus=1048576:mem=1024tb+1048576:ncpus=1,place=pack\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("dir/job.sh", []byte(text), options())
		if err != nil {
			var list jsdl.Errors
			if !errors.As(err, &list) || !errors.Is(err, grid.ErrInvalid) || len(list) == 0 {
				t.Fatalf("%T %v", err, err)
			}
			checkPlaces(t, text, list)
			return
		}
		checkPlaces(t, text, s.Warnings)
		checkJob(t, s)
	})
}

func checkPlaces(t *testing.T, text string, list jsdl.Errors) {
	t.Helper()
	if len(list) > maxTold+1 {
		t.Fatalf("%d messages", len(list))
	}
	for _, e := range list {
		if e.Line < 1 || e.Line > strings.Count(text, "\n")+1 || e.Col < 1 || e.Message == "" || strings.ContainsAny(e.Message, "\n\x00") {
			t.Fatalf("%+v", e)
		}
	}
}

// checkJob holds a job to the checks of package grid.
func checkJob(t *testing.T, s *Script) {
	t.Helper()
	j := &s.Job
	d := &j.Demand
	cores := 0
	for _, c := range d.Chunks {
		if c.Count < 1 || c.Processes < 1 || c.Cores < 1 || c.Memory < 0 || c.Memory > grid.MaxMemory || c.CheckResources() != nil {
			t.Fatalf("a piece %+v: %v", c, c.CheckResources())
		}
		cores += c.Count * c.Cores
	}
	queue := error(nil)
	if j.Queue != "" {
		queue = grid.CheckName(string(j.Queue))
	}
	if err := errors.Join(grid.CheckProperties(d.Properties), j.Terms.Check(), j.Warning.Check(), j.Sites.Check(), grid.CheckAccount(j.Account),
		grid.CheckLimits(j.Program.Limits), j.Program.Dialect.Check(), queue); err != nil {
		t.Fatal(err)
	}
	if len(d.Chunks) == 0 || cores > grid.MaxProcesses || j.Walltime < 0 || j.Walltime > grid.MaxWalltime || j.Name == "" && j.Program.Dialect != "" || len(j.Name) > maxName {
		t.Fatalf("%+v", j)
	}
	if s.Array != nil && (len(s.Array.Indexes) == 0 || len(s.Array.Indexes) > maxArray) {
		t.Fatalf("%d indexes", len(s.Array.Indexes))
	}
}
