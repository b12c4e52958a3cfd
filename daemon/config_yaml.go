package daemon

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"gbroker/grid"
	"gbroker/internal/near"
)

// MaxConfig is the largest configuration file that is read, in bytes: a thousand
// members with their addresses take less.
const MaxConfig = 256 << 10

// Mistake is one thing that is wrong in a configuration file.
type Mistake struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1; 0 where the mistake is in no line
	Column int    `json:"column"` // in characters, from 1
	Text   string `json:"text"`   // what is wrong and what to write instead
}

func (m Mistake) String() string {
	if m.Line == 0 {
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

// Mistakes is all that is wrong in the configuration, in the order of the files'
// lines. It is an error of the kind grid.ErrInvalid.
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

// orNil keeps an empty list from being an error.
func (ms Mistakes) orNil() error {
	if len(ms) == 0 {
		return nil
	}
	return ms
}

// document reads one YAML file and collects every mistake in it. Its methods never
// stop at the first: a value that is wrong is noted and left at its default.
type document struct {
	name     string // as the reader of the messages knows the file
	mistakes Mistakes
	later    []func() // checks that need what stands further down
}

// field is one name that a mapping may have.
type field struct {
	name string
	read func(ast.Node)
	aka  string // other words that people write for it, separated by spaces
	// list tells that nothing after the colon is an empty list, not a mistake.
	list     bool
	required string // "" or what to write when the field is missing
}

// note records a mistake at a node.
func (d *document) note(at ast.Node, format string, args ...any) {
	d.noteToken(firstToken(at), format, args...)
}

func (d *document) noteToken(at *token.Token, format string, args ...any) {
	m := Mistake{File: d.name, Line: 1, Column: 1, Text: fmt.Sprintf(format, args...)}
	if at != nil && at.Position != nil {
		m.Line, m.Column = max(at.Position.Line, 1), max(at.Position.Column, 1)
	}
	d.mistakes = append(d.mistakes, m)
}

// sorted is the list of mistakes from the top of the file to its end.
func (d *document) sorted() Mistakes {
	sort.SliceStable(d.mistakes, func(i, j int) bool {
		a, b := d.mistakes[i], d.mistakes[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return d.mistakes
}

// root parses data to the one node of the document; nil where it is empty or was
// no YAML, which is noted.
func (d *document) root(data []byte) ast.Node {
	if len(data) > MaxConfig {
		d.noteToken(nil, "the file has %d bytes: at most %d are read", len(data), MaxConfig)
		return nil
	}
	file, err := parse(data)
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.noteToken(syntax.GetToken(), "this is no YAML: %s", syntax.GetMessage())
		return nil
	case err != nil:
		d.noteToken(nil, "this is no YAML: %v", err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.note(doc.Body, "a second document begins here: the file holds one, remove the line ---")
			return nil
		}
		body = doc.Body
	}
	return body
}

// parse shields the daemon from the parser: a panic in it refuses the file, as any
// other mistake does, and a running daemon keeps its neighbours.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("it cannot be parsed: %v", p)
		}
	}()
	return parser.ParseBytes(data, parser.ParseComments, parser.AllowDuplicateMapKey())
}

// fields reads a mapping: each field at most once, no field but these.
func (d *document) fields(n ast.Node, what string, known []field) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.note(n, "%s is %s: write fields, such as %s: …", what, kindOf(n), known[0].name)
		return
	}
	seen := make(map[string]int)
	for iter := m.MapRange(); iter.Next(); {
		key := iter.Key()
		name := key.GetToken().Value
		f := find(known, name)
		switch line, twice := seen[name], seen[name] > 0; {
		case key.Type() == ast.MergeKeyType:
			d.note(key, "merge keys (<<) are not used here: write the fields out")
		case f == nil:
			d.note(key, "unknown field %q%s", clip(name), meant(known, name))
		case twice:
			d.note(key, "the field %s is here for the second time, first in line %d: remove one", name, line)
		default:
			seen[name] = key.GetToken().Position.Line
			d.value(f, iter.Value())
		}
	}
	for _, f := range known {
		if f.required != "" && seen[f.name] == 0 {
			d.note(n, "%s has no field %s: write %s", what, f.name, f.required)
		}
	}
}

