package store

import (
	"errors"
	"reflect"
	"testing"

	"gbroker/grid"
)

// Each field of a group, a budget and an allocation is kept, and so is one where that alone is set.
func TestEachFieldIsKept(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	ctx := t.Context()
	n := 0
	var g grid.Group
	fill(reflect.ValueOf(&g).Elem(), &n)
	g.ID = aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAA").ID
	var b grid.Budget
	fill(reflect.ValueOf(&b).Elem(), &n)
	var a grid.Allocation
	fill(reflect.ValueOf(&a).Elem(), &n)
	a.State = grid.Planned
	kept := func() error {
		groups, err := j.Groups(ctx)
		budgets, err2 := j.Budgets(ctx)
		allocations, err3 := j.Allocations(ctx)
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
		for what, same := range map[string]bool{"groups": reflect.DeepEqual(groups, []grid.Group{g}), "budgets": reflect.DeepEqual(budgets, []grid.Budget{b}), "allocations": reflect.DeepEqual(allocations, []grid.Allocation{a})} {
			if !same {
				t.Errorf("%s: %+v, not %+v", what, []any{groups, budgets, allocations}, []any{g, b, a})
			}
		}
		return nil
	}
	mustCommit(t, j, grid.Saved(&g), grid.Saved(&b), grid.Saved(&a))
	if err := kept(); err != nil {
		t.Fatal(err)
	}
	whole := reflect.ValueOf(g)
	for i := range whole.NumField() {
		if name := whole.Type().Field(i).Name; name != "ID" {
			only := grid.Group{ID: g.ID}
			reflect.ValueOf(&only).Elem().Field(i).Set(whole.Field(i))
			row := toGroupRow(&only)
			if got := row.group(); !reflect.DeepEqual(got, only) {
				t.Errorf("%s alone is %+v", name, got)
			}
		}
	}
}
