package store

import "gbroker/grid"

// Rows of parts that jobs have since a later version. What is not set is left out, so that
// the row of a job without them is as it was.

type choiceRow struct {
	Only   []grid.SiteName `json:",omitempty"`
	Not    []grid.SiteName `json:",omitempty"`
	Prefer []grid.SiteName `json:",omitempty"`
}

func toChoice(c grid.Choice) choiceRow { return choiceRow(c) }

func (r choiceRow) choice() grid.Choice { return grid.Choice(r) }

type termsRow struct {
	NotBefore grid.Tick         `json:",omitempty"`
	Deadline  grid.Tick         `json:",omitempty"`
	Priority  int               `json:",omitempty"`
	Held      bool              `json:",omitempty"`
	After     []grid.Dependency `json:",omitempty"`
	Fee       int64             `json:",omitempty"`
	Notify    []grid.Notice     `json:",omitempty"`
}

type warningRow struct {
	Signal int
	Before grid.Tick
	Leader bool `json:",omitempty"`
}

type aboutRow struct {
	Description string   `json:",omitempty"`
	Application string   `json:",omitempty"`
	Version     string   `json:",omitempty"`
	Annotations []string `json:",omitempty"`
	Projects    []string `json:",omitempty"`
}

type sourceRow struct {
	Path text
	URI  string
	Flag grid.CreationFlag `json:",omitempty"`
}

func toSource(s grid.Source) sourceRow { return sourceRow{text(s.Path), s.URI, s.Flag} }

func (r sourceRow) source() grid.Source {
	return grid.Source{Path: string(r.Path), URI: r.URI, Flag: r.Flag}
}

func toOutput(o grid.Output) outputRow {
	return outputRow{text(o.Path), text(o.Target), o.Required, o.URI, o.Flag, o.Delete}
}

func (r outputRow) output() grid.Output {
	return grid.Output{Path: string(r.Path), Target: string(r.Target), Required: r.Required, URI: r.URI, Flag: r.Flag, Delete: r.Delete}
}

// toLimits takes the memory out of the limits: it has a field of its own since before there
// were others.
func toLimits(p grid.Program) (memory int64, others []grid.Limit) {
	for _, l := range p.Limits {
		if l.Name == grid.LimitMemory {
			memory = l.Value
		} else {
			others = append(others, l)
		}
	}
	return memory, others
}

func (r programRow) limits() []grid.Limit {
	p := grid.Program{Limits: r.Limits}
	if r.MemoryLimit > 0 {
		p.SetLimit(grid.LimitMemory, r.MemoryLimit)
	}
	return p.Limits
}
