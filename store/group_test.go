package store

import (
	"context"
	"reflect"
	"testing"

	"gbroker/grid"
)

// Groups are kept as they were last saved, in the order of their identifiers, beside a job that is
// called alike, until they are deleted.
func TestGroupsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	first, second := aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAA"), aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAB")
	mustCommit(t, j, grid.Saved(second, grid.Event{At: 1, Why: "made"}), grid.Saved(first), save(1))
	first.Coming, first.Ended, first.Removed = nil, 7, true
	mustCommit(t, j, grid.Saved(first))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	wants(t, j, *first, *second)
	if h, err := j.History(t.Context(), grid.KindGroup, string(second.ID)); err != nil || len(h) != 1 || h[0].Why != "made" {
		t.Errorf("its history: %+v, %v", h, err)
	}
	mustCommit(t, j, grid.Deleted(grid.KindGroup, string(second.ID)))
	wants(t, j, *first)
	if h, err := j.History(t.Context(), grid.KindGroup, string(second.ID)); err != nil || len(h) != 0 {
		t.Errorf("the history of one that was deleted: %+v, %v", h, err)
	}
	if len(mustLoad(t, j)) != 1 {
		t.Error("the job beside them")
	}
}

func wants(t *testing.T, j *Journal, want ...grid.Group) {
	t.Helper()
	if got, err := j.Groups(context.Background()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("groups %+v, %v; want %+v", got, err, want)
	}
}
