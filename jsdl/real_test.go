package jsdl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// examples are documents of other projects, which are not part of this repository.
const examples = "../../shared/jsdl/examples"

// verdict is what must become of a document: a job, or mistakes, each by its place and beginning.
type verdict struct {
	runs     string // what is run, with what describes it
	refused  []string
	warnings []string
}

const (
	noFTP = "sites do not know the scheme ftp"
	noRNS = "sites do not know the scheme rns"
	noGSI = "sites do not know the scheme gsiftp"
	mixed = "the schema has another order"
)

// uris are the mistakes of URIs in these lines, from this column on.
func uris(what string, col int, lines ...int) (list []string) {
	for _, n := range lines {
		list = append(list, fmt.Sprintf("%d:%d: the URI of", n, col)+"*"+what)
	}
	return list
}

func refusedFor(list ...string) verdict { return verdict{refused: list} }

// verdicts are made by hand, by reading the documents.
var verdicts = map[string]verdict{
	"013-unicorex-non-zero-exit-code.jsdl": {runs: "/bin/false"},
	"019-unicorex-date2.jsdl":              {runs: "/bin/mydate TESTARGUMENT1"},
	// It names its program by an entry in a catalogue alone; its namespace is a known mistake.
	"025-unicorex-hpcp_sleep.jsdl": {refused: []string{"6:3: ApplicationName stands without an Executable", "8:3: HPCProfileApplication has no Executable"}},
	"031-unicorex-posix.jsdl":      {runs: "/bin/date -v <stdin >stdout 2>stderr test=test_value foo=bar", warnings: []string{"11:6: Argument stands behind Error: " + mixed}},
	// Staging alone, with credentials that others would see.
	"043-unicorex-staging_credentials.jsdl":       refusedFor("3:3: JobDescription has no Application", "10:7: *Credential is not supported", "23:7: *Credential", "33:7: *Credential"),
	"049-ucc-jobs-date.jsdl":                      refusedFor("6:11: ApplicationName stands alone"),
	"055-gridsam-cat-staging.jsdl":                {refused: uris(noFTP, 17, 28, 36)},
	"061-gridsam-invalid-input-staging.jsdl":      refusedFor("2:5: JobDescription has no Application", "7:17: the URI of Source*scheme urn"),
	"067-gridsam-wrong-stageout-url.jsdl":         {refused: append([]string{"11:17: Executable is \"/bin/cat $ENV1*is for a shell"}, uris(noFTP, 3, 22, 29)[0], uris(noFTP, 3, 29)[0], uris(noFTP, 17, 36)[0])},
	"073-gridsam-wrong-executable-ictcondor.jsdl": {refused: append([]string{"11:17: Executable is \"/bin/catxx $ENV1 $ENV2\"*is for a shell"}, uris(noFTP, 3, 22)[0], uris(noFTP, 3, 29)[0], uris(noFTP, 17, 36)[0])},
	"079-gridsam-examples-sleep.jsdl":             {runs: "/bin/sleep 5 project gridsam"},
	"085-gridsam-posix.jsdl":                      {refused: []string{"23:17: URI has the attribute class=", "23:17: the URI of Target*" + noFTP, "31:17: URI has the attribute class=", "31:17: the URI of Target*" + noFTP}},
	"091-geclipse-basicTestJsdl.jsdl":             refusedFor("16:7: FilesystemName is \"output\": Resources declares no FileSystem of that name"),
	"097-airavata-resources-sleep.jsdl":           {runs: "/bin/sleep 10000"},
	// Wrappers of other languages.
	"103-xenbee-example.jsdl":          refusedFor("5:1: this is a {http://www.example.com/schemas/isdl/2007/01/isdl}Message with 1 JobDefinition in it, the first in line 38"),
	"109-jsaga-jsaga-default.jsdl":     refusedFor("2:1: this is a {http://www.in2p3.fr/jsdl-extension}JobCollection with 1 JobDefinition in it, the first in line 28"),
	"115-jsaga-test_ref-job.jsdl":      refusedFor("2:1: this is a {http://www.in2p3.fr/jsdl-extension}JobCollection with 1 JobDefinition in it, the first in line 10"),
	"121-jsaga-expected-splitted.jsdl": refusedFor("2:1: this is a {http://www.in2p3.fr/jsdl-extension}Job with 1 JobDefinition in it, the first in line 8"),
	"139-genii-example-multi.jsdl":     refusedFor("2:1: this is a multi with 5 JobDefinition in it, the first in line 3"),
	"127-jsaga-test_staging.jsdl": {runs: "/bin/cat <file1.txt >file2.txt fetch file1.txt file:///./jsaga-engine/config/etc/jsaga-config.xml " +
		"take file2.txt file:///./jsaga-engine/config/var/test_staging.txt"},
	// Files by the names of Genesis II; the first two also ask for a file system in user space.
	"133-genii-example-fuse-jsdl.jsdl":      refusedFor("27:4: {http://vcgr.cs.virginia.edu/gfuse}FuseDirectory is not supported", "35:5: the URI of Target*"+noRNS, "44:5: the URI*"+noRNS, "53:5: the URI*scheme mailto"),
	"151-genii-example-fuse-jsdl.jsdl":      refusedFor("28:4: {http://vcgr.cs.virginia.edu/gfuse}FuseDirectory is not supported", "36:5: the URI of Target*"+noRNS, "45:5: the URI*"+noRNS, "54:5: the URI*scheme mailto"),
	"145-genii-helloworld-jsdl.jsdl":        refusedFor("40:5: the URI of Target*" + noRNS),
	"157-genii-example-posix-jsdl.jsdl":     refusedFor("78:5: the URI of Target*"+noRNS, "87:5: the URI*scheme mailto", "96:5: the URI*"+noRNS, "105:5: the URI*scheme mailto", "114:5: the URI*"+noRNS),
	"169-genii-application-core-fault.jsdl": {refused: uris(noRNS, 17, 30, 38, 46, 54)},
	"175-genii-cat-gridftp.jsdl":            {refused: uris(noGSI, 17, 21, 29, 37, 45)},
	"181-genii-image-job.jsdl":              {refused: uris(noRNS, 17, 21, 29, 37)},
	"187-genii-mv-files-halfgig.jsdl":       {refused: uris(noRNS, 17, 26, 34, 42)},
	"193-genii-hostname-sleep-60s.jsdl":     {refused: uris(noRNS, 17, 18)},
	"211-genii-stage-1-file-5GB.jsdl":       {refused: uris(noRNS, 17, 26, 34, 42)},
	"163-genii-gorp-returns.jsdl":           {refused: archives(19, 28, 37, 46, 55)},
	"205-genii-simple-scratcher.jsdl": refusedFor("18:13: FileSystem has the attribute*unique-id",
		"26:13: HandleAsArchive", "27:13: AlwaysStageOut", "29:17: the URI of Source*"+noRNS,
		"37:13: HandleAsArchive", "38:13: AlwaysStageOut", "40:17: the URI of Source*"+noRNS, "47:13: HandleAsArchive", "48:13: AlwaysStageOut",
		"50:17: the URI of Target*"+noRNS, "57:13: HandleAsArchive", "58:13: AlwaysStageOut", "60:17: the URI of Target*"+noRNS),
}

