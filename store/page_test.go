package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// A list reads pages: in order, of one user or of all, without what may be large.
func TestPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := mustOpen(t, t.TempDir())
	for n := range 10 {
		c := save(n)
		of(c).Job.User.Name = []string{"anna", "bob"}[n%2]
		term(&of(c).Job)
		of(c).Role = []grid.Role{grid.Owning, grid.Tombstone}[n%2]
		mustCommit(t, j, c)
	}
	page := func(after grid.JobID, user string, limit int) (ids []grid.JobID) {
		t.Helper()
		list, err := j.Page(ctx, after, user, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			ids = append(ids, r.Job.ID)
			if r.Job.Inputs != nil || r.Job.Sources != nil || r.Job.Program.Arguments != nil || r.Outputs != nil {
				t.Errorf("%s has what no list shows", r.Job.ID)
			}
			full, err := j.Record(ctx, r.Job.ID)
			if err != nil || full.Job.Inputs == nil {
				t.Fatalf("%+v %v", full, err)
			}
			full.Job.Program, full.Job.Inputs, full.Job.Outputs = grid.Program{}, nil, nil
			full.Job.Sources, full.Job.Bring, full.Job.About = nil, nil, grid.About{}
			full.Outputs, full.Certificates = nil, nil
			if r.Role != full.Role || full.Role == 0 || !reflect.DeepEqual(r, full) { // the role decides whether it is listed at all
				t.Errorf("listed as\n%+v\nand is\n%+v", r, full)
			}
		}
		return ids
	}
	if got := page("", "", 100); len(got) != 10 {
		t.Errorf("all: %v", got)
	}
	if got := page("", "bob", 2); !reflect.DeepEqual(got, []grid.JobID{idOf(1), idOf(3)}) {
		t.Errorf("the first two of one user: %v", got)
	}
	if got := page(idOf(3), "bob", 2); !reflect.DeepEqual(got, []grid.JobID{idOf(5), idOf(7)}) {
		t.Errorf("the next two: %v", got)
	}
	if got := page(idOf(9), "", 2); got != nil {
		t.Errorf("after the last: %v", got)
	}
	if _, err := j.Record(ctx, idOf(99)); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a job that is not there: %v", err)
	}
	stop := errors.New("enough")
	n := 0
	if err := j.Each(ctx, func(grid.Record) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("stopped after %d: %v", n, err)
	}
}

// The jobs of one user are found without reading those of all.
func TestPagesAreIndexed(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	rows, err := j.reader.Query(`EXPLAIN QUERY PLAN SELECT key FROM entity WHERE kind = 'job' AND user = ? AND key > ? ORDER BY key LIMIT 5`, "anna", "")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var a, b, c int
		var text string
		if err := rows.Scan(&a, &b, &c, &text); err != nil {
			t.Fatal(err)
		}
		plan += fmt.Sprintln(text)
	}
	if !strings.Contains(plan, "entity_user") || strings.Contains(plan, "SCAN") || strings.Contains(plan, "SORT") {
		t.Error(plan)
	}
}

// Some records are read at once: those that there are, by an index.
func TestSomeRecords(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	ids := []grid.JobID{"nobody"}
	for n := range 5 {
		c := save(n)
		mustCommit(t, j, c)
		ids = append(ids, of(c).Job.ID)
	}
	got, err := j.Records(t.Context(), ids[:4])
	if err != nil || len(got) != 3 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	for _, r := range got {
		if one, err := j.Record(t.Context(), r.Job.ID); err != nil || !reflect.DeepEqual(r, one) {
			t.Errorf("%+v is alone %+v, %v", r, one, err)
		}
	}
	if none, err := j.Records(t.Context(), nil); err != nil || len(none) > 0 {
		t.Errorf("of none %d, %v", len(none), err)
	}
	rows, err := j.reader.Query(`EXPLAIN QUERY PLAN SELECT record, text FROM entity LEFT JOIN document USING (kind, key) WHERE entity.kind = 'job' AND entity.key IN (SELECT value FROM json_each(?))`, `["a"]`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var text string
		if err := rows.Scan(&a, &b, &c, &text); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(text, "SCAN entity") || strings.HasPrefix(text, "SCAN document") {
			t.Error(text)
		}
	}
}

// What was written of jobs that ended is not kept in memory.
func TestNothingIsKeptOfTheEnded(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	for n := range 20 {
		c := save(n)
		of(c).State = grid.Completed
		mustCommit(t, j, c)
	}
	if len(j.written) != 0 {
		t.Errorf("%d documents are kept", len(j.written))
	}
}
