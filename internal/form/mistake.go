// Package form reads a YAML document into a Go value, and says all that is wrong in it by line and column, in the words of
// the file: the field, what stands there, what is expected, and the name that was meant. No word of the YAML library or of
// Go's types is shown.
//
// A value that reads itself is an encoding.TextUnmarshaler, of a text, or a [Reader], of any node. Anchors, aliases and merge
// keys are followed where a whole document is decoded.
package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"gbroker/grid"
)

// Mistake is one thing that is wrong in a file. It is an error of the kind grid.ErrInvalid.
type Mistake struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1; 0 where the mistake is in no line
	Column int    `json:"column"` // in characters, from 1
	Text   string `json:"text"`   // what is wrong and what to write instead
}

func (m Mistake) String() string {
	switch {
	case m.File == "":
		return m.Text
	case m.Line == 0:
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

func (m *Mistake) Error() string { return m.String() }

// Is makes errors.Is(m, grid.ErrInvalid) hold.
func (m *Mistake) Is(target error) bool { return target == grid.ErrInvalid }

// Mistakes is all that is wrong in a file, or in several, in the order of the lines. It is an error of the kind grid.ErrInvalid.
type Mistakes []Mistake

func (ms Mistakes) Error() string {
	lines := make([]string, len(ms))
	for i, m := range ms {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// Is makes errors.Is(ms, grid.ErrInvalid) hold.
func (ms Mistakes) Is(target error) bool { return target == grid.ErrInvalid }

// OrNil keeps an empty list from being an error.
func (ms Mistakes) OrNil() error {
	if len(ms) == 0 {
		return nil
	}
	return ms
}

// Sort puts them into the order of their files and lines.
func (ms Mistakes) Sort() {
	slices.SortStableFunc(ms, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// MistakeAt is a mistake at a node of a file.
func MistakeAt(file string, n ast.Node, format string, args ...any) *Mistake {
	m := &Mistake{File: file, Line: 1, Column: 1, Text: fmt.Sprintf(format, args...)}
	if n != nil {
		m.Line, m.Column = place(firstToken(n))
	}
	return m
}

func place(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return max(t.Position.Line, 1), max(t.Position.Column, 1)
}

// firstToken is the token that stands first in a mapping, whose own token is a colon.
func firstToken(n ast.Node) *token.Token {
	if m, ok := n.(ast.MapNode); ok {
		if iter := m.MapRange(); iter.Next() {
			return iter.Key().GetToken()
		}
	}
	return n.GetToken()
}

// Kind is what a node is, in words.
func Kind(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return fmt.Sprintf("the truth value %s", n.GetToken().Value)
	case *ast.StringNode, *ast.LiteralNode:
		return fmt.Sprintf("the text %q", Clip(n.GetToken().Value))
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return fmt.Sprintf("the number %s", Clip(n.GetToken().Value))
	case *ast.NullNode:
		return "empty"
	}
	return "something else"
}

// Clip keeps a message short whatever the file holds.
func Clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
