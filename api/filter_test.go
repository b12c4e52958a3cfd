package api

import (
	"reflect"
	"testing"

	"gbroker/grid"
)

// A filter survives the way, and each of its parts refuses what does not fit.
func TestFilter(t *testing.T) {
	t.Parallel()
	id := grid.JobID("here.01M7XVNVT1HF2GHP4JW23GK3FT.2")
	group, _ := id.Group()
	r := grid.Record{Job: grid.Job{ID: id, Name: "mesh/a-1", User: grid.User{Name: "alice"}}, State: grid.Running, Submitted: 1_700_000_000_123}
	r.Owner = "peer"
	name := func(grid.PeerID) string { return "there" }
	fits := Filter{States: []grid.State{grid.Ready, grid.Running}, Site: "there", Name: "mesh*-?", Since: 1_700_000_000_123, Group: group, User: "alice"}
	back, err := readFilter(fits.query())
	if err != nil || !reflect.DeepEqual(back, fits) {
		t.Errorf("%+v came back as %+v, %v", fits, back, err)
	}
	if !fits.Passes(&r, name) || !new(Filter).Passes(&r, name) {
		t.Error("what fits does not pass")
	}
	for what, change := range map[string]func(*Filter){
		"state": func(f *Filter) { f.States = f.States[:1] },
		"site":  func(f *Filter) { f.Site = "here" },
		"name":  func(f *Filter) { f.Name = "mesh" },
		"since": func(f *Filter) { f.Since++ },
		"group": func(f *Filter) { f.Group = "here.01M7XVNVT1HF2GHP4JW23GK3FX.all" },
		"user":  func(f *Filter) { f.User = "bob" },
	} {
		f := fits
		change(&f)
		if f.Passes(&r, name) {
			t.Errorf("another %s passes", what)
		}
	}
}
