package jsdl

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on the XML of a document.
const (
	MaxDocument   = 1 << 20 // bytes
	MaxDepth      = 64      // elements inside each other
	MaxElements   = 1 << 16
	MaxAttributes = 64 // of one element, xmlns included
)

const (
	xmlNamespace = "http://www.w3.org/XML/1998/namespace"
	xsiNamespace = "http://www.w3.org/2001/XMLSchema-instance"
)

// element is one element with its namespace resolved.
type element struct {
	at           position
	space, local string
	raw          string // the name as written, to match the end tag
	attributes   []attribute
	children     []*element
	text         string   // all character data directly inside
	pieces       []string // what follows text, until the element ends
	textAt       position // of the first that is not white space; zero if none
	declared     []string // prefixes whose scope ends with the element
	allowed      []string // attributes, by the table
	undeclared   bool     // its prefix is declared nowhere, which was told
	span         Span     // where it stands, in bytes
}

type attribute struct{ space, local, value string }

// attribute gives the value of the attribute, and whether it is there.
func (e *element) attribute(space, local string) (string, bool) {
	for _, a := range e.attributes {
		if a.space == space && a.local == local {
			return a.value, true
		}
	}
	return "", false
}

// xmlReader builds the tree of elements of what its scanner reads. It resolves namespaces, and holds
// that every tag is closed, that prefixes are declared, that no attribute comes twice, and that
// nothing follows the root element.
type xmlReader struct {
	*reporter
	document string
	scanner  scanner
	offset   int // the place of which position is
	position position
	scopes   map[string][]string // prefix to the URIs in scope, innermost last
	unknown  map[string]bool     // undeclared prefixes already told
	open     []*element
	root     *element
	elements int
	pool     []element // for the next elements
}

// errStop ends the reading; the reason was told.
var errStop = errors.New("document refused")

// readXML gives the root element, or nil if reading could not go on.
func readXML(r *reporter, document []byte) *element {
	x := &xmlReader{
		reporter: r,
		document: string(Text(document)),
		position: position{1, 1},
		scopes:   map[string][]string{"xml": {xmlNamespace}},
		unknown:  map[string]bool{},
	}
	if !x.readable() {
		return nil
	}
	x.scanner.text = x.document
	for {
		t, more, err := x.scanner.next()
		switch {
		case err != nil:
			x.malformed(err)
			return nil
		case !more && len(x.open) > 0:
			x.cutOff()
			return nil
		case !more && x.root == nil:
			x.at(position{1, 1}, "the document has no element: a job starts with <JobDefinition>")
			return nil
		case !more:
			return x.root
		}
		if err := x.take(&t); err != nil {
			return nil
		}
	}
}

// readable refuses what is no text in UTF-8 of a bounded length.
func (x *xmlReader) readable() bool {
	d := x.document
	switch {
	case len(d) > MaxDocument:
		x.at(x.position, "the document has %d bytes: at most %d", len(d), MaxDocument)
		return false
	case strings.TrimLeft(d, whiteSpace) == "":
		x.at(x.position, "the document is empty: a job starts with <JobDefinition>")
		return false
	case strings.HasPrefix(d, "\xFE\xFF") || strings.HasPrefix(d, "\xFF\xFE"):
		x.at(x.position, "the document is in UTF-16: save it as UTF-8")
		return false
	}
	for i := 0; i < len(d); {
		if b := d[i]; b >= 0x20 && b < utf8.RuneSelf {
			i++
			continue
		}
		c, n := utf8.DecodeRuneInString(d[i:])
		if c == utf8.RuneError && n == 1 {
			x.at(x.place(i), "the byte 0x%02X is not UTF-8: save the document as UTF-8", d[i])
			return false
		}
		if !xmlCharacter(c) {
			x.at(x.place(i), "the character U+%04X is not allowed in XML", c)
			return false
		}
		i += n
	}
	x.offset, x.position = 0, position{1, 1}
	return true
}

// xmlCharacter is the production Char of XML 1.0.
func xmlCharacter(c rune) bool {
	return c == '\t' || c == '\n' || c == '\r' || c >= 0x20 && c <= 0xD7FF || c >= 0xE000 && c <= 0xFFFD || c >= 0x10000
}

// place is the position of an offset; offsets asked for never go back.
func (x *xmlReader) place(offset int) position {
	for ; x.offset < offset && x.offset < len(x.document); x.offset++ {
		switch b := x.document[x.offset]; {
		case b == '\n':
			x.position = position{x.position.line + 1, 1}
		case b&0xC0 != 0x80:
			x.position.col++
		}
	}
	return x.position
}

// take takes one token.
func (x *xmlReader) take(t *token) error {
	switch t.kind {
	case startTag:
		return x.start(t)
	case endTag:
		return x.end(x.place(t.from), t.name.String(), t.from, t.to)
	case characters:
		return x.characters(t)
	case instruction:
		return x.instruction(t)
	case declaration:
		x.at(x.place(t.from), "a DOCTYPE or other declaration (<!…>) is not allowed: remove it")
		return errStop
	}
	return nil // a comment
}

// malformed tells what the scanner found.
func (x *xmlReader) malformed(err error) {
	var m *malformation
	switch {
	case !errors.As(err, &m):
		x.at(x.position, "this is not well-formed XML: %v", err)
	case !m.torn:
		x.at(x.place(m.at), "this is not well-formed XML: %s", m.message)
	case len(x.open) > 0:
		x.cutOff()
	default:
		x.at(x.place(m.at), "the document ends inside a tag or comment: it looks cut off")
	}
}

