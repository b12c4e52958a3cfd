package jsdl

import (
	"strings"

	"gbroker/grid"
)

func (p *parser) application(e *element, w *wishes) {
	found := p.content(e, "Application")
	about := &p.document.Job.About
	name := first(found["ApplicationName"])
	if name != nil {
		about.Application = phrase(p.text(name))
	}
	if c := first(found["ApplicationVersion"]); c != nil {
		about.Version = phrase(p.text(c))
	}
	if c := first(found["Description"]); c != nil {
		if s := strings.Trim(p.text(c), whiteSpace); about.Description == "" {
			about.Description = s
		}
	}
	var one *element
	for _, local := range []string{"POSIXApplication", "HPCProfileApplication", "SPMDApplication"} {
		switch c := first(found[local]); {
		case c == nil:
		case one != nil:
			p.at(c.at, "Application holds %s (line %d) and %s: one of them only", one.local, one.at.line, local)
		default:
			one = c
		}
	}
	switch {
	case one != nil:
		p.one(one, name, w)
	case name != nil:
		p.at(name.at, "ApplicationName stands alone: %s", noCatalogue)
	case len(e.children) == len(found["ApplicationVersion"])+len(found["Description"]): // of anything else there was a word
		p.at(e.at, "Application holds neither a POSIXApplication (in the namespace %s) nor an HPCProfileApplication (%s) nor an SPMDApplication (%s): %s", POSIX, HPCProfile, SPMD, nothing)
	}
}

// one reads the application of a job; name is the ApplicationName beside it, or nil.
func (p *parser) one(e, name *element, w *wishes) {
	before := len(p.list)
	found := p.content(e, e.local)
	if name != nil && len(found["Executable"]) == 0 && !meant(e, "Executable") {
		p.at(name.at, "ApplicationName stands without an Executable: %s", noCatalogue)
	}
	p.program(found, before)
	if e.local == "SPMDApplication" {
		p.parallel(found, w)
	}
	p.limits(found)
	w.wallTimeLimit = first(found["WallTimeLimit"])
}

// program reads what all applications have in common.
func (p *parser) program(found map[string][]*element, before int) {
	program, at := &p.document.Job.Program, &p.document.program
	if e := first(found["WorkingDirectory"]); e != nil {
		at.directory = e.at
		program.Directory = p.directory(e)
		if _, is := e.attribute("", onFileSystem); is && e.space != HPCProfile {
			p.mounted = append(p.mounted, e)
		}
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
}

// limits reads the limits of each process.
func (p *parser) limits(found map[string][]*element) {
	program := &p.document.Job.Program
	for _, r := range limitRules {
		name, is := limitNames[r.local]
		e := first(found[r.local])
		if !is || e == nil {
			continue
		}
		least, most := int64(0), grid.MaxLimitValue
		if name == grid.LimitMemory {
			least, most = 1, grid.MaxMemory
		}
		value, ok := p.whole(e, r.holds[:strings.IndexAny(r.holds+",", ",")], least, most)
		if given, twice := program.Limit(name); ok && (!twice || value < given) {
			program.SetLimit(name, value)
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

// fromTop is a path of an element as one relative to the working directory: with the attribute filesystemName it is relative to the
// top of the sandbox. up tells that it may lead out of the working directory.
func (p *parser) fromTop(e *element, s string, up bool) string {
	name, is := e.attribute("", onFileSystem)
	if !is || e.space == HPCProfile {
		return s
	}
	p.mounted = append(p.mounted, e)
	folder := p.document.Job.Program.Directory
	if strings.HasPrefix(s, "/") {
		p.at(e.at, "%s is %s: with filesystemName=%s it is a path relative to that", e.local, quote(s), quote(name))
		return ""
	}
	if s == "" && up {
		s = "." // the place of the file system itself
	}
	if folder == "" {
		return s
	}
	if rest, inside := strings.CutPrefix(s, folder+"/"); inside {
		return rest
	}
	if !up {
		p.at(e.at, "%s is %s on %s, whose place is the top of the sandbox, outside of the working directory %s: let it lie in there, or leave WorkingDirectory out", e.local, quote(s), quote(name), quote(folder))
		return ""
	}
	return strings.Repeat("../", strings.Count(folder, "/")+1) + s
}

// shellSyntax are characters by which people expect a shell, which there is not.
const shellSyntax = "$`;|&<>*\"'(){}"

// executable reads the Executable: an absolute path at the site, or one relative
// to the working directory.
func (p *parser) executable(e *element) string {
	s := p.fromTop(e, p.word(e), false)
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
	s := p.fromTop(e, p.word(e), false)
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
	for _, e := range list {
		s := p.text(e)
		if e.space != HPCProfile { // there it is a string, elsewhere a normalized one
			s = p.fromTop(e, normalize.Replace(s), true)
		}
		if len(s) > maxString {
			p.at(e.at, "Argument has %d bytes: at most %d", len(s), maxString)
		}
		p.document.Job.Program.Arguments = append(p.document.Job.Program.Arguments, s)
	}
}
