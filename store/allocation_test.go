package store

import (
	"context"
	"reflect"
	"testing"

	"gbroker/grid"
)

// aPart sets what belongs to co-allocation.
func aPart(j grid.Job) *grid.Job {
	j.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 3, Early: true, Survive: true}
	j.Part = &grid.Part{
		Of: idOf(6), Round: 2, Rank: 1, Sites: []grid.PartSite{{Name: "xeon16", Processes: 4}, {Name: "xeon32", Processes: 8}},
		Start: 1795000060000, Grace: 5, Within: 6, Limit: 7,
	}
	return &j
}

// Allocations are kept whole, beside the job of the same name, until they are deleted.
func TestAllocationsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	var full grid.Allocation
	fill(reflect.ValueOf(&full).Elem(), new(int))
	full.Of = idOf(1)
	empty := grid.Allocation{Of: idOf(2), State: grid.Planned}
	mustCommit(t, j, grid.Saved(&full, grid.Event{At: 1, Why: "made"}), grid.Saved(&empty), save(1))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if got, err := j.Allocations(context.Background()); err != nil || !reflect.DeepEqual(got, []grid.Allocation{full, empty}) {
		t.Errorf("%+v, %v; want\n%+v", got, err, full)
	}
	mustCommit(t, j, grid.Deleted(grid.KindAllocation, string(full.Of)))
	if got, err := j.Allocations(context.Background()); err != nil || len(got) != 1 || len(mustLoad(t, j)) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
