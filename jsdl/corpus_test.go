package jsdl

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gbroker/grid"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// besideTestdata is what stands beside each document of testdata.
var besideTestdata = map[string]folder{
	"serial.jsdl":     nil,
	"parallel.jsdl":   {"heat": 70000},
	"staging.jsdl":    {"count.sh": 100, "data/english words.txt": 985084},
	"nodes.jsdl":      nil,
	"terms.jsdl":      nil,
	"everything.jsdl": {"bin/run": 1, "data/in.dat": 2, "state.old": 3, "there": 4, "in.dat": 5, "work/bin/run": 6},
}

// Whole documents and all that becomes of them.
func TestGoldenDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsdl")
	if err != nil || len(files) != len(besideTestdata) {
		t.Fatalf("%d documents in testdata, %v: want %d", len(files), err, len(besideTestdata))
	}
	for _, file := range files {
		name := filepath.Base(file)
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(name, document)
		if err != nil {
			t.Errorf("refused:\n%v", err)
			continue
		}
		uploads, outputs, err := d.Resolve(besideTestdata[name].beside)
		if err != nil {
			t.Errorf("not resolved:\n%v", err)
			continue
		}
		got, err := json.MarshalIndent(struct {
			Name     string
			Program  grid.Program
			Demand   grid.Demand
			Queue    grid.QueueName
			Walltime grid.Tick
			Account  string
			Sites    grid.Choice
			Terms    grid.Terms
			Warning  grid.Warning
			Sources  []grid.Source
			Bring    []grid.Bring
			About    grid.About
			Uploads  []Upload
			Outputs  []grid.Output
			Warnings []string
		}{
			d.Job.Name, d.Job.Program, d.Job.Demand, d.Job.Queue, d.Job.Walltime, d.Job.Account, d.Job.Sites, d.Job.Terms, d.Job.Warning,
			d.Job.Sources, d.Job.Bring, d.Job.About, uploads, outputs, strings.Split(d.Warnings.Error(), "\n"),
		}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		golden := strings.TrimSuffix(file, ".jsdl") + ".json"
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s became\n%s\nwant\n%s", name, got, want)
		}
	}
}

// The examples of the users' page are documents of testdata.
func TestExamplesOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 5 {
		t.Fatalf("%d examples, want 5", len(blocks))
	}
	for i, name := range []string{"serial.jsdl", "parallel.jsdl", "staging.jsdl", "nodes.jsdl", "terms.jsdl"} {
		document, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(blocks[i][1], document) {
			t.Errorf("example %d of docs/jobs.md is not testdata/%s", i+1, name)
		}
	}
}
