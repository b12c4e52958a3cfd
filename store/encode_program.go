package store

import (
	"fmt"

	"gbroker/grid"
)

type programRow struct {
	Executable           text
	Arguments            []text `json:",omitempty"`
	Input, Output, Error text
	Directory            text
	Environment          []variableRow `json:",omitempty"`
	Parallel             string
	MemoryLimit          int64        // the limit of this name; 0 is none
	Limits               []grid.Limit `json:",omitempty"` // the others
	Dialect              grid.Dialect `json:",omitempty"`
}

type variableRow struct{ Name, Value text }

type outputRow struct {
	Path, Target text
	Required     bool
	URI          string            `json:",omitempty"`
	Flag         grid.CreationFlag `json:",omitempty"`
	Delete       bool              `json:",omitempty"`
}

type fileRow struct {
	Path   text
	Size   int64
	Mode   uint32
	Ranges []byte `json:",omitempty"` // the hashes one after the other
}

func toProgram(p grid.Program) programRow {
	memory, limits := toLimits(p)
	return programRow{
		Executable:  text(p.Executable),
		Arguments:   each(p.Arguments, func(s string) text { return text(s) }),
		Input:       text(p.Input),
		Output:      text(p.Output),
		Error:       text(p.Error),
		Directory:   text(p.Directory),
		Environment: each(p.Environment, func(v grid.Variable) variableRow { return variableRow{text(v.Name), text(v.Value)} }),
		Parallel:    p.Parallel,
		MemoryLimit: memory,
		Limits:      limits,
		Dialect:     p.Dialect,
	}
}

func (r programRow) program() grid.Program {
	return grid.Program{
		Executable:  string(r.Executable),
		Arguments:   each(r.Arguments, func(s text) string { return string(s) }),
		Input:       string(r.Input),
		Output:      string(r.Output),
		Error:       string(r.Error),
		Directory:   string(r.Directory),
		Environment: each(r.Environment, func(v variableRow) grid.Variable { return grid.Variable{Name: string(v.Name), Value: string(v.Value)} }),
		Parallel:    r.Parallel,
		Limits:      r.limits(),
		Dialect:     r.Dialect,
	}
}

func toFile(f grid.File) fileRow {
	ranges := make([]byte, 0, len(f.Ranges)*len(grid.Hash{}))
	for i := range f.Ranges {
		ranges = append(ranges, f.Ranges[i][:]...)
	}
	return fileRow{text(f.Path), f.Size, f.Mode, ranges}
}

func files(rows []fileRow) (grid.Manifest, error) {
	const width = len(grid.Hash{})
	var m grid.Manifest
	for _, r := range rows {
		f := grid.File{Path: string(r.Path), Size: r.Size, Mode: r.Mode}
		if len(r.Ranges)%width != 0 {
			return nil, fmt.Errorf("the hashes of %q are cut off", r.Path)
		}
		if n := len(r.Ranges) / width; n > 0 {
			f.Ranges = make([]grid.Hash, n)
		}
		for i := range f.Ranges {
			copy(f.Ranges[i][:], r.Ranges[i*width:])
		}
		m = append(m, f)
	}
	return m, nil
}
