package script

import (
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gbroker/grid"
	"gbroker/jsdl"
	"gbroker/jsdl/sweep"
)

// Document is the script as a JSDL document, which names the script as a file that goes along; of an
// array it has a sweep. What jsdl.Parse makes of it, and package sweep of that of an array, is the job
// again.
func (s *Script) Document() []byte {
	job := s.Job
	text := string(jsdl.Print(&job, s.staging()))
	if s.Array == nil {
		return []byte(text)
	}
	const end = "</JobDefinition>"
	head, _, _ := strings.Cut(text, end)
	return []byte(head + s.sweep() + end + "\n")
}

// staging is the script as a file; a command has none of its own.
func (s *Script) staging() []jsdl.Staging {
	if s.base == "" {
		return nil
	}
	return []jsdl.Staging{{Name: s.base, Path: path.Join(s.Job.Program.Directory, s.base), Source: s.base, CreationFlag: grid.Overwrite}}
}

// Base is the script's own name, under which it goes along; "" of a command.
func (s *Script) Base() string { return s.base }

// sweep is the array as a Sweep: the index is swept in the variables, and in the names of files.
func (s *Script) sweep() string {
	var b strings.Builder
	atOnce := ""
	if s.Array.Throttle > 0 {
		atOnce = fmt.Sprintf(" gb:atOnce=%q", strconv.Itoa(s.Array.Throttle))
	}
	fmt.Fprintf(&b, "  <sweep:Sweep xmlns:sweep=%q xmlns:functions=%q%s>\n    <sweep:Assignment>\n", sweep.Namespace, sweep.Functions, atOnce)
	for _, match := range s.swept() {
		fmt.Fprintf(&b, "      <sweep:DocumentNode>\n        <sweep:NamespaceBinding prefix=\"posix\" ns=%q/>\n        <sweep:Match>%s</sweep:Match>\n      </sweep:DocumentNode>\n", jsdl.POSIX, escaped(match))
	}
	b.WriteString(s.Array.function())
	b.WriteString("    </sweep:Assignment>\n  </sweep:Sweep>\n")
	return b.String()
}

// swept are the places that the index takes.
func (s *Script) swept() []string {
	var list []string
	p := &s.Job.Program
	for _, name := range indexNames(p.Dialect) {
		if slices.ContainsFunc(p.Environment, func(v grid.Variable) bool { return v.Name == name }) {
			list = append(list, fmt.Sprintf("//posix:Environment[@name='%s']", name))
		}
	}
	for _, f := range []struct{ element, text string }{{"Output", p.Output}, {"Error", p.Error}} {
		if i := indexAt(f.text); i >= 0 {
			list = append(list, fmt.Sprintf("substring(//posix:%s, %d, %d)", f.element, utf8.RuneCountInString(f.text[:i])+1, len(index)))
		}
	}
	return list
}

// function gives the indexes: a loop where they are evenly spaced.
func (a *Array) function() string {
	first, last := a.Indexes[0], a.Indexes[len(a.Indexes)-1]
	step := 1
	if len(a.Indexes) > 1 {
		step = a.Indexes[1] - first
	}
	even := true
	for i, n := range a.Indexes {
		even = even && n == first+i*step
	}
	if even {
		return fmt.Sprintf("      <functions:LoopInteger start=\"%d\" end=\"%d\" step=\"%d\"/>\n", first, last, step)
	}
	var b strings.Builder
	b.WriteString("      <functions:Values>\n")
	for _, n := range a.Indexes {
		fmt.Fprintf(&b, "        <functions:Value>%d</functions:Value>\n", n)
	}
	return b.String() + "      </functions:Values>\n"
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes all
	return b.String()
}

// Element is the job of an index of the array.
func (s *Script) Element(n int) grid.Job {
	job, text := s.Job, strconv.Itoa(n)
	p := &job.Program
	p.Environment = slices.Clone(p.Environment)
	for i, v := range p.Environment {
		if slices.Contains(indexNames(p.Dialect), v.Name) {
			p.Environment[i].Value = text
		}
	}
	p.Output, p.Error = indexed(p.Output, text), indexed(p.Error, text)
	return job
}

// indexed is a name with the index in it.
func indexed(name, text string) string {
	if i := indexAt(name); i >= 0 {
		return name[:i] + text + name[i+len(index):]
	}
	return name
}
