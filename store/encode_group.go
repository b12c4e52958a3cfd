package store

import "gbroker/grid"

// groupRow is grid.Group; what is not set is left out.
type groupRow struct {
	ID              grid.GroupID
	Name            string
	User            grid.User
	Key             string
	Jobs            int
	Template        []byte          `json:",omitempty"`
	Entered         int             `json:",omitempty"`
	AtOnce          int             `json:",omitempty"`
	Coming          []int           `json:",omitempty"`
	Ends            []int           `json:",omitempty"` // by the number of the state
	Failing         int             `json:",omitempty"`
	Sites           []grid.SiteName `json:",omitempty"`
	Submitted       grid.Tick
	Ended           grid.Tick `json:",omitempty"`
	CancelRequested bool      `json:",omitempty"`
	Removed         bool      `json:",omitempty"`
}

func toGroupRow(g *grid.Group) groupRow {
	w := groupRow{
		ID: g.ID, Name: g.Name, User: g.User, Key: g.Key, Jobs: g.Jobs, Entered: g.Entered, AtOnce: g.AtOnce, Coming: g.Coming, Failing: g.Failing, Sites: g.Sites,
		Submitted: g.Submitted, Ended: g.Ended, CancelRequested: g.CancelRequested, Removed: g.Removed,
	}
	if g.Made() {
		w.Template = g.Template[:]
	}
	if g.Ends.Sum() > 0 {
		w.Ends = g.Ends[:]
	}
	return w
}

func (w groupRow) group() grid.Group {
	g := grid.Group{
		ID: w.ID, Name: w.Name, User: w.User, Key: w.Key, Jobs: w.Jobs, Entered: w.Entered, AtOnce: w.AtOnce, Coming: w.Coming, Failing: w.Failing, Sites: w.Sites,
		Submitted: w.Submitted, Ended: w.Ended, CancelRequested: w.CancelRequested, Removed: w.Removed,
	}
	copy(g.Template[:], w.Template)
	copy(g.Ends[:], w.Ends)
	return g
}

// templateRow is grid.Template.
type templateRow struct {
	Group      grid.GroupID
	Name       text
	Document   text
	Inputs     []fileRow `json:",omitempty"`
	Included   []text    `json:",omitempty"`
	Rerunnable bool      `json:",omitempty"`
	Lenient    bool      `json:",omitempty"`
	Anyway     bool      `json:",omitempty"`
	Walltime   grid.Tick
}

func toTemplateRow(t *grid.Template) templateRow {
	return templateRow{t.Group, text(t.Name), text(t.Document), each(t.Inputs, toFile), each(t.Included, func(s string) text { return text(s) }), t.Rerunnable, t.Lenient, t.Anyway, t.Walltime}
}

func (w templateRow) template() (grid.Template, error) {
	inputs, err := files(w.Inputs)
	return grid.Template{
		Group: w.Group, Name: string(w.Name), Document: string(w.Document), Inputs: inputs,
		Included: each(w.Included, func(t text) string { return string(t) }), Rerunnable: w.Rerunnable, Lenient: w.Lenient, Anyway: w.Anyway, Walltime: w.Walltime,
	}, err
}

// resultsRow is grid.Results; the bytes are in base64.
type resultsRow grid.Results
