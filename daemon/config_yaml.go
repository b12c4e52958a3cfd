package daemon

import (
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"gbroker/internal/form"
	"gbroker/internal/near"
)

// maxConfig is the largest configuration file that is read, in bytes: a thousand
// members with their addresses take less.
const maxConfig = 256 << 10

// Mistake is one thing that is wrong in a configuration file.
type Mistake = form.Mistake

// Mistakes is all that is wrong in the configuration, in the order of the files' lines. It is an error of the kind grid.ErrInvalid.
type Mistakes = form.Mistakes

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

// note records a mistake at a node; nil is the file.
func (d *document) note(at ast.Node, format string, args ...any) {
	d.mistakes = append(d.mistakes, *form.MistakeAt(d.name, at, format, args...))
}

// sorted is the list of mistakes from the top of the file to its end.
func (d *document) sorted() Mistakes {
	d.mistakes.Sort()
	return d.mistakes
}

// root parses data to the one node of the document; nil where it is empty or was
// no YAML, which is noted.
func (d *document) root(data []byte) ast.Node {
	if len(data) > maxConfig {
		d.note(nil, "the file has %d bytes: at most %d are read", len(data), maxConfig)
		return nil
	}
	body, wrong := form.Parse(d.name, data, parser.ParseComments)
	if wrong != nil {
		d.mistakes = append(d.mistakes, *wrong)
	}
	return body
}

// fields reads a mapping: each field at most once, no field but these.
func (d *document) fields(n ast.Node, what string, known []field) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.note(n, "%s is %s: write fields, such as %s: …", what, form.Kind(n), known[0].name)
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
			d.note(key, "unknown field %q%s", form.Clip(name), meant(known, name))
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
		d.note(n, "%s is %s: write a list, one per line with a dash, or [a, b]", what, form.Kind(n))
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
		d.note(n, "%s is %s: write a text", what, form.Kind(n))
	}
	return "", false
}

// yes is a truth value. YAML 1.1's yes and no are texts today, and refused by name.
func (d *document) yes(n ast.Node, what string) (value, ok bool) {
	if b, is := n.(*ast.BoolNode); is {
		return b.Value, true
	}
	d.note(n, "%s is %s: write true or false", what, form.Kind(n))
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
	case info.Size() > maxConfig:
		return nil, Mistakes{{File: file, Text: fmt.Sprintf("the file has %d bytes: at most %d are read", info.Size(), maxConfig)}}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return data, nil
}
