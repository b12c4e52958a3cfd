package experiment

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"gbroker/internal/form"
)

// MostBytes is the size of the largest file that is read.
const MostBytes = 256 << 10

// Experiment is what a file asks for.
type Experiment struct {
	Title  string
	Axes   []string // the fields that have several values
	Plots  []Plot
	points []point
}

// point is one combination of values.
type point struct {
	spec
	values map[string]string // of the axes, as the file has them
}

// Parse reads an experiment. The name is that of the file, for what is said of mistakes and for the files that it names.
func Parse(name string, data []byte, quick bool) (*Experiment, error) {
	e, err := parse(data, quick)
	if err == nil {
		return e, nil
	}
	var several form.Mistakes
	if errors.As(err, &several) {
		for i := range several {
			several[i].File = name
		}
		return nil, several
	}
	var m *form.Mistake
	if !errors.As(err, &m) {
		m = &form.Mistake{Text: err.Error()}
	}
	m.File = name
	return nil, m
}

func parse(data []byte, quick bool) (e *Experiment, err error) {
	if len(data) > MostBytes {
		return nil, fmt.Errorf("the file has %d bytes: at most %d are read", len(data), MostBytes)
	}
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	full, err := axesOf(root, "")
	if err != nil {
		return nil, err
	}
	if err := quicken(root, quick); err != nil {
		return nil, err
	}
	axes, err := axesOf(root, "")
	if err != nil {
		return nil, err
	}
	base, err := decode(root, axes, make([]int, len(axes)))
	if err != nil {
		return nil, err
	}
	points, err := choices(axes, base.Vary == "one")
	if err != nil {
		return nil, err
	}
	e = &Experiment{Title: base.Title, Axes: paths(axes), Plots: base.Plots}
	for _, p := range points {
		s, err := decode(root, axes, p)
		if err != nil {
			return nil, err
		}
		values := make(map[string]string)
		for k, a := range axes {
			values[a.path] = a.shown(p[k])
		}
		e.points = append(e.points, point{s, values})
	}
	return e, e.checkPlots(root, paths(append(full, axes...)))
}

// document is the one mapping of a file.
func document(data []byte) (*ast.MappingNode, error) {
	body, wrong := form.Parse("", data, 0)
	switch root := body.(type) {
	case *ast.MappingNode:
		return root, nil
	case nil:
		if wrong != nil {
			return nil, wrong
		}
		return nil, errors.New("the file is empty")
	}
	return nil, mistakeAt(body, "an experiment is fields, such as sites: and workload:")
}

// quicken takes the section quick out of the file, over the rest where that is asked for.
func quicken(root *ast.MappingNode, quick bool) error {
	for i, e := range root.Values {
		if e.Key.GetToken().Value != "quick" {
			continue
		}
		root.Values = append(root.Values[:i:i], root.Values[i+1:]...)
		if quick {
			return overlay(root, e.Value)
		}
		return nil
	}
	return nil
}

// decode reads the file with one value in the place of each list.
func decode(root *ast.MappingNode, axes []*axis, point []int) (s spec, err error) {
	for k, a := range axes {
		a.at.Value = a.values[point[k]]
	}
	s = defaults()
	if err := form.Decode("", root, &s).OrNil(); err != nil {
		return s, err
	}
	return s, s.check(root)
}
