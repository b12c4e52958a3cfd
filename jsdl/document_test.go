package jsdl

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
)

// The builders put what is tested on line 2 of a document, from column 1.

const (
	open  = `<JobDefinition xmlns="` + Core + `" xmlns:p="` + POSIX + `" xmlns:s="` + SPMD + `" xmlns:g="` + Own + `" xmlns:xsi="` + xsiNamespace + `">`
	close = `</JobDefinition>`
	date  = `<Application><p:POSIXApplication><p:Executable>/bin/date</p:Executable></p:POSIXApplication></Application>`
	mpi   = `<s:SPMDVariation>http://www.ogf.org/jsdl/2007/02/jsdl-spmd/MPI</s:SPMDVariation>`
)

// describing holds what is inside JobDescription.
func describing(body string) string {
	return open + "<JobDescription>\n" + body + "\n</JobDescription>" + close
}

// posix holds what is inside POSIXApplication.
func posix(body string) string {
	return open + "<JobDescription><Application><p:POSIXApplication>\n" + body +
		"\n</p:POSIXApplication></Application></JobDescription>" + close
}

// running holds what follows the Executable in POSIXApplication.
func running(body string) string {
	return open + "<JobDescription><Application><p:POSIXApplication><p:Executable>/bin/date</p:Executable>\n" + body +
		"\n</p:POSIXApplication></Application></JobDescription>" + close
}

// spmd holds what is between the Executable and SPMDVariation, and then what is inside Resources.
func spmd(body, resources string) string {
	return open + "<JobDescription><Application><s:SPMDApplication><p:Executable>/bin/date</p:Executable>\n" + body + mpi +
		"</s:SPMDApplication></Application><Resources>\n" + resources + "\n</Resources></JobDescription>" + close
}

// needing holds what is inside Resources.
func needing(body string) string {
	return open + "<JobDescription>" + date + "<Resources>\n" + body + "\n</Resources></JobDescription>" + close
}

// staging holds the DataStaging elements, after a program that runs in the folder "w" if body says so.
func staging(body string) string {
	return open + "<JobDescription>" + date + "\n" + body + "\n</JobDescription>" + close
}

// entry is one DataStaging.
func entry(name, source, target string) string {
	s := "<DataStaging><FileName>" + name + "</FileName><CreationFlag>overwrite</CreationFlag>"
	if source != "" {
		s += "<Source><URI>" + source + "</URI></Source>"
	}
	if target != "" {
		s += "<Target><URI>" + target + "</URI></Target>"
	}
	return s + "</DataStaging>"
}

// refusal is a document and the mistakes that must be told of it, one a line,
// without the name of the file.
type refusal struct{ name, document, want string }

func checkRefusals(t *testing.T, table []refusal) {
	t.Helper()
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse("job.jsdl", []byte(c.document))
			if err == nil {
				t.Fatalf("accepted as %+v, want\n%s", d, c.want)
			}
			checkMistakes(t, err, c.want)
		})
	}
}

func checkMistakes(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("%T is not of the kind grid.ErrInvalid", err)
	}
	got := strings.ReplaceAll(err.Error(), "job.jsdl:", "")
	if got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}

func mustParse(t *testing.T, document string) *Document {
	t.Helper()
	d, err := Parse("job.jsdl", []byte(document))
	if err != nil {
		t.Fatalf("refused:\n%v", err)
	}
	return d
}
