package jsdl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	text         []byte   // all character data directly inside
	textAt       position // of the first that is not white space; zero if none
	declared     []string // prefixes whose scope ends with the element
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

// xmlReader builds the tree of elements. It stands on RawToken and resolves
// namespaces itself, because Token lets undeclared prefixes, duplicate attributes
// and content after the root element pass.
type xmlReader struct {
	*reporter
	document []byte
	decoder  *xml.Decoder
	offset   int // the place of which position is
	position position
	scopes   map[string][]string // prefix to the URIs in scope, innermost last
	unknown  map[string]bool     // undeclared prefixes already told
	open     []*element
	root     *element
	elements int
}

// errStop ends the reading; the reason was told.
var errStop = errors.New("document refused")

// readXML gives the root element, or nil if reading could not go on.
func readXML(r *reporter, document []byte) *element {
	x := &xmlReader{
		reporter: r,
		document: Text(document),
		position: position{1, 1},
		scopes:   map[string][]string{"xml": {xmlNamespace}},
		unknown:  map[string]bool{},
	}
	if !x.readable() {
		return nil
	}
	x.decoder = xml.NewDecoder(bytes.NewReader(x.document))
	x.decoder.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, charsetError(charset)
	}
	for {
		err := x.next()
		if err == io.EOF && x.root != nil {
			return x.root
		}
		if err == io.EOF {
			x.at(position{1, 1}, "the document has no element: a job starts with <JobDefinition>")
		}
		if err != nil {
			return nil
		}
	}
}

// charsetError is the encoding that an XML declaration names.
type charsetError string

func (c charsetError) Error() string { return string(c) }

// readable refuses what is no text in UTF-8 of a bounded length.
func (x *xmlReader) readable() bool {
	d := x.document
	switch {
	case len(d) > MaxDocument:
		x.at(x.position, "the document has %d bytes: at most %d", len(d), MaxDocument)
		return false
	case len(bytes.TrimLeft(d, whiteSpace)) == 0:
		x.at(x.position, "the document is empty: a job starts with <JobDefinition>")
		return false
	case bytes.HasPrefix(d, []byte{0xFE, 0xFF}) || bytes.HasPrefix(d, []byte{0xFF, 0xFE}):
		x.at(x.position, "the document is in UTF-16: save it as UTF-8")
		return false
	}
	for i := 0; i < len(d); {
		c, n := utf8.DecodeRune(d[i:])
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

// next takes one token.
func (x *xmlReader) next() error {
	start := int(x.decoder.InputOffset())
	at := x.place(start)
	token, err := x.decoder.RawToken()
	if err != nil {
		return x.malformed(err)
	}
	raw := x.document[start:x.decoder.InputOffset()]
	switch t := token.(type) {
	case xml.StartElement:
		if err := x.start(at, t, raw); err != nil {
			return err
		}
		x.open[len(x.open)-1].span = Span{From: start, Inner: start + len(raw)}
		return nil
	case xml.EndElement:
		return x.end(at, t, start)
	case xml.CharData:
		return x.characters(start, t, raw)
	case xml.Directive:
		x.at(at, "a DOCTYPE or other declaration (<!…>) is not allowed: remove it")
		return errStop
	case xml.ProcInst:
		return x.instruction(at, start, t)
	}
	return nil // a comment
}

// malformed tells what RawToken found; the end of a complete document is io.EOF.
func (x *xmlReader) malformed(err error) error {
	at := x.place(int(x.decoder.InputOffset()))
	var charset charsetError
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &charset):
		x.at(at, "the encoding %s is not supported: save the document as UTF-8", quote(string(charset)))
		return errStop
	case errors.As(err, &syntax) && syntax.Msg != "unexpected EOF":
		x.at(at, "this is not well-formed XML: %s", syntax.Msg)
		return errStop
	case err != io.EOF && syntax == nil:
		x.at(at, "this is not well-formed XML: %s", strings.TrimPrefix(err.Error(), "xml: "))
		return errStop
	case len(x.open) > 0:
		last := x.open[len(x.open)-1]
		x.at(at, "the document ends inside <%s> (line %d): it looks cut off", last.raw, last.at.line)
		return errStop
	case err != io.EOF:
		x.at(at, "the document ends inside a tag or comment: it looks cut off")
		return errStop
	}
	return io.EOF
}

func (x *xmlReader) instruction(at position, start int, t xml.ProcInst) error {
	switch {
	case t.Target == "xml" && start == 0:
		return nil
	case t.Target == "xml-stylesheet" || t.Target == "xml-model":
		return nil // for editors and browsers
	}
	x.at(at, "the processing instruction <?%s …?> is not allowed here: remove it", t.Target)
	return errStop
}

