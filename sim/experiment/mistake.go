package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"gbroker/grid"
)

// Mistake is what is wrong in an experiment's file, and where. It is of the kind grid.ErrInvalid.
type Mistake struct {
	File         string
	Line, Column int // from 1; 0 is the whole file
	Text         string
}

func (m *Mistake) Error() string {
	if m.Line == 0 {
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

// Is makes errors.Is(m, grid.ErrInvalid) hold.
func (m *Mistake) Is(target error) bool { return target == grid.ErrInvalid }

// mistakeAt is a mistake at a node; whoever reads the file adds its name.
func mistakeAt(n ast.Node, format string, args ...any) *Mistake {
	return mistakeOf(first(n), fmt.Sprintf(format, args...))
}

func mistakeOf(t *token.Token, text string) *Mistake {
	m := &Mistake{Text: text}
	if t != nil && t.Position != nil {
		m.Line, m.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return m
}

// first is the token that stands first in a mapping, whose own is a colon.
func first(n ast.Node) *token.Token {
	if all := entries(n); len(all) > 0 {
		return all[0].Key.GetToken()
	}
	return n.GetToken()
}

// entries are the fields of a mapping; none where it is something else.
func entries(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// located makes a mistake of an error of the YAML library.
func located(err error) error {
	var own *Mistake
	if errors.As(err, &own) {
		return own
	}
	var theirs yaml.Error
	if !errors.As(err, &theirs) {
		return &Mistake{Text: err.Error()}
	}
	text := theirs.GetMessage()
	var kind *yaml.TypeError
	if errors.As(err, &kind) { // its own words are those of Go's types
		text = fmt.Sprintf("%q is not of the kind that stands here", theirs.GetToken().Value)
	}
	if t := theirs.GetToken(); t != nil {
		return mistakeOf(t, strings.TrimSpace(text))
	}
	return &Mistake{Text: text}
}
