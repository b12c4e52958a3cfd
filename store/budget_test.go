package store

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"gbroker/grid"
)

// Budgets are kept whole until they are deleted.
func TestBudgetsAreKept(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	full := grid.Budget{User: "ann", Granted: 10_000_000, Spent: 1, Liens: []grid.Lien{{Job: "a.1", Amount: 2_500_001, Rate: 0.5, Cores: 4}}}
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

// Journals call the liens of a budget Holds, as they did before there was a better word.
func TestLiensOfAnOlderJournal(t *testing.T) {
	t.Parallel()
	const text = `{"User":"ann","Granted":10,"Holds":[{"Job":"a.1","Amount":4,"Rate":0.5,"Cores":4}]}`
	var w budgetRow
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	b := w.budget()
	if got, err := json.Marshal(toBudgetRow(&b)); err != nil || string(got) != text || b.InLiens() != 4 {
		t.Errorf("%s, %v, %+v", got, err, b)
	}
}