// archives are the mistakes of HandleAsArchive in these lines, each with the URI that follows.
func archives(lines ...int) (list []string) {
	for _, n := range lines {
		list = append(list, fmt.Sprintf("%d:13: HandleAsArchive does not belong in DataStaging", n), fmt.Sprintf("%d:17: the URI of*%s", n+2, noRNS))
	}
	return list
}

// All real documents become the right job, or are refused for the right reasons, each with its place.
func TestRealDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(examples + "/*.jsdl")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the collection of real documents is not here: of the words in the table nothing was tried")
	}
	place := regexp.MustCompile(`^[^:]+\.jsdl:([1-9][0-9]*:[1-9][0-9]*: .*)`)
	for _, file := range files {
		name := filepath.Base(file)
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, known := verdicts[name]
		if !known {
			t.Errorf("there is no verdict on %s", name)
			continue
		}
		d, err := Parse(name, document)
		if err == nil {
			if got := summary(d); got != want.runs {
				t.Errorf("%s becomes\n%s\nwant\n%s", name, got, want.runs)
			}
			compareMistakes(t, name, d.Warnings, want.warnings)
			if _, _, err := d.Resolve(func(string) (int64, uint32, error) { return 1, 0o755, nil }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if strings.Contains(err.Error(), "REDACTED") {
			t.Errorf("%s: a password is shown:\n%v", name, err)
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !place.MatchString(line) {
				t.Errorf("no place in %q", line)
			}
		}
		compareMistakes(t, name, err.(Errors), want.refused)
	}
	if len(files) != len(verdicts) {
		t.Errorf("%d documents, and verdicts on %d", len(files), len(verdicts))
	}
}

func compareMistakes(t *testing.T, name string, list Errors, want []string) {
	t.Helper()
	ok := len(list) == len(want)
	for i := 0; ok && i < len(list); i++ {
		begins, holds, _ := strings.Cut(want[i], "*")
		got := fmt.Sprintf("%d:%d: %s", list[i].Line, list[i].Col, list[i].Message)
		ok = strings.HasPrefix(got, begins) && strings.Contains(got, holds)
	}
	if !ok {
		t.Errorf("%s: told\n%v\nwant\n%s", name, list, strings.Join(want, "\n"))
	}
}

// summary is a job in the words of the verdicts.
func summary(d *Document) string {
	p := &d.Job.Program
	words := append([]string{p.Executable}, p.Arguments...)
	add := func(before, word string) {
		if word != "" {
			words = append(words, before+word)
		}
	}
	add("<", p.Input)
	add(">", p.Output)
	add("2>", p.Error)
	for _, v := range p.Environment {
		add("", v.Name+"="+v.Value)
	}
	for _, s := range d.Job.About.Projects {
		add("project ", s)
	}
	for _, s := range d.Staging {
		if s.From != "" {
			add("fetch ", s.Path+" "+s.From)
		}
		if s.To != "" {
			add("take ", s.Path+" "+s.To)
		}
	}
	if d.Job.Demand.Processes() != 1 || d.Job.Walltime != 0 || d.Job.Terms.Deadline != 0 || d.Job.Demand.System != "" && d.Job.Demand.System != "LINUX" {
		add("", fmt.Sprint(d.Job.Demand, d.Job.Walltime))
	}
	return strings.Join(words, " ")
}
