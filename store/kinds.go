package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gbroker/grid"
)

// row is a record in the form in which it is written.
type row struct {
	user, state string // for those who look for it: whose it is at its home, and what it does
	record      []byte
	document    []byte // what does not change of it; nil of a kind that has none, or if it is as it was
}

// kind is how records of a kind are written. To add one is to add a line to kinds, and a number
// to grid.
type kind struct {
	name     string
	document bool // it has one
	encode   func(j *Journal, e grid.Entity) (row, error)
}

var kinds = map[grid.Kind]kind{
	grid.KindJob:   {"job", true, encodeJobRow},
	grid.KindSite:  {"site", false, encodeSiteRow},
	grid.KindGroup: {"group", false, encodeGroupRow},
	// What lies beside a group, so that it is not written again with each of its jobs.
	grid.KindTemplate: {"template", false, encodeTemplateRow},
	grid.KindResults:  {"results", false, encodeResultsRow},

	grid.KindReservation: {"reservation", false, encodeReservationRow},
	// What lies beside a co-allocated job.
	grid.KindAllocation: {"allocation", false, encodeAllocationRow},
	grid.KindBudget:     {"budget", false, encodeBudgetRow},
}

// withDocuments are the names of the kinds that have documents, as a list of SQL.
func withDocuments() string {
	var names []string
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[k].document {
			names = append(names, quoted(kinds[k].name))
		}
	}
	return strings.Join(names, ", ")
}

// nameOf is what a kind is called in the tables.
func nameOf(k grid.Kind) (string, error) {
	if known, ok := kinds[k]; ok {
		return known.name, nil
	}
	return "", fmt.Errorf("nothing of kind %d is kept", k)
}

func encodeJobRow(j *Journal, e grid.Entity) (w row, err error) {
	r, is := e.(*grid.Record)
	if !is {
		return w, fmt.Errorf("a job's record is no %T", e)
	}
	w.user, w.state = r.Job.User.Name, r.State.String()
	if w.record, err = encodeRecord(r); err == nil && !j.same(r) {
		w.document, err = encodeJob(&r.Job)
	}
	return w, err
}

func encodeSiteRow(_ *Journal, e grid.Entity) (w row, err error) {
	s, is := e.(*grid.SiteState)
	if !is {
		return w, fmt.Errorf("a site's record is no %T", e)
	}
	w.record, err = encode(siteRow(*s))
	return w, err
}

func encodeGroupRow(_ *Journal, e grid.Entity) (w row, err error) {
	g, is := e.(*grid.Group)
	if !is {
		return w, fmt.Errorf("a group's record is no %T", e)
	}
	w.user = g.User.Name
	w.record, err = encode(toGroupRow(g))
	return w, err
}

func encodeTemplateRow(_ *Journal, e grid.Entity) (w row, err error) {
	t, is := e.(*grid.Template)
	if !is {
		return w, fmt.Errorf("a template's record is no %T", e)
	}
	w.record, err = encode(toTemplateRow(t))
	return w, err
}

func encodeResultsRow(_ *Journal, e grid.Entity) (w row, err error) {
	r, is := e.(*grid.Results)
	if !is {
		return w, fmt.Errorf("the record of results is no %T", e)
	}
	w.record, err = encode(resultsRow(*r))
	return w, err
}
