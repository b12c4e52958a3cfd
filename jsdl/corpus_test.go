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
			Uploads  []Upload
			Outputs  []grid.Output
		}{d.Job.Name, d.Job.Program, d.Job.Demand, d.Job.Queue, d.Job.Walltime, uploads, outputs}, "", "  ")
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
	if len(blocks) != 4 {
		t.Fatalf("%d examples, want 4", len(blocks))
	}
	for i, name := range []string{"serial.jsdl", "parallel.jsdl", "staging.jsdl", "nodes.jsdl"} {
		document, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(blocks[i][1], document) {
			t.Errorf("example %d of docs/jobs.md is not testdata/%s", i+1, name)
		}
	}
}

// examples are documents of other projects, which are not part of this repository.
const examples = "../../shared/jsdl/examples"

// verdicts are told by hand: "" for accepted, else the place and start of one of the mistakes.
var verdicts = map[string]string{
	"013-unicorex-non-zero-exit-code.jsdl":        "",
	"019-unicorex-date2.jsdl":                     "",
	"025-unicorex-hpcp_sleep.jsdl":                "8:3: {http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcpa}HPCProfileApplication is not supported",
	"031-unicorex-posix.jsdl":                     "11:6: Argument must stand before Error",
	"043-unicorex-staging_credentials.jsdl":       "10:7: {http://schemas.ogf.org/hpcp/2007/01/fs}Credential is not supported",
	"049-ucc-jobs-date.jsdl":                      "6:11: ApplicationName is not supported",
	"055-gridsam-cat-staging.jsdl":                "28:17: the URI of Source is refused: URIs with a scheme (ftp:)",
	"061-gridsam-invalid-input-staging.jsdl":      "2:5: JobDescription has no Application",
	"067-gridsam-wrong-stageout-url.jsdl":         "11:17: Executable is \"/bin/cat $ENV1",
	"079-gridsam-examples-sleep.jsdl":             "",
	"085-gridsam-posix.jsdl":                      "12:17: Executable has the attribute id=\"execName\"",
	"091-geclipse-basicTestJsdl.jsdl":             "16:7: FilesystemName is not supported",
	"097-airavata-resources-sleep.jsdl":           "",
	"103-xenbee-example.jsdl":                     "5:1: the first element is {http://www.example.com/schemas/isdl/2007/01/isdl}Message",
	"121-jsaga-expected-splitted.jsdl":            "2:1: the first element is {http://www.in2p3.fr/jsdl-extension}Job",
	"133-genii-example-fuse-jsdl.jsdl":            "27:4: {http://vcgr.cs.virginia.edu/gfuse}FuseDirectory is not supported",
	"139-genii-example-multi.jsdl":                "2:1: the first element is multi",
	"163-genii-gorp-returns.jsdl":                 "19:13: HandleAsArchive does not belong in DataStaging",
	"205-genii-simple-scratcher.jsdl":             "12:17: Argument has filesystemName=\"SCRATCH\"",
	"073-gridsam-wrong-executable-ictcondor.jsdl": "11:17: Executable is \"/bin/catxx $ENV1 $ENV2\"",
	"187-genii-mv-files-halfgig.jsdl":             "42:17: the URI of Target is refused: URIs with a scheme (rns:)",
}

func TestRealDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(examples + "/*.jsdl")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the collection of real documents is not here")
	}
	place := regexp.MustCompile(`^[^:]+\.jsdl:[1-9][0-9]*:[1-9][0-9]*: .`)
	judged := 0
	for _, file := range files {
		name := filepath.Base(file)
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(name, document)
		if err == nil {
			_, _, err = d.Resolve(folder{}.beside)
		}
		told := ""
		if err != nil {
			told = err.Error()
			for line := range strings.SplitSeq(told, "\n") {
				if !place.MatchString(line) {
					t.Errorf("no place in %q", line)
				}
			}
			if strings.Contains(told, "REDACTED") {
				t.Errorf("%s: a password is shown:\n%s", name, told)
			}
		}
		want, known := verdicts[name]
		if !known {
			continue
		}
		judged++
		if (want == "") != (told == "") || !strings.Contains(told+"\n", name+":"+want) && want != "" {
			t.Errorf("%s: told\n%s\nwant %q", name, told, want)
		}
	}
	if judged != len(verdicts) {
		t.Errorf("%d of %d verdicts were tried", judged, len(verdicts))
	}
}
