package store

import (
	"context"
	"fmt"

	"gbroker/grid"
)

// budgetRow is grid.Budget; what is not set is left out.
type budgetRow struct {
	User    string
	Granted grid.Amount `json:",omitempty"`
	Spent   grid.Amount `json:",omitempty"`
	Liens   []lienRow   `json:"Holds,omitempty"` // so called in each journal
	Lapsed  bool        `json:",omitempty"`
}

type lienRow struct {
	Job    grid.JobID
	Amount grid.Amount
	Rate   float64
	Cores  int
	Back   bool `json:",omitempty"`
}

func toBudgetRow(b *grid.Budget) budgetRow {
	return budgetRow{b.User, b.Granted, b.Spent, each(b.Liens, func(h grid.Lien) lienRow { return lienRow(h) }), b.Lapsed}
}

func (w budgetRow) budget() grid.Budget {
	return grid.Budget{User: w.User, Granted: w.Granted, Spent: w.Spent, Liens: each(w.Liens, func(h lienRow) grid.Lien { return grid.Lien(h) }), Lapsed: w.Lapsed}
}

func encodeBudgetRow(_ *Journal, e grid.Entity) (w row, err error) {
	b, is := e.(*grid.Budget)
	if !is {
		return w, fmt.Errorf("a budget's record is no %T", e)
	}
	w.user = b.User
	w.record, err = encode(toBudgetRow(b))
	return w, err
}

// Budgets reads what the users here may pay.
func (j *Journal) Budgets(ctx context.Context) (list []grid.Budget, err error) {
	err = entities(ctx, j, "budget", func(key string, w budgetRow) error {
		b := w.budget()
		list = append(list, b)
		return belongs(&b, key)
	})
	return list, err
}
