package jsdl

import (
	"path"
	"slices"

	"gbroker/grid"
)

var creationFlags = map[string]grid.CreationFlag{"overwrite": grid.Overwrite, "append": grid.Append, "dontOverwrite": grid.DontOverwrite}

func (p *parser) staging(e *element) {
	found := p.content(e, e.local)
	s := Staging{Line: e.at.line, Col: e.at.col}
	source, target := first(found["Source"]), first(found["Target"])
	if source != nil {
		s.Source, s.From = p.location(source)
	}
	if target != nil {
		s.Target, s.To = p.location(target)
	}
	p.creationFlag(e, first(found["CreationFlag"]), &s, source != nil)
	if f := first(found["DeleteOnTermination"]); f != nil {
		s.DeleteOnTermination, _ = p.boolean(f)
	}
	f := first(found["FileName"])
	if f == nil {
		return
	}
	name := p.word(f)
	var why string
	if s.Name, why = cleanPath(name); why == "" {
		folder := p.document.Job.Program.Directory
		if e := first(found["FilesystemName"]); e != nil {
			folder, s.FileSystem = "", p.word(e)
			p.standsIn(e, "FilesystemName", s.FileSystem)
		}
		s.Path, why = inside(folder, s.Name)
	}
	if why != "" {
		p.at(f.at, "FileName is %s: %s", quote(name), why)
		return
	}
	if s.From != "" {
		if len(p.document.Job.Sources) == grid.MaxSources {
			p.at(e.at, "there are more than %d files to be fetched by URI", grid.MaxSources)
			return
		}
		p.document.Job.Sources = append(p.document.Job.Sources, grid.Source{Path: s.Path, URI: s.From, Flag: s.CreationFlag})
	}
	p.document.Staging = append(p.document.Staging, s)
}

// standsIn checks that the sandbox stands in for the file system that e names.
func (p *parser) standsIn(e *element, what, name string) {
	switch {
	case name == "HOME" || name == "ROOT":
		p.at(e.at, "%s is %s: a job has a sandbox only, which stands in for file systems of its own such as SCRATCH and TMP, not for that one: it would need a site that shows it to jobs", what, name)
	case !slices.Contains(p.fileSystems, name):
		p.at(e.at, "%s is %s: Resources declares no FileSystem of that name; write <FileSystem name=\"SCRATCH\"/> there, or leave %s out", what, quote(name), what)
	}
}

// creationFlag reads the CreationFlag f of the DataStaging e; nil is overwrite.
func (p *parser) creationFlag(e, f *element, s *Staging, brought bool) {
	if f == nil {
		if !meant(e, "CreationFlag") {
			p.warn(e.at, "DataStaging has no CreationFlag: taken for overwrite")
		}
		return
	}
	word := p.oneOf(f, []string{"overwrite", "append", "dontOverwrite"}, "write overwrite")
	s.CreationFlag = creationFlags[word]
	if s.CreationFlag != grid.Overwrite && s.To == "" && (s.Target != "" || !brought) {
		p.at(f.at, "CreationFlag is %s: what comes back goes into a new folder, so write overwrite", quote(word))
	}
}

// location reads the URI of a Source or Target: a path beside the document or below the output
// folder, or else a URI that the site goes to.
func (p *parser) location(e *element) (clean, uri string) {
	c := first(p.content(e, e.local)["URI"])
	if c == nil {
		return "", ""
	}
	s := p.word(c)
	why := ""
	if scheme := schemeOf(s); scheme != "" {
		uri, why = absoluteURI(scheme, s)
	} else {
		clean, why = relativeReference(s)
	}
	if why != "" {
		p.at(c.at, "the URI of %s is refused: %s", e.local, why)
		return "", ""
	}
	return clean, uri
}

// use is one mention of a file of the sandbox.
type use struct {
	path, what string
	at         position
}

// streams are the files that take standard output and error, "" relative to the
// sandbox included those that stand in where the document names none.
func (d *Document) streams() (output, errors use) {
	pr := d.Job.Program
	output = use{grid.DefaultOutput, "standard output", d.program.executable}
	if pr.Output != "" {
		output = use{path.Join(pr.Directory, pr.Output), "Output", d.program.output}
	}
	errors = use{grid.DefaultError, "standard error", d.program.executable}
	if pr.Error != "" {
		errors = use{path.Join(pr.Directory, pr.Error), "Error", d.program.errors}
	}
	return output, errors
}

// conflicts tells of files of the sandbox that get in each other's way.
func (p *parser) conflicts() {
	if p.unsure {
		return
	}
	d := p.document
	pr := d.Job.Program
	output, errors := d.streams()
	// Where both are named they may be one file.
	if output.path == errors.path && (pr.Output == "" || pr.Error == "") {
		p.at(errors.at, "%s and %s are both %s: give each a file of its own, or name both", output.what, errors.what, quote(errors.path))
		return
	}
	uses := []use{output, errors}
	if pr.Input != "" {
		uses = append(uses, use{path.Join(pr.Directory, pr.Input), "Input", d.program.input})
	}
	if pr.Executable != "" && pr.Executable[0] != '/' {
		uses = append(uses, use{path.Join(pr.Directory, pr.Executable), "Executable", d.program.executable})
	}
	for _, u := range uses[2:] {
		for _, stream := range uses[:2] {
			if u.path == stream.path {
				p.at(u.at, "%s is %s, which %s would overwrite", u.what, quote(u.path), stream.what)
			}
		}
	}
	p.repeated(uses[:2])
	for _, s := range d.Staging {
		uses = append(uses, use{s.Path, "FileName", s.at()})
	}
	p.folders(uses)
	d.clashes(p.reporter, d.outputs(nil))
}

