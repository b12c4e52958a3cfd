package form

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"gbroker/internal/near"
)

// Reader is a value that reads itself from a node, and tells the decoder what is wrong with that. What is the name of the field.
type Reader interface {
	ReadNode(d *Decoder, n ast.Node, what string)
}

// mostAliased bounds what aliases can make of a small file.
const mostAliased = 1_000_000

// Decoder reads nodes of one file into values, and collects what is wrong. It never stops at the first mistake.
type Decoder struct {
	Mistakes
	file    string
	anchors map[string]ast.Node
	aliases int // that are being followed
	aliased int // values that were read by them
}

// Decode reads a document into what to points at; fields that it does not name stay as they are.
func Decode(file string, root ast.Node, to any) Mistakes {
	d := &Decoder{file: file, anchors: map[string]ast.Node{}}
	d.Read(root, to, "the file")
	d.Sort()
	return d.Mistakes
}

// Note records a mistake at a node.
func (d *Decoder) Note(n ast.Node, format string, args ...any) {
	d.Mistakes = append(d.Mistakes, *MistakeAt(d.file, n, format, args...))
}

// Read reads a node into what to points at.
func (d *Decoder) Read(n ast.Node, to any, what string) {
	d.read(n, reflect.ValueOf(to).Elem(), what)
}

func (d *Decoder) read(n ast.Node, v reflect.Value, what string) {
	if d.aliases > 0 {
		d.aliased++
	}
	if d.aliased > mostAliased {
		return
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		d.read(n.Value, v, what)
		d.anchors[n.Name.GetToken().Value] = n.Value
		return
	case *ast.AliasNode:
		d.alias(n, v, what)
		return
	case *ast.TagNode:
		d.Note(n, "tags (%s) are not used here: write the value itself", Clip(n.GetToken().Value))
		return
	}
	switch to := v.Addr().Interface().(type) {
	case Reader:
		to.ReadNode(d, n, what)
	case encoding.TextUnmarshaler:
		if text, ok := d.text(n, what); ok {
			if err := to.UnmarshalText([]byte(text)); err != nil {
				d.Note(n, "%s: %v", what, err)
			}
		}
	default:
		d.plain(n, v, what)
	}
}

func (d *Decoder) alias(n *ast.AliasNode, v reflect.Value, what string) {
	known := d.named(n)
	if known == nil {
		return
	}
	within := d.aliased <= mostAliased
	d.aliases++
	d.read(known, v, what)
	d.aliases--
	if within && d.aliased > mostAliased {
		d.Note(n, "the aliases of the file stand for more than %d values", mostAliased)
	}
}

// named is what an alias stands for; nil, which is noted, where there is no such anchor above.
func (d *Decoder) named(n *ast.AliasNode) ast.Node {
	name := n.Value.GetToken().Value
	known := d.anchors[name]
	if known == nil {
		d.Note(n, "*%s: no &%s stands above", Clip(name), Clip(name))
	}
	return known
}

// plain reads a value of one of Go's own kinds.
func (d *Decoder) plain(n ast.Node, v reflect.Value, what string) {
	if _, empty := n.(*ast.NullNode); empty {
		if k := v.Kind(); k != reflect.Slice && k != reflect.Map && k != reflect.Pointer {
			d.Note(n, "%s is empty: write a value, or remove the line", what)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(n, v, what)
	case reflect.Slice:
		d.list(n, v, what)
	case reflect.Map:
		d.mapping(n, v, what)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.read(n, v.Elem(), what)
	case reflect.String:
		if text, ok := d.text(n, what); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if b, is := n.(*ast.BoolNode); is {
			v.SetBool(b.Value)
			return
		}
		d.Note(n, "%s is %s: write true or false", what, Kind(n))
	default:
		d.number(n, v, what)
	}
}

// text is a scalar as its author wrote it; a number or a truth value is text too, and needs no quotes.
func (d *Decoder) text(n ast.Node, what string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.MappingNode, *ast.MappingValueNode:
		d.Note(n, "%s is a mapping: write a text, between quotes if it holds a colon", what)
	default:
		d.Note(n, "%s is %s: write a text", what, Kind(n))
	}
	return "", false
}

// number reads one into an int, a uint or a float.
func (d *Decoder) number(n ast.Node, v reflect.Value, what string) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		switch x := n.Value.(type) {
		case int64:
			d.whole(n, v, what, x)
		case uint64:
			if v.CanUint() && !v.OverflowUint(x) {
				v.SetUint(x)
			} else if v.CanFloat() {
				v.SetFloat(float64(x))
			} else if x <= math.MaxInt64 {
				d.whole(n, v, what, int64(x))
			} else {
				d.tooLarge(n, what)
			}
		}
	case *ast.FloatNode:
		d.float(n, v, what, n.Value)
	case *ast.StringNode: // 1e3 is text to the parser, and so is a number that is too large for it
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil && n.Token.Type == token.StringType && !math.IsInf(x, 0) && !math.IsNaN(x) {
			d.float(n, v, what, x)
			return
		}
		d.noNumber(n, v, what)
	default:
		d.noNumber(n, v, what)
	}
}

