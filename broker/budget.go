package broker

import (
	"cmp"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// Budgets are those of the users here, as they were last made durable.
func (b *Broker) Budgets() []grid.Budget {
	var list []grid.Budget
	for _, is := range b.budgets.list() {
		list = append(list, *is)
	}
	slices.SortFunc(list, func(a, b grid.Budget) int { return cmp.Compare(a.User, b.User) })
	return list
}

// SetBudgets says what the users here are granted in all.
func (b *Broker) SetBudgets(granted map[string]grid.Amount) {
	b.Post(core.BudgetsChanged{Granted: granted})
}