func (x *xmlReader) cutOff() {
	last := x.open[len(x.open)-1]
	x.at(x.place(len(x.document)), "the document ends inside <%s> (line %d): it looks cut off", last.raw, last.at.line)
}

func (x *xmlReader) instruction(t *token) error {
	at := x.place(t.from)
	switch name := t.name.String(); {
	case name == "xml" && t.from == 0:
		return x.head(t)
	case name == "xml-stylesheet" || name == "xml-model":
		return nil // for editors and browsers
	default:
		x.at(at, "the processing instruction <?%s …?> is not allowed here: remove it", name)
		return errStop
	}
}

// head reads the XML declaration at the beginning.
func (x *xmlReader) head(t *token) error {
	s := scanner{text: "<xml" + t.text + ">"}
	d, _, err := s.next()
	if err != nil {
		x.at(x.place(t.to), "this is not well-formed XML: the declaration <?xml …?> is none")
		return errStop
	}
	for _, a := range d.attributes {
		switch name, value := a.name.String(), a.value; {
		case name == "version" && value != "1.0":
			x.at(x.place(t.to), "this is not well-formed XML: unsupported version %s; only version 1.0 is supported", quote(value))
			return errStop
		case name == "encoding" && !strings.EqualFold(value, "utf-8"):
			x.at(x.place(t.to), "the encoding %s is not supported: save the document as UTF-8", quote(value))
			return errStop
		}
	}
	return nil
}

func (x *xmlReader) characters(t *token) error {
	raw := x.document[t.from:t.to]
	blank := strings.TrimLeft(t.text, whiteSpace) == ""
	if blank && len(x.open) > 0 {
		e := x.open[len(x.open)-1]
		e.add(t.text)
		return nil
	}
	rest := strings.TrimLeft(raw, whiteSpace)
	if blank && rest == "" {
		return nil
	}
	at := x.place(t.to - len(rest))
	switch {
	case len(x.open) > 0:
	case x.root == nil:
		x.at(at, "this is not XML: text before the first element")
		return errStop
	default:
		x.at(at, "nothing may follow </%s>", x.root.raw)
		return errStop
	}
	if t.half {
		x.at(at, "a character reference names half a character (U+D800 to U+DFFF)")
		return errStop
	}
	e := x.open[len(x.open)-1]
	if e.textAt == (position{}) {
		e.textAt = at
	}
	e.add(t.text)
	return nil
}

// add takes more text directly inside the element. It is copied: a job that has a name of its document is not to keep all of
// that in memory.
func (e *element) add(text string) {
	text = strings.Clone(text)
	switch {
	case e.text == "":
		e.text = text
	case len(e.children) == 0 || strings.Trim(text, whiteSpace) != "":
		e.pieces = append(e.pieces, text)
	}
}

// fresh is a new element, which costs no allocation of its own.
func (x *xmlReader) fresh() *element {
	if len(x.pool) == 0 {
		x.pool = make([]element, 128)
	}
	e := &x.pool[0]
	x.pool = x.pool[1:]
	return e
}

func (x *xmlReader) start(t *token) error {
	at := x.place(t.from)
	e := x.fresh()
	e.at, e.local, e.raw = at, t.name.local, x.document[t.from+1:t.from+1+len(t.name.String())]
	x.elements++
	switch {
	case len(x.open) == 0 && x.root != nil:
		x.at(at, "nothing may follow </%s>: a document has one root element", x.root.raw)
		return errStop
	case len(x.open) >= MaxDepth:
		x.at(at, "elements are nested deeper than %d levels", MaxDepth)
		return errStop
	case x.elements > MaxElements:
		x.at(at, "the document has more than %d elements", MaxElements)
		return errStop
	case len(t.attributes) > MaxAttributes:
		x.at(at, "%s has %d attributes: at most %d", e.raw, len(t.attributes), MaxAttributes)
		return errStop
	case strings.Contains(t.name.local, ":"):
		x.at(at, "this is not well-formed XML: <%s> is no name", cut(e.raw, 100))
		return errStop
	case t.half:
		x.at(at, "a character reference names half a character (U+D800 to U+DFFF)")
		return errStop
	}
	x.declare(e, t.attributes)
	e.space, e.undeclared = x.resolve(e, t.name.prefix)
	x.readAttributes(e, t.attributes)
	if len(x.open) == 0 {
		x.root = e
	} else {
		parent := x.open[len(x.open)-1]
		parent.children = append(parent.children, e)
	}
	x.open = append(x.open, e)
	e.span = Span{From: t.from, Inner: t.to}
	if t.empty {
		return x.end(at, e.raw, t.to, t.to)
	}
	return nil
}

func (x *xmlReader) end(at position, name string, from, to int) error {
	if len(x.open) == 0 {
		x.at(at, "this is not well-formed XML: </%s> closes nothing", name)
		return errStop
	}
	e := x.open[len(x.open)-1]
	if e.raw != name {
		x.at(at, "this is not well-formed XML: </%s> stands where </%s> must close line %d", name, e.raw, e.at.line)
		return errStop
	}
	for _, prefix := range e.declared {
		uris := x.scopes[prefix]
		x.scopes[prefix] = uris[:len(uris)-1]
	}
	x.open = x.open[:len(x.open)-1]
	e.span.InnerTo, e.span.To = from, to
	if len(e.pieces) > 0 {
		e.text, e.pieces = e.text+strings.Join(e.pieces, ""), nil
	}
	return nil
}

// name is the element's name for messages: with its namespace where that is none of ours.
func (e *element) name() string {
	switch e.space {
	case Core, POSIX, HPCProfile, SPMD, Own, "":
		return e.local
	}
	return fmt.Sprintf("{%s}%s", e.space, e.local)
}
