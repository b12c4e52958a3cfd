package daemon

import (
	"context"
	"fmt"
	"math"

	"github.com/goccy/go-yaml/ast"

	"gbroker/api"
	"gbroker/grid"
)

// maxBudgets bounds the users who have one.
const maxBudgets = 10_000

// budgets reads what each user is granted in all.
func (d *document) budgets(n ast.Node, c *Config) {
	c.Budgets = map[string]grid.Amount{}
	amount := func(s string) (string, error) {
		_, err := readAmount(s)
		return s, err
	}
	d.pairs(n, "budgets", "{alice: 1000}", maxBudgets, userName, amount, func(user, text string) {
		c.Budgets[user], _ = readAmount(text) // it was read before
	})
}

func readAmount(s string) (grid.Amount, error) {
	v, err := within(0, grid.MaxAmountOf, formatNumber, number)(s)
	if err != nil {
		return 0, fmt.Errorf("a budget: %w", err)
	}
	return grid.Amount(math.Round(v * 1e6)), nil
}

// Budgets are that of a user; for administrators those of all.
func (s service) Budgets(_ context.Context, who api.Identity) ([]grid.Budget, error) {
	var list []grid.Budget
	for _, b := range s.site.broker.Budgets() {
		if who.Administrator || b.User == who.Name {
			list = append(list, b)
		}
	}
	return list, nil
}