// value hands a field's value on, unless it is of a kind that no field has.
func (d *document) value(f *field, n ast.Node) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.note(n, "anchors, aliases and tags are not used here: write the value itself")
	case *ast.NullNode:
		if !f.list {
			d.note(n, "the field %s has no value: write one, or remove the line to get the default", f.name)
		}
	default:
		f.read(n)
	}
}

// list calls each for the elements of a sequence. one reads a lone value as a list of one.
func (d *document) list(n ast.Node, what string, most int, one bool, each func(ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	switch {
	case !ok && one:
		each(n)
		return
	case !ok:
		d.note(n, "%s is %s: write a list, one per line with a dash, or [a, b]", what, kindOf(n))
		return
	case len(s.Values) > most:
		d.note(n, "%s has %d entries: at most %d", what, len(s.Values), most)
		return
	}
	for _, v := range s.Values {
		switch v.(type) {
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			d.note(v, "anchors, aliases and tags are not used here: write the value itself")
		case *ast.NullNode:
			d.note(v, "an entry of %s is empty: write a value or remove the dash", what)
		default:
			each(v)
		}
	}
}

// text is a scalar as its author wrote it; a number is text too, so that
// `queues: [1]` or `name: 007` need no quotes.
func (d *document) text(n ast.Node, what string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	case *ast.LiteralNode:
		d.note(n, "%s is a text of several lines: write it in one", what)
	case *ast.MappingNode, *ast.MappingValueNode:
		d.note(n, "%s is a mapping: write a text, between quotes if it holds a colon", what)
	default:
		d.note(n, "%s is %s: write a text", what, kindOf(n))
	}
	return "", false
}

// yes is a truth value. YAML 1.1's yes and no are texts today, and refused by name.
func (d *document) yes(n ast.Node, what string) (value, ok bool) {
	if b, is := n.(*ast.BoolNode); is {
		return b.Value, true
	}
	d.note(n, "%s is %s: write true or false", what, kindOf(n))
	return false, false
}

// parsed reads a scalar with a function that says what is wrong with it, and sets *to.
func parsed[T any](d *document, n ast.Node, what string, to *T, read func(string) (T, error)) {
	s, ok := d.text(n, what)
	if !ok {
		return
	}
	v, err := read(s)
	if err != nil {
		d.note(n, "%s: %v", what, err)
		return
	}
	*to = v
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

func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return fmt.Sprintf("the truth value %s", n.GetToken().Value)
	case *ast.StringNode, *ast.LiteralNode:
		return fmt.Sprintf("the text %q", clip(n.GetToken().Value))
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return fmt.Sprintf("the number %s", clip(n.GetToken().Value))
	case *ast.NullNode:
		return "empty"
	}
	return "something else"
}

// clip keeps a message short whatever the file holds.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

func find(known []field, name string) *field {
	for i := range known {
		if known[i].name == name {
			return &known[i]
		}
	}
	return nil
}

// meant guesses which field the author of a wrong name had in mind.
func meant(known []field, name string) string {
	means := map[string]string{}
	var words []string
	for _, f := range known {
		for _, word := range append(strings.Fields(f.aka), f.name) {
			means[word] = f.name
			words = append(words, word)
		}
	}
	if word := near.Word(name, words...); word != "" {
		return fmt.Sprintf(": did you mean %q?", means[word])
	}
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	return ": the fields here are " + strings.Join(names, ", ")
}

// readBounded is os.ReadFile for a file that must be small.
func readBounded(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the configuration: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("reading the configuration: %s is no file", file)
	case info.Size() > MaxConfig:
		return nil, Mistakes{{File: file, Text: fmt.Sprintf("the file has %d bytes: at most %d are read", info.Size(), MaxConfig)}}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return data, nil
}
