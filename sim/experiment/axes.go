package experiment

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"gbroker/internal/form"
)

// mostPoints bounds the combinations of one file.
const mostPoints = 10_000

// axis is a field that has several values.
type axis struct {
	path   string // of the names, as workload.cores.poisson
	at     *ast.MappingValueNode
	values []ast.Node
}

// themselves are the fields whose lists are no axes.
var themselves = map[string]bool{"sites": true, "choose": true, "members": true, "plots": true, "quick": true}

// axesOf finds the axes below a node, in the order of the file.
func axesOf(n ast.Node, path string) (out []*axis, err error) {
	for _, e := range form.Entries(n) {
		name := e.Key.GetToken().Value
		at := strings.TrimPrefix(path+"."+name, ".")
		list, isList := e.Value.(*ast.SequenceNode)
		switch {
		case name == "sites" && isList:
			for _, v := range list.Values {
				below, err := axesOf(v, at)
				if err != nil {
					return nil, err
				}
				out = append(out, below...)
			}
		case themselves[name]:
		case isList:
			a, err := newAxis(at, e, list)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		default:
			below, err := axesOf(e.Value, at)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		}
	}
	return out, nil
}

func newAxis(path string, at *ast.MappingValueNode, list *ast.SequenceNode) (*axis, error) {
	if len(list.Values) == 0 {
		return nil, mistakeAt(at, "%s is an empty list: write a value, or several", path)
	}
	for _, v := range list.Values {
		_, list := v.(*ast.SequenceNode)
		if inner, err := axesOf(v, path); list || err != nil || len(inner) > 0 {
			return nil, mistakeAt(v, "a list inside of the values of %s: write the values out", path)
		}
	}
	return &axis{path, at, list.Values}, nil
}

func paths(axes []*axis) (out []string) {
	for _, a := range axes {
		out = append(out, a.path)
	}
	return out
}

// shown is a value as the results tell it.
func (a *axis) shown(i int) string {
	return strings.Trim(strings.TrimSpace(a.values[i].String()), `{}"'`)
}

// choices are the points, each as the indices of its values: all combinations, or one axis at a time beside
// that of rules.
func choices(axes []*axis, one bool) ([][]int, error) {
	points := [][]int{make([]int, len(axes))}
	for k, a := range axes {
		full := !one || a.path == "brokering.rule"
		var more [][]int
		for _, p := range points {
			for v := range a.values {
				if v > 0 && !full && moved(p, axes) {
					continue
				}
				q := append([]int(nil), p...)
				q[k] = v
				more = append(more, q)
			}
		}
		if points = more; len(points) > mostPoints {
			return nil, fmt.Errorf("more than %d combinations: vary fewer fields, or one at a time (vary: one)", mostPoints)
		}
	}
	return points, nil
}

// moved tells whether an axis, that of rules apart, is not at its base.
func moved(point []int, axes []*axis) bool {
	for k, v := range point {
		if v > 0 && axes[k].path != "brokering.rule" {
			return true
		}
	}
	return false
}

// overlay puts the fields of another mapping in the place of those of one.
func overlay(on ast.Node, fields ast.Node) error {
	m, ok := on.(*ast.MappingNode)
	if !ok {
		return mistakeAt(fields, "a mapping here takes the place of what is none")
	}
	for _, e := range form.Entries(fields) {
		name, found := e.Key.GetToken().Value, false
		for _, old := range m.Values {
			if old.Key.GetToken().Value != name {
				continue
			}
			found = true
			_, was := old.Value.(*ast.MappingNode)
			if _, is := e.Value.(*ast.MappingNode); is && was {
				if err := overlay(old.Value, e.Value); err != nil {
					return err
				}
				continue
			}
			old.Value = e.Value
		}
		if !found {
			m.Values = append(m.Values, e)
		}
	}
	return nil
}
