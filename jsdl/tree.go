package jsdl

import (
	"bytes"
	"fmt"
)

// Element is one element of a document as it stands there, for packages that read a part of
// documents on their own. Namespaces are resolved.
type Element struct {
	Space, Local string
	Line, Col    int // from 1; columns count characters
	Span         Span
	Attributes   []Attribute // without xmlns
	Children     []*Element
	Text         string // all character data directly inside, as it means
}

// Attribute is one attribute of an element; Space is "" where it has no prefix.
type Attribute struct{ Space, Local, Value string }

// Span is where an element stands in the text, in bytes from its beginning; a byte order mark
// does not count. The content of an element written as <a/> is empty, and begins at its end.
type Span struct{ From, Inner, InnerTo, To int }

// Attribute gives the value of the attribute, and whether it is there.
func (e *Element) Attribute(space, local string) (string, bool) {
	for _, a := range e.Attributes {
		if a.Space == space && a.Local == local {
			return a.Value, true
		}
	}
	return "", false
}

// Tree reads a document as XML alone, within the limits of this package, and gives its root element.
// file is its name in messages. The error is an [Errors].
func Tree(file string, document []byte) (*Element, error) {
	r := &reporter{file: file}
	root := readXML(r, document)
	if err := r.err(); err != nil {
		return nil, err
	}
	return exported(root), nil
}

func exported(e *element) *Element {
	x := &Element{Space: e.space, Local: e.local, Line: e.at.line, Col: e.at.col, Span: e.span, Text: e.text}
	for _, a := range e.attributes {
		x.Attributes = append(x.Attributes, Attribute{a.space, a.local, a.value})
	}
	for _, c := range e.children {
		x.Children = append(x.Children, exported(c))
	}
	return x
}

// Text is a document without a byte order mark: what spans are places of.
func Text(document []byte) []byte { return bytes.TrimPrefix(document, []byte("\uFEFF")) }

// Mistakes collects what is wrong with a document, for packages that read a part of it.
type Mistakes struct{ reporter }

// NewMistakes has none. file is the name of the document in messages.
func NewMistakes(file string) *Mistakes { return &Mistakes{reporter{file: file}} }

// At tells of a mistake at an element.
func (m *Mistakes) At(e *Element, format string, args ...any) {
	m.at(position{e.Line, e.Col}, "%s", fmt.Sprintf(format, args...))
}

// Err is nil, or the [Errors] in the order of their places.
func (m *Mistakes) Err() error { return m.err() }

// Quote shows a value of the document in a message: escaped and not too long.
func Quote(s string) string { return quote(s) }
