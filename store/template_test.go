package store

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// What the jobs of a sweep are made of, and what became of them, is kept with every field, also where its texts are no UTF-8.
func TestWhatLiesBesideAGroupIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	group := aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAA").ID
	template := &grid.Template{
		Group: group, Name: "sweep\xff.jsdl", Document: "<\xfe/>", Inputs: example(1).Job.Inputs, Included: []string{"a\xff"},
		Rerunnable: true, Lenient: true, Anyway: true, Walltime: grid.Hour,
	}
	v := reflect.ValueOf(*template)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tried", v.Type().Field(i).Name)
		}
	}
	pages := []*grid.Results{{Group: group, Page: 0, Of: []byte{1, 0, 255, 7}}, {Group: group, Page: 1, Of: []byte{2}}}
	mustCommit(t, j, grid.Saved(template), grid.Saved(pages[0]), grid.Saved(pages[1]))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if got, err := j.Templates(t.Context()); err != nil || !reflect.DeepEqual(got, []grid.Template{*template}) {
		t.Errorf("templates %+v, %v", got, err)
	}
	if got, err := j.Results(t.Context()); err != nil || !reflect.DeepEqual(got, []grid.Results{*pages[0], *pages[1]}) {
		t.Errorf("results %+v, %v", got, err)
	}
	mustCommit(t, j, grid.Deleted(grid.KindTemplate, string(group)), grid.Deleted(grid.KindResults, grid.ResultsKey(group, 0)))
	if got, err := j.Templates(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("templates after they were deleted %+v, %v", got, err)
	}
	if got, err := j.Results(t.Context()); err != nil || len(got) != 1 || got[0].Page != 1 {
		t.Errorf("results after the first were deleted %+v, %v", got, err)
	}
}

// one is an entity of each kind that is read as a list.
func one() []grid.Entity {
	id := aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAA")
	return []grid.Entity{
		id, &grid.Template{Group: id.ID}, &grid.Results{Group: id.ID},
		&grid.Reservation{ID: "r1", Holder: grid.User{Name: "alice"}, State: grid.Bound}, &grid.Budget{User: "ann"}, &grid.Allocation{Of: idOf(1)},
	}
}

// lists are how the records of a kind are read.
func lists(j *Journal) map[grid.Kind]func(ctx context.Context) (int, error) {
	return map[grid.Kind]func(ctx context.Context) (int, error){
		grid.KindGroup:       func(ctx context.Context) (int, error) { l, err := j.Groups(ctx); return len(l), err },
		grid.KindTemplate:    func(ctx context.Context) (int, error) { l, err := j.Templates(ctx); return len(l), err },
		grid.KindResults:     func(ctx context.Context) (int, error) { l, err := j.Results(ctx); return len(l), err },
		grid.KindReservation: func(ctx context.Context) (int, error) { l, err := j.Reservations(ctx); return len(l), err },
		grid.KindBudget:      func(ctx context.Context) (int, error) { l, err := j.Budgets(ctx); return len(l), err },
		grid.KindAllocation:  func(ctx context.Context) (int, error) { l, err := j.Allocations(ctx); return len(l), err },
	}
}

// A record that lies under the name of another is told by both, whatever its kind, though its checksum is right.
func TestARecordUnderAnotherNameIsTold(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	for _, e := range one() {
		kind, key := e.Entity()
		mustCommit(t, j, grid.Saved(e))
		read := lists(j)[kind]
		if n, err := read(t.Context()); n != 1 || err != nil {
			t.Errorf("%s: %d are read, %v", kinds[kind].name, n, err)
		}
		w, err := kinds[kind].encode(j, e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.sql.save.ExecContext(t.Context(), kinds[kind].name, "other", w.user, w.state, string(w.record)); err != nil {
			t.Fatal(err)
		}
		if _, err := read(t.Context()); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "other") {
			t.Errorf("%s: under the name of another: %v", kinds[kind].name, err)
		}
	}
}

// A record of one kind is never written as one of another.
func TestNoRecordIsWrittenAsAnother(t *testing.T) {
	t.Parallel()
	for name, k := range kinds {
		for _, e := range append(one(), &grid.SiteState{}, example(1)) {
			if is, _ := e.Entity(); is == name {
				continue
			}
			if _, err := k.encode(&Journal{}, e); err == nil {
				t.Errorf("a %T is written as a %s", e, k.name)
			}
		}
	}
}

// Administrators find records by whose they are and what they do, without reading them.
func TestRecordsAreFoundByUserAndState(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	var changes []grid.Change
	for _, e := range one() {
		changes = append(changes, grid.Saved(e))
	}
	mustCommit(t, j, append(changes, save(1))...)
	rows, err := j.reader.QueryContext(t.Context(), `SELECT kind FROM entity WHERE user = 'alice' AND (state <> '' OR kind = 'group') ORDER BY kind`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var kind string
		if err := rows.Scan(&kind); err != nil {
			t.Fatal(err)
		}
		found = append(found, kind)
	}
	if want := []string{"group", "job", "reservation"}; !slices.Equal(found, want) || rows.Err() != nil {
		t.Errorf("of alice are %v, %v; want %v", found, rows.Err(), want)
	}
}

// Of a job that has ended, or is owned elsewhere for good, no document is kept in memory.
func TestDocumentsOfEndedJobsLeaveTheMemory(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	for what, end := range map[string]func(r *grid.Record){
		"ended":     func(r *grid.Record) { r.State = grid.Completed },
		"tombstone": func(r *grid.Record) { r.Role = grid.Tombstone },
		"declined":  func(r *grid.Record) { r.Role = grid.Declined },
	} {
		c := save(1)
		mustCommit(t, j, c)
		if _, kept := j.written[idOf(1)]; !kept {
			t.Fatal("the document of one that goes on is not kept")
		}
		r := example(1)
		end(r)
		mustCommit(t, j, grid.Saved(r))
		if _, kept := j.written[idOf(1)]; kept {
			t.Errorf("%s: its document is kept", what)
		}
	}
}
