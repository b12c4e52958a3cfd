package jsdl

import (
	"slices"
	"strings"

	"gbroker/grid"
)

// Document is one job as a document describes it, all but what depends on the
// files that stand beside the document; see [Document.Resolve].
type Document struct {
	File string // its name in messages
	// Job is the job asked for. ID, Home, User, Inputs and Outputs are empty;
	// Walltime is 0 where the document names none.
	Job      grid.Job
	Staging  []Staging // in document order
	Warnings Errors    // of what is not as it should be, but certain in its meaning

	program places
}

// Staging is one DataStaging.
type Staging struct {
	Name string // FileName as written, but clean: relative to the working directory
	Path string // the same relative to the sandbox
	// Source is a file beside the document, Target where it comes back below the
	// output folder; "" where there is none. Both are clean relative paths.
	Source, Target string
	FileSystem     string // to whose root Name is relative, which is the top of the sandbox; "" is the working directory
	// From and To are URIs instead, from which the site fetches it and to which it takes it.
	From, To            string
	DeleteOnTermination bool
	CreationFlag        grid.CreationFlag
	Line, Col           int
}

func (s Staging) at() position { return position{s.Line, s.Col} }

// brought tells that the file is brought from somewhere; goes, that it is to go somewhere.
func (s Staging) brought() bool { return s.Source != "" || s.From != "" }
func (s Staging) goes() bool    { return s.Target != "" || s.To != "" }

// places is where the parts of the program stand in the document.
type places struct{ executable, input, output, errors, directory position }

// Mode changes how a document is read.
type Mode uint8

// Lenient ignores elements and attributes of namespaces that are not understood, with a warning each.
const Lenient Mode = 1

// parser turns the tree of elements into a Document.
type parser struct {
	*reporter
	document    *Document
	lenient     bool
	fileSystems []string   // that the document declares
	mounted     []*element // of the application, that name one
	unsure      bool       // a path was refused, so that conflicts of paths cannot be told
}

// Parse reads a document. file is its name in messages. The error is an [Errors]
// with every mistake found.
func Parse(file string, document []byte, modes ...Mode) (*Document, error) {
	r := &reporter{file: file}
	p := &parser{reporter: r, document: &Document{File: file}, lenient: slices.Contains(modes, Lenient)}
	if root := readXML(r, document); root != nil {
		p.definition(root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	p.document.Warnings = r.warned()
	return p.document, nil
}

func (p *parser) definition(root *element) {
	if root.undeclared {
		return
	}
	p.rename(root, map[string]bool{})
	if root.space != Core || root.local != "JobDefinition" {
		p.wrongRoot(root)
		return
	}
	root.allowed = []string{"id"}
	job := first(p.content(root, "JobDefinition")["JobDescription"])
	if job == nil {
		return
	}
	parts := p.content(job, "JobDescription")
	if e := first(parts["JobIdentification"]); e != nil {
		p.identification(e)
	}
	w := wishes{threads: 1}
	p.unsure = true // until there is a program
	if e := first(parts["Application"]); e != nil {
		p.application(e, &w)
	}
	if e := first(parts["Resources"]); e != nil {
		p.resources(e, &w)
	}
	for _, e := range p.mounted {
		name, _ := e.attribute("", onFileSystem)
		p.standsIn(e, onFileSystem+" of "+e.local, name)
	}
	before := len(p.list)
	for _, e := range parts["DataStaging"] {
		p.staging(e)
	}
	p.unsure = p.unsure || len(p.list) > before
	p.document.Job.Demand.Chunks = p.chunks(w)
	p.wallTime(w)
	p.conflicts()
	if err := p.document.Job.About.Check(); err != nil {
		p.at(job.at, "%v", err)
	}
}

// wrongRoot says what a document is that is no JobDefinition.
func (p *parser) wrongRoot(root *element) {
	inner := within(root)
	switch {
	case strings.Contains(root.space, "ibm.com/xmlns/prod/scheduling") || root.local == "jobDefinition":
		p.at(root.at, "this is a job of IBM (now HCL) Workload Automation, another language also called JSDL: write a JobDefinition in the namespace %s", Core)
	case root.local == "JobDefinition" && root.space == "":
		p.at(root.at, "JobDefinition has no namespace: write <JobDefinition xmlns=\"%s\">", Core)
	case root.local == "JobDefinition":
		p.at(root.at, "JobDefinition is in the namespace %s: JSDL 1.0 is %s", root.space, Core)
	case len(inner) > 0:
		p.at(root.at, "this is a %s with %d JobDefinition in it, the first in line %d: hand in each JobDefinition as a document of its own", root.name(), len(inner), inner[0].at.line)
	case slices.ContainsFunc(table, func(r rule) bool { return r.space == root.space && (r.local == root.local || r.in == root.local) }):
		p.at(root.at, "this is a fragment, a %s alone: put it into a JobDefinition, in the namespace %s", root.local, Core)
	default:
		p.at(root.at, "the first element is %s: a job is one JobDefinition in the namespace %s", root.name(), Core)
	}
}

// within are the JobDefinitions in a wrapper of some kind.
func within(e *element) (found []*element) {
	for _, c := range e.children {
		if c.local == "JobDefinition" && c.space == Core {
			found = append(found, c)
		} else {
			found = append(found, within(c)...)
		}
	}
	return found
}

// maxJobName bounds a JobName, in bytes.
const maxJobName = 255

func (p *parser) identification(e *element) {
	found := p.content(e, "JobIdentification")
	about := &p.document.Job.About
	if name := first(found["JobName"]); name != nil {
		s := phrase(p.text(name))
		if len(s) > maxJobName {
			p.at(name.at, "JobName has %d bytes: at most %d", len(s), maxJobName)
		}
		p.document.Job.Name = s
	}
	if d := first(found["Description"]); d != nil {
		about.Description = strings.Trim(p.text(d), whiteSpace)
	}
	for _, c := range found["JobAnnotation"] {
		about.Annotations = append(about.Annotations, strings.Trim(p.text(c), whiteSpace))
	}
	for _, c := range found["JobProject"] {
		about.Projects = append(about.Projects, strings.Trim(p.text(c), whiteSpace))
	}
}

// phrase is a text on one line.
func phrase(s string) string { return strings.Join(strings.Fields(s), " ") }
