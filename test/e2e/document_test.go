package e2e

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// work is what a test wants done; fields that are left out are not in its document.
type work struct {
	script    string // run by /bin/sh -c, unless there is a program
	program   string
	args      []string
	cpus      int
	mpi       int    // processes of an SPMD application
	variation string // of it; "" is MPI
	walltime  int    // seconds on the reference machine; 0 is 60
	input     string
	output    string
	errors    string
	directory string
	env       [][2]string
	arch      string
	memory    int64    // bytes on each node
	brings    []string // files beside the document, below the same names in the job
	takes     []string // files it leaves
	terms     string   // elements of our own namespace, gb, in its Resources
}

// write writes the document into dir, where what it brings lies.
func (w work) write(t *testing.T, dir, name string) string {
	t.Helper()
	file := filepath.Join(dir, name+".jsdl")
	must(t, os.WriteFile(file, []byte(w.document(name)), 0o644))
	return file
}

func (w work) document(name string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl"
  xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix" xmlns:spmd="http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd" xmlns:gb="urn:gbroker:jsdl:1">
<JobDescription><JobIdentification>` + element("JobName", name) + `</JobIdentification>
<Application>` + w.application() + `</Application>
` + w.resources() + w.staging() + `</JobDescription></JobDefinition>
`
}

func (w work) application() string {
	if w.walltime == 0 {
		w.walltime = 60
	}
	if w.program == "" {
		w.program, w.args = "/bin/sh", []string{"-c", w.script}
	}
	text := element("posix:Executable", w.program)
	for _, a := range w.args {
		text += element("posix:Argument", a)
	}
	for _, f := range [][2]string{
		{"posix:Input", w.input}, {"posix:Output", w.output}, {"posix:Error", w.errors}, {"posix:WorkingDirectory", w.directory},
	} {
		if f[1] != "" {
			text += element(f[0], f[1])
		}
	}
	for _, v := range w.env {
		text += fmt.Sprintf(`<posix:Environment name="%s">%s</posix:Environment>`, escaped(v[0]), escaped(v[1]))
	}
	limit := element("posix:WallTimeLimit", fmt.Sprint(w.walltime))
	if w.mpi == 0 {
		return "<posix:POSIXApplication>" + text + limit + "</posix:POSIXApplication>"
	}
	return "<spmd:SPMDApplication>" + text + element("spmd:NumberOfProcesses", fmt.Sprint(w.mpi)) +
		element("spmd:SPMDVariation", "http://www.ogf.org/jsdl/2007/02/jsdl-spmd/"+cmp.Or(w.variation, "MPI")) + limit + "</spmd:SPMDApplication>"
}

func (w work) resources() string {
	text := ""
	if w.arch != "" {
		text += "<CPUArchitecture>" + element("CPUArchitectureName", w.arch) + "</CPUArchitecture>"
	}
	if w.memory > 0 {
		text += "<IndividualPhysicalMemory>" + element("LowerBoundedRange", fmt.Sprint(w.memory)) + "</IndividualPhysicalMemory>"
	}
	if w.cpus > 0 {
		text += "<TotalCPUCount>" + element("Exact", fmt.Sprint(w.cpus)) + "</TotalCPUCount>"
	}
	text += w.terms
	if text == "" {
		return ""
	}
	return "<Resources>" + text + "</Resources>\n"
}

func (w work) staging() string {
	text := ""
	stage := func(kind, name string) {
		text += "<DataStaging>" + element("FileName", name) + element("CreationFlag", "overwrite") +
			"<" + kind + ">" + element("URI", uri(name)) + "</" + kind + "></DataStaging>\n"
	}
	for _, name := range w.brings {
		stage("Source", name)
	}
	for _, name := range w.takes {
		stage("Target", name)
	}
	return text
}

func uri(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

func element(name, value string) string { return "<" + name + ">" + escaped(value) + "</" + name + ">" }

func escaped(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

// submit hands in a job with the files in dir and gives its identifier.
func (w work) submit(t *testing.T, s site, dir, name string) string {
	t.Helper()
	return strings.TrimSpace(client(t, s, "submit", w.write(t, dir, name)))
}
