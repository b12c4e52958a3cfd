package store

import (
	"context"
	"reflect"
	"testing"

	"gbroker/grid"
)

// Budgets are kept whole until they are deleted.
func TestBudgetsAreKept(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	full := grid.Budget{User: "ann", Granted: 10_000_000, Spent: 1, Holds: []grid.BudgetHold{{Job: "a.1", Amount: 2_500_001, Rate: 0.5, Cores: 4}}}
	empty := grid.Budget{User: "bob", Lapsed: true}
	if err := j.Commit(context.Background(), []grid.Change{grid.Saved(&full), grid.Saved(&empty)}); err != nil {
		t.Fatal(err)
	}
	if got, err := j.Budgets(context.Background()); err != nil || !reflect.DeepEqual(got, []grid.Budget{full, empty}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := j.Commit(context.Background(), []grid.Change{grid.Deleted(grid.KindBudget, "ann")}); err != nil {
		t.Fatal(err)
	}
	if got, err := j.Budgets(context.Background()); err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}
