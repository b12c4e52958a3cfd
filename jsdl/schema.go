package jsdl

import (
	"slices"
	"strings"
)

// Namespaces that are understood.
const (
	Core       = "http://schemas.ggf.org/jsdl/2005/11/jsdl"
	POSIX      = "http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"
	HPCProfile = "http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcpa"
	SPMD       = "http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd"
	// Own is of this project, for what the standard has no word for; its schema is gbroker.xsd.
	Own = "urn:gbroker:jsdl:1"

	// Of these single elements are understood.
	Genesis     = "http://vcgr.cs.virginia.edu/jsdl/genii"
	ARC         = "http://www.nordugrid.org/ws/schemas/jsdl-arc"
	Credentials = "http://schemas.ogf.org/hpcp/2007/11/ac"
)

// ours are the namespaces in which nothing is ever ignored.
var ours = []string{Core, POSIX, HPCProfile, SPMD, Own}

// misnamed are namespaces found in real documents, and what was meant.
var misnamed = map[string]string{
	"http://schemas.ogf.org/jsdl/2005/11/jsdl":       Core,
	"http://schemas.ggf.org/jsdl/2005/06/jsdl":       Core,
	"http://schemas.ggf.org/jsdl/2005/11/jsdl/":      Core,
	"https://schemas.ggf.org/jsdl/2005/11/jsdl":      Core,
	"http://schemas.ogf.org/jsdl/2005/11/jsdl-posix": POSIX,
	"http://schemas.ggf.org/jsdl/2005/06/jsdl-posix": POSIX,
	"http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcpa": HPCProfile,
	"http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcp":  HPCProfile,
	"http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcp":  HPCProfile,
	"http://schemas.ggf.org/jsdl/2007/02/jsdl-spmd":  SPMD,
	"http://www.ogf.org/jsdl/2007/02/jsdl-spmd":      SPMD,
	"http://schemas.ogf.org/hpcp/2007/01/fs":         Credentials,
}

// elsewhere are namespaces known but not read here, and the way out.
var elsewhere = map[string]string{
	"http://schemas.ogf.org/jsdl/2009/03/sweep":      sweep,
	"http://schemas.ogf.org/jsdl/2007/01/jsdl-sweep": sweep,
}

const sweep = "a document with a sweep stands for many jobs, and here one is read"

// rename gives the elements of misnamed namespaces the right one, with a warning for each namespace.
func (p *parser) rename(e *element, told map[string]bool) {
	if right := misnamed[e.space]; right != "" {
		if !told[e.space] {
			told[e.space] = true
			p.warn(e.at, "%s is in the namespace %s: taken for %s", e.local, e.space, right)
		}
		e.space = right
	}
	for _, c := range e.children {
		p.rename(c, told)
	}
}

// likelyNamespace guesses what an undeclared prefix was to mean.
func likelyNamespace(prefix string) string {
	switch p := strings.ToLower(prefix); {
	case strings.Contains(p, "posix"):
		return POSIX
	case strings.Contains(p, "spmd"):
		return SPMD
	case strings.Contains(p, "hpc"):
		return HPCProfile
	case strings.HasPrefix(p, "gb"):
		return Own
	}
	return Core
}

// content holds what is inside e against the table: names, number of times, attributes, no text; and
// order, of which another is only warned of. It gives the children by local name.
func (p *parser) content(e *element, place string) map[string][]*element {
	p.attributes(e)
	if e.textAt != (position{}) {
		p.at(e.textAt, "the text %s does not belong here: %s holds elements only", quote(strings.Trim(e.text, whiteSpace)), e.name())
	}
	rules := placeOf[place]
	found := make(map[string][]*element, len(e.children))
	last, disordered := 0, false
	var tooMany []string
	for _, c := range e.children {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.local == c.local && r.space == c.space })
		if i < 0 {
			p.stranger(e, c, rules)
			continue
		}
		r, earlier := &rules[i], found[c.local]
		switch {
		case r.effect == refused:
			p.at(c.at, "%s is not supported: %s", c.name(), r.says)
			continue
		case len(earlier) >= r.most && r.most == 1:
			p.at(c.at, "%s is given twice (first in line %d): once only", c.name(), earlier[0].at.line)
			continue
		case slices.Contains(tooMany, c.local):
			continue
		case len(earlier) == r.most:
			p.at(c.at, "there are more than %d %s", r.most, c.name())
			tooMany = append(tooMany, c.local)
			delete(found, c.local)
			continue
		case i < last && !r.free && !disordered:
			disordered = true
			p.warn(c.at, "%s stands behind %s: the schema has another order", c.name(), rules[last].local)
		}
		last = max(last, i)
		c.allowed = r.attributes
		found[c.local] = append(earlier, c)
	}
	for i := range rules {
		if r := &rules[i]; r.needed != "" && len(found[r.local]) == 0 && !meant(e, r.local) && !slices.Contains(tooMany, r.local) {
			p.at(e.at, "%s has no %s: %s", e.name(), r.local, r.needed)
		}
	}
	return found
}