func (d *Decoder) float(n ast.Node, v reflect.Value, what string, x float64) {
	switch {
	case v.CanFloat():
		v.SetFloat(x)
	case x != math.Trunc(x):
		d.Note(n, "%s is %s: write a whole number", what, Kind(n))
	case math.Abs(x) < math.MaxInt64:
		d.whole(n, v, what, int64(x))
	default:
		d.tooLarge(n, what)
	}
}

func (d *Decoder) whole(n ast.Node, v reflect.Value, what string, x int64) {
	switch {
	case v.CanFloat():
		v.SetFloat(float64(x))
	case v.CanUint() && x < 0:
		d.Note(n, "%s is %s: write a number that is not below 0", what, Kind(n))
	case v.CanUint() && !v.OverflowUint(uint64(x)):
		v.SetUint(uint64(x))
	case v.CanInt() && !v.OverflowInt(x):
		v.SetInt(x)
	default:
		d.tooLarge(n, what)
	}
}

func (d *Decoder) tooLarge(n ast.Node, what string) {
	d.Note(n, "%s is %s, which is too large", what, Clip(n.GetToken().Value))
}

func (d *Decoder) noNumber(n ast.Node, v reflect.Value, what string) {
	example := "whole number, as 4"
	if v.CanFloat() {
		example = "number, as 1.5"
	}
	d.Note(n, "%s is %s: write a %s", what, Kind(n), example)
}

func (d *Decoder) list(n ast.Node, v reflect.Value, what string) {
	s, is := n.(*ast.SequenceNode)
	if !is {
		d.Note(n, "%s is %s: write a list, one per line with a dash, or [a, b]", what, Kind(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	for i, one := range s.Values {
		d.read(one, list.Index(i), "an entry of "+what)
	}
	v.Set(list)
}

func (d *Decoder) mapping(n ast.Node, v reflect.Value, what string) {
	if _, is := n.(ast.MapNode); !is {
		d.Note(n, "%s is %s: write a mapping, as {name: value}", what, Kind(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range d.entries(n, map[string]bool{}) {
		name := e.Key.GetToken().Value
		one := reflect.New(v.Type().Elem()).Elem()
		d.read(e.Value, one, name)
		v.SetMapIndex(reflect.ValueOf(name), one)
	}
}

// fields reads a mapping: each field at most once, no field but those of the struct.
func (d *Decoder) fields(n ast.Node, v reflect.Value, what string) {
	index, names := namesOf(v.Type())
	if _, is := n.(ast.MapNode); !is {
		d.Note(n, "%s is %s: write fields, as %s: …", what, Kind(n), names[0])
		return
	}
	for _, e := range d.entries(n, map[string]bool{}) {
		name := e.Key.GetToken().Value
		if i, known := index[name]; known {
			d.read(e.Value, v.Field(i), name)
		} else {
			d.Note(e.Key, "unknown field %q%s", Clip(name), meant(name, names))
		}
	}
}

// namesOf are the fields of a struct as the file has them.
func namesOf(t reflect.Type) (index map[string]int, names []string) {
	index = map[string]int{}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			index[name] = i
			names = append(names, name)
		}
	}
	return index, names
}

func meant(name string, names []string) string {
	if word := near.Word(name, names...); word != "" {
		return fmt.Sprintf(": did you mean %q?", word)
	}
	return ": the fields here are " + strings.Join(names, ", ")
}

// entries are the fields of a mapping, then those of what it merges (<<) that it does not have itself.
func (d *Decoder) entries(n ast.Node, seen map[string]bool) (list []*ast.MappingValueNode) {
	var merged []ast.Node
	for _, e := range Entries(n) {
		name := e.Key.GetToken().Value
		switch {
		case e.Key.Type() == ast.MergeKeyType:
			merged = append(merged, d.merged(e.Value)...)
		case seen[name]:
			d.Note(e.Key, "the field %s is here for the second time: remove one", Clip(name))
		default:
			seen[name] = true
			list = append(list, e)
		}
	}
	for _, m := range merged {
		for _, e := range d.entries(m, map[string]bool{}) {
			if name := e.Key.GetToken().Value; !seen[name] {
				seen[name] = true
				list = append(list, e)
			}
		}
	}
	return list
}

// merged are the mappings that a merge key names.
func (d *Decoder) merged(n ast.Node) (list []ast.Node) {
	switch n := n.(type) {
	case *ast.AliasNode:
		if known := d.named(n); known != nil {
			return []ast.Node{known}
		}
	case *ast.SequenceNode:
		for _, one := range n.Values {
			list = append(list, d.merged(one)...)
		}
	default:
		if _, is := n.(ast.MapNode); is {
			return []ast.Node{n}
		}
		d.Note(n, "<< is %s: write an alias, as *name", Kind(n))
	}
	return list
}