// repeated tells of files that are brought twice, or named again for nothing.
func (p *parser) repeated(streams []use) {
	type mention struct {
		line    int // of the first; 0 if this is it
		source  int // line of the first with a Source
		nothing bool
	}
	seen := map[string]mention{}
	for _, s := range p.document.Staging {
		m := seen[s.Path]
		nothing := !s.brought() && !s.goes()
		switch {
		case s.brought() && m.source != 0:
			p.at(s.at(), "FileName %s has a second Source (first in line %d): one only", quote(s.Name), m.source)
		case m.line != 0 && (nothing || m.nothing):
			p.at(s.at(), "FileName %s is named twice (first in line %d), once without Source or Target: remove that one", quote(s.Name), m.line)
		}
		if s.brought() {
			for _, stream := range streams {
				if s.Path == stream.path {
					p.at(s.at(), "FileName %s is brought by a Source, but %s would overwrite it", quote(s.Name), stream.what)
				}
			}
		}
		if m.line == 0 {
			m.line = s.Line
		}
		if s.brought() && m.source == 0 {
			m.source = s.Line
		}
		m.nothing = m.nothing || nothing
		seen[s.Path] = m
	}
}

// folders tells of files that stand where another path needs a folder.
func (p *parser) folders(uses []use) {
	if dir := p.document.Job.Program.Directory; dir != "" {
		uses = append(uses, use{dir + "/.", "WorkingDirectory", p.document.program.directory})
	}
	paths := make([]string, len(uses))
	for i, u := range uses {
		paths[i] = u.path
	}
	for _, c := range crossings(paths) {
		file, below := uses[c.file], uses[c.below]
		p.at(below.at, "%s %s needs a folder %s, but that is a file (%s, line %d)",
			below.what, quote(path.Clean(below.path)), quote(file.path), file.what, file.at.line)
	}
}

// back is a file that comes back, and where that was asked.
type back struct {
	grid.Output
	at position
}

// outputs lists what comes back: standard output and error, then Targets in
// document order, and the files named without Source or Target that are not in
// uploaded. With a nil map the latter are left out.
func (d *Document) outputs(uploaded map[string]bool) []back {
	pr := d.Job.Program
	output, errors := d.streams()
	targeted := map[string]bool{}
	for _, s := range d.Staging {
		targeted[s.Path] = targeted[s.Path] || s.goes()
	}
	var list []back
	for _, stream := range []struct {
		use
		name, fallback string
	}{{output, pr.Output, grid.DefaultOutput}, {errors, pr.Error, grid.DefaultError}} {
		if targeted[stream.path] {
			continue
		}
		if stream.name == "" {
			stream.name = stream.fallback
		}
		targeted[stream.path] = true // by both, where they are one file
		list = append(list, back{grid.Output{Path: stream.path, Target: stream.name}, stream.at})
	}
	for _, s := range d.Staging {
		isStream := s.Path == output.path || s.Path == errors.path
		switch {
		case s.goes():
			list = append(list, back{s.output(), s.at()})
		case !s.brought() && !isStream && uploaded != nil && !uploaded[s.Path]:
			list = append(list, back{grid.Output{Path: s.Path, Target: s.Name, Required: true, Delete: s.DeleteOnTermination}, s.at()})
		}
	}
	return list
}

// output is the file as its Target has it.
func (s Staging) output() grid.Output {
	o := grid.Output{Path: s.Path, Target: s.Target, URI: s.To, Required: true, Delete: s.DeleteOnTermination}
	if s.To != "" {
		o.Flag = s.CreationFlag
	}
	return o
}

// clashes tells of two files that would come back under one name, or of one that
// would come back where another needs a folder.
func (d *Document) clashes(r *reporter, list []back) {
	seen := map[string]position{}
	var home []back
	for _, b := range list {
		where := b.Target
		if b.URI != "" {
			where = b.URI
		} else {
			home = append(home, b)
		}
		if at, twice := seen[where]; twice && b.Flag != grid.Append {
			r.at(b.at, "two files would go to %s (the other: line %d): give each a Target of its own", quote(where), at.line)
			continue
		}
		seen[where] = b.at
	}
	targets := make([]string, len(home))
	for i, b := range home {
		targets[i] = b.Target
	}
	for _, c := range crossings(targets) {
		r.at(home[c.below].at, "%s comes back into a folder %s, but a file comes back under that name (line %d)",
			quote(targets[c.below]), quote(targets[c.file]), home[c.file].at.line)
	}
}