func (x *xmlReader) characters(start int, text xml.CharData, raw []byte) error {
	rest := bytes.TrimLeft(raw, whiteSpace)
	blank := len(bytes.TrimLeft(text, whiteSpace)) == 0
	if len(x.open) == 0 {
		if blank && len(rest) == 0 {
			return nil
		}
		at := x.place(start + len(raw) - len(rest))
		if x.root == nil {
			x.at(at, "this is not XML: text before the first element")
		} else {
			x.at(at, "nothing may follow </%s>", x.root.raw)
		}
		return errStop
	}
	e := x.open[len(x.open)-1]
	at := x.place(start + len(raw) - len(rest))
	if !blank && e.textAt == (position{}) {
		e.textAt = at
	}
	if !bytes.HasPrefix(raw, []byte("<![CDATA[")) && halfCharacter(raw) {
		x.at(at, "a character reference names half a character (U+D800 to U+DFFF)")
		return errStop
	}
	e.text = append(e.text, text...)
	return nil
}

// halfCharacter finds references to surrogates, which encoding/xml silently
// replaces by U+FFFD.
func halfCharacter(raw []byte) bool {
	for {
		i := bytes.Index(raw, []byte("&#"))
		if i < 0 {
			return false
		}
		raw = raw[i+2:]
		number, _, found := bytes.Cut(raw[:min(len(raw), 64)], []byte(";"))
		if !found {
			continue
		}
		base := 10
		if bytes.HasPrefix(number, []byte("x")) {
			number, base = number[1:], 16
		}
		c, err := strconv.ParseUint(string(number), base, 32)
		if err == nil && c >= 0xD800 && c <= 0xDFFF {
			return true
		}
	}
}

func (x *xmlReader) start(at position, t xml.StartElement, raw []byte) error {
	e := &element{at: at, local: t.Name.Local, raw: t.Name.Local}
	if t.Name.Space != "" {
		e.raw = t.Name.Space + ":" + t.Name.Local
	}
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
	case len(t.Attr) > MaxAttributes:
		x.at(at, "%s has %d attributes: at most %d", e.raw, len(t.Attr), MaxAttributes)
		return errStop
	case strings.Contains(t.Name.Local, ":"):
		x.at(at, "this is not well-formed XML: <%s> is no name", e.raw)
		return errStop
	case halfCharacter(raw):
		x.at(at, "a character reference names half a character (U+D800 to U+DFFF)")
		return errStop
	}
	x.declare(e, t.Attr)
	e.space, e.undeclared = x.resolve(e, t.Name.Space)
	x.readAttributes(e, t.Attr)
	if len(x.open) == 0 {
		x.root = e
	} else {
		parent := x.open[len(x.open)-1]
		parent.children = append(parent.children, e)
	}
	x.open = append(x.open, e)
	return nil
}

// declare brings the element's xmlns attributes into scope.
func (x *xmlReader) declare(e *element, attributes []xml.Attr) {
	for _, a := range attributes {
		var prefix string
		switch {
		case a.Name.Space == "xmlns":
			prefix = a.Name.Local
			if prefix == "xmlns" || (prefix == "xml") != (a.Value == xmlNamespace) || a.Value == "" {
				x.at(e.at, "xmlns:%s=%s declares nothing that XML allows", prefix, quote(a.Value))
				continue
			}
		case a.Name.Space == "" && a.Name.Local == "xmlns":
		default:
			continue
		}
		x.scopes[prefix] = append(x.scopes[prefix], a.Value)
		e.declared = append(e.declared, prefix)
	}
}

// resolve gives the namespace of a prefix in scope.
func (x *xmlReader) resolve(e *element, prefix string) (space string, undeclared bool) {
	if uris := x.scopes[prefix]; len(uris) > 0 {
		return uris[len(uris)-1], false
	}
	if prefix == "" {
		return "", false
	}
	if !x.unknown[prefix] {
		x.unknown[prefix] = true
		x.at(e.at, "the prefix %s is declared nowhere: add xmlns:%s=\"%s\" to the first element", quote(prefix), prefix, likelyNamespace(prefix))
	}
	return "", true
}

// readAttributes keeps the attributes but xmlns, resolved; none may come twice.
func (x *xmlReader) readAttributes(e *element, attributes []xml.Attr) {
	seen := make(map[attribute]bool, len(attributes))
	for _, a := range attributes {
		kept := attribute{local: a.Name.Local, value: a.Value}
		declaration := a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns"
		undeclared := false
		switch {
		case declaration:
			kept.space = "xmlns " + a.Name.Space
		case a.Name.Space != "":
			kept.space, undeclared = x.resolve(e, a.Name.Space)
		}
		name := attribute{space: kept.space, local: kept.local}
		if undeclared {
			continue
		}
		if seen[name] {
			x.at(e.at, "%s has the attribute %s twice", e.raw, a.Name.Local)
			continue
		}
		seen[name] = true
		if !declaration {
			e.attributes = append(e.attributes, kept)
		}
	}
}

func (x *xmlReader) end(at position, t xml.EndElement, start int) error {
	name := t.Name.Local
	if t.Name.Space != "" {
		name = t.Name.Space + ":" + name
	}
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
	e.span.InnerTo, e.span.To = start, int(x.decoder.InputOffset())
	return nil
}

// name is the element's name for messages: with its namespace where that is none of ours.
func (e *element) name() string {
	switch e.space {
	case Core, POSIX, SPMD, Own, "":
		return e.local
	}
	return fmt.Sprintf("{%s}%s", e.space, e.local)
}