// meant tells that e has the element but for its prefix, of which there was a word.
func meant(e *element, local string) bool {
	return slices.ContainsFunc(e.children, func(c *element) bool { return c.undeclared && c.local == local })
}

// order lists the elements of a place that do something.
func order(rules []rule) string {
	var names []string
	for _, r := range rules {
		if r.effect != refused {
			names = append(names, r.local)
		}
	}
	return strings.Join(names, ", ")
}

// stranger tells of an element that the table does not have at this place.
func (p *parser) stranger(parent, c *element, rules []rule) {
	if c.undeclared {
		return // told where the prefix first came
	}
	for _, r := range rules {
		if r.local == c.local {
			p.at(c.at, "%s is in %s here, but must be in the namespace %s", c.local, namespace(c.space), r.space)
			return
		}
	}
	wayOut := elsewhere[strings.TrimSuffix(c.space, "/functions")]
	switch {
	case wayOut != "":
		p.at(c.at, "%s is not supported: %s", c.name(), wayOut)
	case c.space == "":
		p.at(c.at, "%s has no namespace and is not understood in %s", c.local, parent.name())
	case slices.Contains(ours, c.space):
		p.at(c.at, "%s does not belong in %s, which holds %s", c.local, parent.name(), order(rules))
	case p.lenient:
		p.warn(c.at, "%s is not understood, and ignored", c.name())
	default:
		p.at(c.at, "%s is not supported, and what is not understood is refused: remove it, or have it ignored (--lenient)", c.name())
	}
}

func namespace(space string) string {
	if space == "" {
		return "no namespace"
	}
	return "the namespace " + space
}

// attributes refuses those of e that the table neither allows nor have no effect.
func (p *parser) attributes(e *element) {
	for _, a := range e.attributes {
		name := a.local
		switch a.space {
		case "":
		case xsiNamespace:
			if a.local == "schemaLocation" || a.local == "noNamespaceSchemaLocation" {
				continue
			}
			name = "xsi:" + a.local
		case xmlNamespace:
			if a.local == "lang" || a.local == "space" {
				continue
			}
			name = "xml:" + a.local
		default:
			name = "{" + a.space + "}" + a.local
		}
		switch {
		case slices.Contains(e.allowed, name):
		case name == "id":
			p.warn(e.at, "%s has the attribute id=%s, which has no effect", e.name(), quote(a.value))
		case name == onFileSystem:
			p.at(e.at, "%s has filesystemName=%s: where a job's sandbox lies is not known before it runs; let the program take a path relative to its working directory", e.name(), quote(a.value))
		case p.lenient && a.space != "" && a.space != xsiNamespace && a.space != xmlNamespace:
			p.warn(e.at, "%s has the attribute %s, which is not understood, and ignored", e.name(), name)
		default:
			p.at(e.at, "%s has the attribute %s=%s, which is not supported: remove it", e.name(), name, quote(a.value))
		}
	}
}

// text is the character data of an element that may have nothing else inside.
func (p *parser) text(e *element) string {
	p.attributes(e)
	for _, c := range e.children {
		if !c.undeclared {
			p.at(c.at, "%s does not belong in %s, which holds text only", c.name(), e.name())
		}
	}
	return e.text
}

// word is text without white space around it.
func (p *parser) word(e *element) string {
	return strings.Trim(p.text(e), whiteSpace)
}

// boolean reads an xsd:boolean.
func (p *parser) boolean(e *element) (value, ok bool) {
	s := p.word(e)
	if value, ok = parseBoolean(s); ok {
		return value, true
	}
	if value, ok = parseBoolean(strings.ToLower(s)); ok {
		p.warn(e.at, "%s is %s: taken for %v", e.local, quote(s), value)
		return value, true
	}
	p.at(e.at, "%s is %s: give true or false", e.local, quote(s))
	return false, false
}

// first is the only element of a list of at most one, or nil.
func first(list []*element) *element {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
