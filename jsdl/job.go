package jsdl

import (
	"fmt"
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
	Job     grid.Job
	Staging []Staging // in document order

	program places
}

// Staging is one DataStaging.
type Staging struct {
	Name string // FileName as written, but clean: relative to the working directory
	Path string // the same relative to the sandbox
	// Source is a file beside the document, Target where it comes back below the
	// output folder; "" where there is none. Both are clean relative paths.
	Source, Target      string
	DeleteOnTermination bool
	CreationFlag        string // overwrite, append or dontOverwrite
	Line, Col           int
}

func (s Staging) at() position { return position{s.Line, s.Col} }

// places is where the parts of the program stand in the document.
type places struct{ executable, input, output, errors, directory position }

// parser turns the tree of elements into a Document.
type parser struct {
	*reporter
	document *Document
	unsure   bool // a path was refused, so that conflicts of paths cannot be told
}

// Parse reads a document. file is its name in messages. The error is an [Errors]
// with every mistake found.
func Parse(file string, document []byte) (*Document, error) {
	r := &reporter{file: file}
	p := &parser{reporter: r, document: &Document{File: file}}
	if root := readXML(r, document); root != nil {
		p.definition(root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return p.document, nil
}

var definition = []child{
	{space: Core, local: "JobDescription", needed: "it describes the job"},
}

var description = []child{
	{space: Core, local: "JobIdentification"},
	{space: Core, local: "Application", needed: "there is nothing to run"},
	{space: Core, local: "Resources"},
	{space: Core, local: "DataStaging", many: true},
}

var identification = []child{
	{space: Core, local: "JobName"},
	{space: Core, local: "Description"},
	{space: Core, local: "JobAnnotation", many: true},
	{space: Core, local: "JobProject", many: true},
}

func (p *parser) definition(root *element) {
	if root.undeclared {
		return
	}
	if root.space != Core || root.local != "JobDefinition" {
		p.wrongRoot(root)
		return
	}
	job := first(p.content(root, definition, "id")["JobDescription"])
	if job == nil {
		return
	}
	parts := p.content(job, description)
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
	if staging := parts["DataStaging"]; len(staging) > grid.MaxFiles {
		p.at(staging[grid.MaxFiles].at, "there are %d DataStaging: at most %d", len(staging), grid.MaxFiles)
	} else {
		before := len(p.list)
		for _, e := range staging {
			p.staging(e)
		}
		p.unsure = p.unsure || len(p.list) > before
	}
	p.document.Job.Demand.Chunks = p.chunks(w)
	p.conflicts()
}

func (p *parser) wrongRoot(root *element) {
	switch {
	case strings.Contains(root.space, "ibm.com/xmlns/prod/scheduling"):
		p.at(root.at, "this is a job of IBM Workload Automation, another language also called JSDL: write a JobDefinition in the namespace %s", Core)
	case root.local == "JobDefinition" && root.space == "":
		p.at(root.at, "JobDefinition has no namespace: write <JobDefinition xmlns=\"%s\">", Core)
	case root.local == "JobDefinition":
		p.at(root.at, "JobDefinition is in the namespace %s: JSDL 1.0 is %s", root.space, Core)
	default:
		p.at(root.at, "the first element is %s: a job is one JobDefinition in the namespace %s", root.name(), Core)
	}
}

// maxJobName bounds a JobName, in bytes.
const maxJobName = 255

func (p *parser) identification(e *element) {
	found := p.content(e, identification)
	if name := first(found["JobName"]); name != nil {
		s := strings.Join(strings.Fields(p.text(name)), " ")
		if len(s) > maxJobName {
			p.at(name.at, "JobName has %d bytes: at most %d", len(s), maxJobName)
		}
		p.document.Job.Name = s
	}
	for _, list := range []string{"Description", "JobAnnotation", "JobProject"} {
		for _, c := range found[list] {
			p.text(c)
		}
	}
}

const noCatalogue = "sites keep no catalogue of applications, name the program in Executable"

var application = []child{
	{space: Core, local: "ApplicationName", refused: noCatalogue},
	{space: Core, local: "ApplicationVersion", refused: noCatalogue},
	{space: Core, local: "Description"},
	{space: POSIX, local: "POSIXApplication", anywhere: true},
	{space: SPMD, local: "SPMDApplication", anywhere: true},
}

const (
	noLimit   = "no batch system would hold it"
	noAccount = "jobs run under the account that the site chooses"
)

var posixProgram = []child{
	{space: POSIX, local: "Executable", needed: "there is nothing to run"},
	{space: POSIX, local: "Argument", many: true},
	{space: POSIX, local: "Input"},
	{space: POSIX, local: "Output"},
	{space: POSIX, local: "Error"},
	{space: POSIX, local: "WorkingDirectory"},
	{space: POSIX, local: "Environment", many: true},
}

var posixLimits = []child{
	{space: POSIX, local: "WallTimeLimit"},
	{space: POSIX, local: "FileSizeLimit", refused: noLimit},
	{space: POSIX, local: "CoreDumpLimit", refused: noLimit},
	{space: POSIX, local: "DataSegmentLimit", refused: noLimit},
	{space: POSIX, local: "LockedMemoryLimit", refused: noLimit},
	{space: POSIX, local: "MemoryLimit"},
	{space: POSIX, local: "OpenDescriptorsLimit", refused: noLimit},
	{space: POSIX, local: "PipeSizeLimit", refused: noLimit},
	{space: POSIX, local: "StackSizeLimit", refused: noLimit},
	{space: POSIX, local: "CPUTimeLimit", refused: "give a WallTimeLimit"},
	{space: POSIX, local: "ProcessCountLimit", refused: noLimit},
	{space: POSIX, local: "VirtualMemoryLimit", refused: "give a MemoryLimit"},
	{space: POSIX, local: "ThreadCountLimit", refused: noLimit},
}

var posixApplication = slices.Concat(posixProgram, posixLimits, []child{
	{space: POSIX, local: "UserName", refused: noAccount},
	{space: POSIX, local: "GroupName", refused: noAccount},
})

var spmdApplication = slices.Concat(posixProgram, []child{
	{space: POSIX, local: "UserName", refused: noAccount},
	{space: SPMD, local: "NumberOfProcesses"},
	{space: SPMD, local: "ProcessesPerHost"},
	{space: SPMD, local: "ThreadsPerProcess"},
	{space: SPMD, local: "SPMDVariation", needed: "write <SPMDVariation>" + variationBase + "MPI</SPMDVariation> in the namespace " + SPMD},
}, anyOrder(posixLimits))

// anyOrder is the sequence where the schema takes any element in any order.
func anyOrder(sequence []child) []child {
	free := slices.Clone(sequence)
	for i := range free {
		free[i].anywhere = true
	}
	return free
}

func (p *parser) application(e *element, w *wishes) {
	found := p.content(e, application)
	if d := first(found["Description"]); d != nil {
		p.text(d)
	}
	posix, spmd := first(found["POSIXApplication"]), first(found["SPMDApplication"])
	switch {
	case posix != nil && spmd != nil:
		p.at(spmd.at, "Application holds a POSIXApplication and an SPMDApplication: one of them only")
	case posix != nil:
		p.program(p.content(posix, posixApplication, "name"))
	case spmd != nil:
		found := p.content(spmd, spmdApplication, "name")
		p.program(found)
		p.parallel(found, w)
	case len(e.children) == len(found["Description"]): // of anything else there was a word
		p.at(e.at, "Application holds neither a POSIXApplication (in the namespace %s) nor an SPMDApplication (%s): there is nothing to run", POSIX, SPMD)
	}
}

// program reads what POSIX and SPMD applications have in common.
func (p *parser) program(found map[string][]*element) {
	program, at := &p.document.Job.Program, &p.document.program
	before := len(p.list)
	if e := first(found["WorkingDirectory"]); e != nil {
		at.directory = e.at
		program.Directory = p.directory(e)
	}
	if e := first(found["Executable"]); e != nil {
		at.executable = e.at
		program.Executable = p.executable(e)
	}
	program.Input, at.input = p.stream(first(found["Input"]))
	program.Output, at.output = p.stream(first(found["Output"]))
	program.Error, at.errors = p.stream(first(found["Error"]))
	p.unsure = len(p.list) > before || program.Executable == ""
	p.arguments(found["Argument"])
	p.environment(found["Environment"])
	if e := first(found["WallTimeLimit"]); e != nil {
		seconds, _ := p.whole(e, "seconds", int64(grid.MaxWalltime/grid.Second))
		p.document.Job.Walltime = grid.Tick(seconds) * grid.Second
	}
	if e := first(found["MemoryLimit"]); e != nil {
		if n, ok := p.whole(e, "bytes", grid.MaxMemory); ok {
			program.SetLimit(grid.LimitMemory, n)
		}
	}
}

// directory reads the WorkingDirectory, clean, "" for the top of the sandbox.
func (p *parser) directory(e *element) string {
	s := p.word(e)
	switch strings.TrimRight(s, "/") {
	case ".":
		return ""
	case "":
		if s == "" {
			p.at(e.at, "WorkingDirectory is empty: leave it out to work at the top of the sandbox")
			return ""
		}
	}
	if strings.HasPrefix(s, "/") {
		p.at(e.at, "WorkingDirectory is %s: a job runs in a sandbox of its own, give a path relative to that", quote(s))
		return ""
	}
	clean, why := cleanPath(strings.TrimRight(s, "/"))
	if why != "" {
		p.at(e.at, "WorkingDirectory is %s: %s", quote(s), why)
	}
	return clean
}

// shellSyntax are characters by which people expect a shell, which there is not.
const shellSyntax = "$`;|&<>*\"'(){}"

// executable reads the Executable: an absolute path at the site, or one relative
// to the working directory.
func (p *parser) executable(e *element) string {
	s := p.word(e)
	if i := strings.IndexAny(s, shellSyntax); i >= 0 {
		p.at(e.at, "Executable is %s: %q is for a shell, but none is started; give the path of one program, and Arguments", quote(s), s[i])
		return ""
	}
	clean, why := cleanPath(strings.TrimLeft(s, "/"))
	if why == "" && strings.HasPrefix(s, "/") {
		return "/" + clean
	}
	if why == "" {
		_, why = inside(p.document.Job.Program.Directory, clean)
	}
	if why != "" {
		p.at(e.at, "Executable is %s: %s", quote(s), why)
		return ""
	}
	return clean
}

// stream reads Input, Output or Error.
func (p *parser) stream(e *element) (clean string, at position) {
	if e == nil {
		return "", position{}
	}
	s := p.word(e)
	clean, why := cleanPath(s)
	if why == "" {
		_, why = inside(p.document.Job.Program.Directory, clean)
	}
	if why != "" {
		p.at(e.at, "%s is %s: %s", e.local, quote(s), why)
		return "", e.at
	}
	return clean, e.at
}

// maxString is what Linux takes as one argument or NAME=value, without the final zero.
const maxString = grid.MaxText - 1

var normalize = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

func (p *parser) arguments(list []*element) {
	if len(list) > grid.MaxArguments {
		p.at(list[grid.MaxArguments].at, "there are %d Arguments: at most %d", len(list), grid.MaxArguments)
		return
	}
	for _, e := range list {
		s := normalize.Replace(p.text(e))
		if len(s) > maxString {
			p.at(e.at, "Argument has %d bytes: at most %d", len(s), maxString)
		}
		p.document.Job.Program.Arguments = append(p.document.Job.Program.Arguments, s)
	}
}

// reserved is how the broker's own environment variables start.
const reserved = "GBROKER_"

func (p *parser) environment(list []*element) {
	if len(list) > grid.MaxArguments {
		p.at(list[grid.MaxArguments].at, "there are %d Environments: at most %d", len(list), grid.MaxArguments)
		return
	}
	seen := map[string]int{}
	for _, e := range list {
		value := p.text(e, "name")
		name, given := e.attribute("", "name")
		name = strings.Trim(name, whiteSpace)
		switch {
		case !given:
			p.at(e.at, "Environment has no name: write <Environment name=\"NAME\">")
		case !variableName(name):
			p.at(e.at, "Environment is named %s: use letters, digits and _, first no digit", quote(name))
		case strings.HasPrefix(name, reserved):
			p.at(e.at, "Environment is named %s: names that start with %s are the broker's", quote(name), reserved)
		case seen[name] != 0:
			p.at(e.at, "Environment %s is given twice (first in line %d): once only", quote(name), seen[name])
		case len(name)+1+len(value) > maxString:
			p.at(e.at, "Environment %s has %d bytes: at most %d with its name", quote(name), len(name)+1+len(value), maxString)
		default:
			seen[name] = e.at.line
			p.document.Job.Program.Environment = append(p.document.Job.Program.Environment, grid.Variable{Name: name, Value: value})
		}
	}
}

func variableName(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// variationBase is what the URIs of all SPMD variations start with: www.ogf.org,
// unlike the namespace.
const variationBase = "http://www.ogf.org/jsdl/2007/02/jsdl-spmd/"

var variations = []string{"MPI", "GridMPI", "IntelMPI", "LAM-MPI", "MPICH1", "MPICH2", "MPICH-GM", "MPICH-MX",
	"MVAPICH", "MVAPICH2", "OpenMPI", "POE", "PVM"}

// parallel reads what only an SPMDApplication has.
func (p *parser) parallel(found map[string][]*element, w *wishes) {
	before := len(p.list)
	if e := first(found["NumberOfProcesses"]); e != nil {
		w.processesAt = e.at
		if !p.asManyAsCPUs(e) {
			w.processes, _ = p.whole(e, "a whole number", grid.MaxProcesses, processAttributes...)
		}
	}
	if e := first(found["ProcessesPerHost"]); e != nil {
		w.perHostAt = e.at
		w.perHost, _ = p.whole(e, "a whole number", grid.MaxProcesses)
	}
	if e := first(found["ThreadsPerProcess"]); e != nil {
		w.threadsAt = e.at
		w.threads, _ = p.whole(e, "a whole number", grid.MaxProcesses)
	}
	w.broken = len(p.list) > before
	if e := first(found["SPMDVariation"]); e != nil {
		s := p.word(e)
		name, based := strings.CutPrefix(s, variationBase)
		if !based || !slices.Contains(variations, name) {
			p.at(e.at, "SPMDVariation is %s: write %s and one of %s", quote(s), variationBase, strings.Join(variations, ", "))
			return
		}
		p.document.Job.Program.Parallel = name
	}
}

// processAttributes are those of NumberOfProcesses; the second is a spelling found
// in real documents.
var processAttributes = []string{"actualtotalcpucount", "actualTotalCPUCount", "xsi:nil"}

// asManyAsCPUs tells that a NumberOfProcesses is nil: as many as CPUs are asked for in Resources.
func (p *parser) asManyAsCPUs(e *element) bool {
	asked := false
	for _, a := range e.attributes {
		known := a.space == "" && slices.Contains(processAttributes, a.local) || a.space == xsiNamespace && a.local == "nil"
		if !known {
			continue
		}
		yes, ok := parseBoolean(a.value)
		if !ok {
			p.at(e.at, "%s of NumberOfProcesses is %s: give true or false", a.local, quote(a.value))
		}
		asked = asked || yes
	}
	if asked && strings.Trim(e.text, whiteSpace) != "" {
		p.at(e.at, "NumberOfProcesses has both a number and %s: one of them only", "actualtotalcpucount or nil")
	}
	if asked {
		p.text(e, processAttributes...)
	}
	return asked
}

// describe names the processes of a job in messages.
func (w wishes) describe() string {
	if w.threads > 1 {
		return fmt.Sprintf("%d processes of %d threads make %d", w.processes, w.threads, w.processes*w.threads)
	}
	return fmt.Sprintf("NumberOfProcesses is %d", w.processes)
}
