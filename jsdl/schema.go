package jsdl

import (
	"slices"
	"strings"
)

// Namespaces that are understood.
const (
	Core  = "http://schemas.ggf.org/jsdl/2005/11/jsdl"
	POSIX = "http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"
	SPMD  = "http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd"
	// Own is of this project, for what the standard has no word for.
	Own = "urn:gbroker:jsdl:1"
)

// misnamed are namespaces found in real documents, and what was meant.
var misnamed = map[string]string{
	"http://schemas.ogf.org/jsdl/2005/11/jsdl":       Core,
	"http://schemas.ggf.org/jsdl/2005/06/jsdl":       Core,
	"http://schemas.ggf.org/jsdl/2005/11/jsdl/":      Core,
	"https://schemas.ggf.org/jsdl/2005/11/jsdl":      Core,
	"http://schemas.ogf.org/jsdl/2005/11/jsdl-posix": POSIX,
	"http://schemas.ggf.org/jsdl/2005/06/jsdl-posix": POSIX,
	"http://schemas.ggf.org/jsdl/2007/02/jsdl-spmd":  SPMD,
	"http://www.ogf.org/jsdl/2007/02/jsdl-spmd":      SPMD,
}

// foreign are namespaces known but not supported, and the way out.
var foreign = map[string]string{
	"http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcpa": hpcProfile,
	"http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcpa": hpcProfile,
	"http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcp":  hpcProfile,
	"http://schemas.ogf.org/jsdl/2006/07/jsdl-hpcp":  hpcProfile,
	"http://schemas.ogf.org/jsdl/2009/03/sweep":      sweep,
	"http://schemas.ogf.org/jsdl/2007/01/jsdl-sweep": sweep,
	"http://schemas.ogf.org/hpcp/2007/11/ac":         credential,
	"http://schemas.ogf.org/hpcp/2007/01/fs":         credential,
}

const (
	hpcProfile = "write a POSIXApplication"
	sweep      = "parameter sweeps are not there yet, submit one document for each job"
	credential = "files are staged only from and to the submitter, without credentials"
)

// likelyNamespace guesses what an undeclared prefix was to mean.
func likelyNamespace(prefix string) string {
	switch p := strings.ToLower(prefix); {
	case strings.Contains(p, "posix"):
		return POSIX
	case strings.Contains(p, "spmd"):
		return SPMD
	case strings.HasPrefix(p, "gb"):
		return Own
	}
	return Core
}

// child is one kind of element that the schema allows inside another.
type child struct {
	space, local string
	many         bool
	anywhere     bool   // of the last ones, among which the schema fixes no order
	needed       string // if it must be there: what to write
	refused      string // if standard but not supported: the way out
}

// content checks what is inside e against the schema: names, order, number of
// times, attributes, no text. It gives the children by local name.
func (p *parser) content(e *element, sequence []child, attributes ...string) map[string][]*element {
	p.attributes(e, attributes...)
	if e.textAt != (position{}) {
		text := strings.Trim(e.text, whiteSpace)
		p.at(e.textAt, "the text %s does not belong here: %s holds elements only", quote(text), e.name())
	}
	found := map[string][]*element{}
	last := 0
	for _, c := range e.children {
		i := slices.IndexFunc(sequence, func(s child) bool { return s.local == c.local && s.space == c.space })
		if i < 0 {
			p.stranger(e, c, sequence)
			continue
		}
		s := sequence[i]
		earlier := found[c.local]
		switch {
		case s.refused != "":
			p.at(c.at, "%s is not supported: %s", c.name(), s.refused)
			continue
		case len(earlier) > 0 && !s.many:
			p.at(c.at, "%s is given twice (first in line %d): once only", c.name(), earlier[0].at.line)
			continue
		case i < last && !s.anywhere:
			p.at(c.at, "%s must stand before %s: the order is %s", c.name(), sequence[last].local, order(sequence))
		}
		last = max(last, i)
		found[c.local] = append(earlier, c)
	}
	for _, s := range sequence {
		meant := slices.ContainsFunc(e.children, func(c *element) bool { return c.undeclared && c.local == s.local })
		if s.needed != "" && len(found[s.local]) == 0 && !meant {
			p.at(e.at, "%s has no %s: %s", e.name(), s.local, s.needed)
		}
	}
	return found
}

// order lists the supported elements of a sequence.
func order(sequence []child) string {
	var names []string
	for _, s := range sequence {
		if s.refused == "" {
			names = append(names, s.local)
		}
	}
	return strings.Join(names, ", ")
}

// stranger tells of an element that the schema does not have at this place.
func (p *parser) stranger(parent, c *element, sequence []child) {
	if c.undeclared {
		return // told where the prefix first came
	}
	for _, s := range sequence {
		if s.local == c.local && misnamed[c.space] == "" {
			p.at(c.at, "%s is in %s here, but must be in the namespace %s", c.local, namespace(c.space), s.space)
			return
		}
	}
	right, wayOut := misnamed[c.space], foreign[strings.TrimSuffix(c.space, "/functions")]
	switch {
	case right != "":
		p.at(c.at, "%s is in the namespace %s: write %s", c.local, c.space, right)
	case wayOut != "":
		p.at(c.at, "%s is not supported: %s", c.name(), wayOut)
	case c.space == "":
		p.at(c.at, "%s has no namespace and is not understood in %s", c.local, parent.name())
	case slices.Contains([]string{Core, POSIX, SPMD, Own}, c.space):
		p.at(c.at, "%s does not belong in %s, which holds %s", c.local, parent.name(), order(sequence))
	default:
		p.at(c.at, "%s is not supported, and what is not understood is refused: remove it", c.name())
	}
}

func namespace(space string) string {
	if space == "" {
		return "no namespace"
	}
	return "the namespace " + space
}

// attributes refuses those of e that are neither allowed by name ("xsi:nil" for
// that of XML Schema) nor without any effect.
func (p *parser) attributes(e *element, allowed ...string) {
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
		if slices.Contains(allowed, name) {
			continue
		}
		if name == "filesystemName" {
			p.at(e.at, "%s has filesystemName=%s: file systems are not supported, give a path relative to the working directory", e.name(), quote(a.value))
			continue
		}
		p.at(e.at, "%s has the attribute %s=%s, which is not supported: remove it", e.name(), name, quote(a.value))
	}
}

// text is the character data of an element that may have nothing else inside.
func (p *parser) text(e *element, attributes ...string) string {
	p.attributes(e, attributes...)
	for _, c := range e.children {
		if !c.undeclared {
			p.at(c.at, "%s does not belong in %s, which holds text only", c.name(), e.name())
		}
	}
	return e.text
}

// word is text without white space around it.
func (p *parser) word(e *element, attributes ...string) string {
	return strings.Trim(p.text(e, attributes...), whiteSpace)
}

// boolean reads an xsd:boolean.
func (p *parser) boolean(e *element) (value, ok bool) {
	value, ok = parseBoolean(p.word(e))
	if !ok {
		p.at(e.at, "%s is %s: give true or false", e.local, quote(strings.Trim(e.text, whiteSpace)))
	}
	return value, ok
}

// first is the only element of a list of at most one, or nil.
func first(list []*element) *element {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
