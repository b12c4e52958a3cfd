package form

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse is the one node of a document; nil where it is empty.
func Parse(name string, data []byte, mode parser.Mode) (body ast.Node, wrong *Mistake) {
	file, err := parse(data, mode)
	if err != nil {
		m := &Mistake{File: name, Line: 1, Column: 1, Text: "this is no YAML: " + err.Error()}
		var placed yaml.Error
		if errors.As(err, &placed) && placed.GetToken() != nil {
			m.Line, m.Column = place(placed.GetToken())
			m.Text = "this is no YAML: " + plain(placed.GetMessage())
		}
		return nil, m
	}
	for _, d := range file.Docs {
		switch {
		case d.Body == nil || d.Body.Type() == ast.CommentType:
		case body != nil:
			return nil, MistakeAt(name, d.Body, "a second document begins here: the file holds one, remove the line ---")
		default:
			body = d.Body
		}
	}
	return body, nil
}

// parse shields the program from the parser: a panic in it refuses the file, as any other mistake does.
func parse(data []byte, mode parser.Mode) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("it cannot be parsed: %v", p)
		}
	}()
	return parser.ParseBytes(data, mode, parser.AllowDuplicateMapKey())
}

// plain says what the parser says in words of who writes the file.
func plain(message string) string {
	for part, text := range map[string]string{
		"found character '\t'":                      "a tab stands here: indent with spaces",
		"value is not allowed in this context":      "this does not fit to the lines above: fields of one mapping stand below each other in one column, and a text with ': ' in it needs quotes",
		"unexpected key name":                       "this does not fit to the lines above: fields of one mapping stand below each other in one column",
		"non-map value is specified":                "a field is written NAME: VALUE, with a colon and a blank",
		"sequence end token ']' not found":          "the list that begins here with [ has no ]",
		"could not find flow mapping end token '}'": "the mapping that begins here with { has no }",
	} {
		if strings.Contains(message, part) {
			return text
		}
	}
	return message
}

// Entries are the fields of a mapping; none where it is something else.
func Entries(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	case *ast.AnchorNode:
		return Entries(n.Value)
	}
	return nil
}

// At is the node of a field by its path, as tasks.3.name; where that is not there, what should hold it.
func At(n ast.Node, path string) ast.Node {
	if path == "" {
		return n
	}
	name, rest, _ := strings.Cut(path, ".")
	if list, ok := n.(*ast.SequenceNode); ok {
		if i, err := strconv.Atoi(name); err == nil && i < len(list.Values) {
			return At(list.Values[i], rest)
		}
	}
	for _, e := range Entries(n) {
		if e.Key.GetToken().Value == name {
			return At(e.Value, rest)
		}
	}
	return n
}
