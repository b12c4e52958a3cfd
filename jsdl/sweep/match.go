package sweep

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"gbroker/jsdl"
)

// step is one step of a path.
type step struct {
	anywhere   bool // after //
	ns, local  string
	every      bool // *
	predicates []predicate
	attribute  bool // the last one: @name
}

// predicate is [n], or [@name='value'] where n is 0.
type predicate struct {
	n           int
	name, value string
}

// maxAnywhere bounds the // of a path: each looks at all that is below.
const maxAnywhere = 2

// maxSteps bounds the steps of a path; a document is no deeper.
const maxSteps = jsdl.MaxDepth

// match reads a Match and finds what it names.
func (r *reader) match(e *jsdl.Element, prefixes map[string]string) (p place, ok bool) {
	r.attributes(e)
	text := strings.Trim(e.Text, space)
	path := text
	if inner, is := strings.CutPrefix(text, "substring("); is {
		if path, ok = r.substring(e, inner, &p); !ok {
			return p, false
		}
	}
	steps, why := parsePath(path, prefixes)
	if why != "" {
		r.At(e, "Match %s: %s", jsdl.Quote(text), why)
		return p, false
	}
	found := r.find(steps)
	if len(found) == 0 {
		r.At(e, "Match %s matches nothing of the JobDescription", jsdl.Quote(text))
		return p, false
	}
	p.match = text
	for _, k := range found {
		if len(k.e.Children) > 0 && k.attribute == "" {
			r.At(e, "Match %s matches %s (line %d), which has elements in it: a value replaces a text", jsdl.Quote(text), k.e.Local, k.e.Line)
			return p, false
		}
		c := claim{target: r.target(k), slice: p.slice, from: p.start, to: p.start + p.length, line: e.Line}
		size := len(r.targets[c.target].text)
		if p.length < 0 || c.to > size {
			c.to = size
		}
		if c.from > size {
			r.At(e, "Match %s begins at character %d, and %s (line %d) has %d", jsdl.Quote(text), p.start+1, k.e.Local, k.e.Line, size)
			return p, false
		}
		if line := r.claimed(c); line > 0 {
			r.At(e, "Match %s names what takes the values of line %d too", jsdl.Quote(text), line)
			return p, false
		}
		r.chain = append(r.chain, c)
		p.claims = append(p.claims, c)
	}
	return p, true
}

// substring reads what stands in substring( ... ), and gives the path.
func (r *reader) substring(e *jsdl.Element, inner string, p *place) (path string, ok bool) {
	inner, closed := strings.CutSuffix(inner, ")")
	parts := strings.Split(inner, ",")
	if n := len(parts); !closed || n < 2 {
		r.At(e, "Match: it looks like substring(path, start, length), with start counted from 1")
		return "", false
	} else if n > 2 {
		// A predicate may have a comma in its value: the path is what is before the numbers.
		if _, err := strconv.Atoi(strings.Trim(parts[n-2], space)); err == nil {
			parts = []string{strings.Join(parts[:n-2], ","), parts[n-2], parts[n-1]}
		} else {
			parts = []string{strings.Join(parts[:n-1], ","), parts[n-1]}
		}
	}
	p.slice, p.length = true, -1
	start, err := strconv.Atoi(strings.Trim(parts[1], space))
	if err != nil || start < 1 || start > jsdl.MaxDocument {
		r.At(e, "Match: the start of substring is %s: it is a number from 1", jsdl.Quote(parts[1]))
		return "", false
	}
	p.start = start - 1
	if len(parts) == 3 {
		if p.length, err = strconv.Atoi(strings.Trim(parts[2], space)); err != nil || p.length < 0 || p.length > jsdl.MaxDocument {
			r.At(e, "Match: the length of substring is %s: it is a number from 0", jsdl.Quote(parts[2]))
			return "", false
		}
	}
	return strings.Trim(parts[0], space), true
}

// parsePath reads a path; why says what is wrong with it.
func parsePath(path string, prefixes map[string]string) (steps []step, why string) {
	if !strings.HasPrefix(path, "/") {
		return nil, "it is no path from the root: a placeholder in the text, as a dialect has it, is not looked for. Write it like /jsdl:JobDefinition/jsdl:JobDescription/... or //posix:Argument[2]"
	}
	rest, anywhere := path, 0
	for rest != "" {
		var s step
		rest = rest[1:] // it begins with /
		if strings.HasPrefix(rest, "/") {
			rest, s.anywhere = rest[1:], true
			if anywhere++; anywhere > maxAnywhere {
				return nil, "it has more than " + strconv.Itoa(maxAnywhere) + " times //"
			}
		}
		if len(steps) == maxSteps {
			return nil, "it has too many steps"
		}
		if rest, why = s.read(rest, prefixes); why != "" {
			return nil, why
		}
		last := rest == ""
		switch {
		case !last && rest[0] != '/':
			return nil, "it is not understood from " + jsdl.Quote(rest) + " on: only steps, [n] and [@name='value'] are"
		case s.local == "text()" && !last, s.attribute && !last:
			return nil, "text() and @name stand at its end"
		case s.attribute && s.anywhere:
			return nil, "an attribute stands behind one /"
		case s.local == "text()" && !s.anywhere && len(steps) > 0:
			return steps, ""
		case s.local == "text()":
			return nil, "text() stands behind an element and one /"
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, "it has no step"
	}
	if steps[0].attribute {
		return nil, "an attribute is one of an element"
	}
	return steps, ""
}

// read takes one step from the beginning of a text.
func (s *step) read(text string, prefixes map[string]string) (rest, why string) {
	if rest, s.attribute = strings.CutPrefix(text, "@"); s.attribute {
		text = rest
	}
	end := strings.IndexAny(text, "/[")
	if end < 0 {
		end = len(text)
	}
	name := strings.Trim(text[:end], space)
	rest = text[end:]
	prefix, local, has := strings.Cut(name, ":")
	switch {
	case strings.Contains(name, "::"):
		return "", "axes such as " + jsdl.Quote(name) + " are not known: write the steps from the root"
	case name == "text()":
		s.local = name
		return rest, ""
	case name == "*" && !s.attribute:
		s.every = true
	case !isName(strings.Replace(name, ":", "", 1)):
		return "", jsdl.Quote(name) + " is no step: a step is prefix:name or *"
	case has && s.attribute:
		return "", "attributes with a prefix are not known"
	case has:
		uri, bound := prefixes[prefix]
		if !bound {
			return "", "the prefix " + jsdl.Quote(prefix) + " is bound by no NamespaceBinding of its DocumentNode; those of the document do not count"
		}
		s.ns, s.local = uri, local
	case s.attribute:
		s.local = name
	default:
		return "", jsdl.Quote(name) + " has no prefix, so it is in no namespace, and matches nothing: bind a prefix by a NamespaceBinding"
	}
	for strings.HasPrefix(rest, "[") {
		inside, after, closed := cutPredicate(rest[1:])
		if !closed || s.attribute {
			return "", "it is not understood from " + jsdl.Quote(rest) + " on"
		}
		p, ok := parsePredicate(strings.Trim(inside, space))
		if !ok {
			return "", "[" + inside + "] is not known: only [n], counted from 1, and [@name='value'] are"
		}
		s.predicates = append(s.predicates, p)
		rest = after
	}
	return rest, ""
}

// cutPredicate cuts at the ] that closes, which is none inside of quotes.
func cutPredicate(text string) (inside, rest string, closed bool) {
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ']':
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

func parsePredicate(text string) (p predicate, ok bool) {
	if name, value, is := strings.Cut(text, "="); is {
		name, at := strings.CutPrefix(strings.Trim(name, space), "@")
		value = strings.Trim(value, space)
		n := len(value)
		if !at || !isName(name) || n < 2 || value[0] != value[n-1] || value[0] != '\'' && value[0] != '"' || strings.IndexByte(value[1:n-1], value[0]) >= 0 {
			return p, false
		}
		return predicate{name: name, value: value[1 : n-1]}, true
	}
	text = strings.TrimPrefix(text, "position()=")
	n, err := strconv.Atoi(text)
	return predicate{n: n}, err == nil && n >= 1
}

// isName: a name of XML, as far as elements of JSDL need.
func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
		if !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// find gives what a path names, in the order of the document, and nothing outside of the JobDescription.
func (r *reader) find(steps []step) []key {
	document := &jsdl.Element{Children: []*jsdl.Element{r.root}}
	from := []*jsdl.Element{document}
	for _, s := range steps {
		if s.attribute {
			return attributesOf(from, s)
		}
		from = r.below(from, s)
	}
	found := make([]key, 0, len(from))
	for _, e := range from {
		found = append(found, key{e: e})
	}
	return found
}

func attributesOf(from []*jsdl.Element, s step) (found []key) {
	for _, e := range from {
		if _, is := e.Attribute("", s.local); is {
			found = append(found, key{e, s.local})
		}
	}
	return found
}

// below are the elements that a step leads to.
func (r *reader) below(from []*jsdl.Element, s step) (found []*jsdl.Element) {
	seen := map[*jsdl.Element]bool{}
	var walk func(e *jsdl.Element)
	walk = func(e *jsdl.Element) {
		if seen[e] {
			return
		}
		seen[e] = true
		found = append(found, s.among(r.readable(e))...)
		if s.anywhere {
			for _, c := range r.readable(e) {
				walk(c)
			}
		}
	}
	for _, e := range from {
		walk(e)
	}
	return found
}

// readable are the children that a path may lead through: of the root, the JobDescription alone.
func (r *reader) readable(e *jsdl.Element) []*jsdl.Element {
	if e == r.root {
		return []*jsdl.Element{r.description}
	}
	return e.Children
}

// among are those of some children that fit the step.
func (s step) among(children []*jsdl.Element) (fit []*jsdl.Element) {
	for _, c := range children {
		if s.every || c.Space == s.ns && c.Local == s.local {
			fit = append(fit, c)
		}
	}
	for _, p := range s.predicates {
		fit = p.of(fit)
	}
	return fit
}

func (p predicate) of(list []*jsdl.Element) []*jsdl.Element {
	if p.n > 0 {
		if p.n > len(list) {
			return nil
		}
		return list[p.n-1 : p.n]
	}
	var kept []*jsdl.Element
	for _, e := range list {
		if v, is := e.Attribute("", p.name); is && v == p.value {
			kept = append(kept, e)
		}
	}
	return kept
}
