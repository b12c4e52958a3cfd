package api

import (
	"context"
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Budget is what a user may pay at sites with prices, in their unit: granted is free, in liens and spent.
type Budget struct {
	User    string   `json:"user"`
	Granted *float64 `json:"granted"` // null: nothing is granted any more, and he may pay anything
	Free    *float64 `json:"free"`    // below 0 where less was granted afterwards
	InLiens float64  `json:"in_liens"`
	Spent   float64  `json:"spent"`
	Liens   []Lien   `json:"liens"`
}

// Lien is what is kept back for one job, or one part of a job over several sites.
type Lien struct {
	Job    grid.JobID `json:"job"`
	Amount float64    `json:"amount"`
	Rate   float64    `json:"rate"` // per core and hour
	Cores  int        `json:"cores"`
	Back   bool       `json:"given_back,omitempty"` // the job is LOST: nothing is kept back, and it is charged if its result comes after all
}

func budgetOf(b *grid.Budget) Budget {
	w := Budget{User: b.User, InLiens: b.InLiens().Units(), Spent: b.Spent.Units(), Liens: make([]Lien, len(b.Liens))}
	if !b.Lapsed {
		granted, free := b.Granted.Units(), b.Free().Units()
		w.Granted, w.Free = &granted, &free
	}
	for i, h := range b.Liens {
		w.Liens[i] = Lien{h.Job, h.Amount.Units(), h.Rate, h.Cores, h.Back}
	}
	return w
}

func (s *Server) budgets(r *request) error {
	all, err := s.service.Budgets(r.Context(), r.who)
	if err != nil {
		return fmt.Errorf("listing the budgets: %w", err)
	}
	list := make([]Budget, len(all))
	for i := range all {
		list[i] = budgetOf(&all[i])
	}
	s.answer(r.w, http.StatusOK, list)
	return nil
}

// Budgets lists that of the user, if he has one; for administrators those of all.
func (c *Client) Budgets(ctx context.Context) (list []Budget, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/budgets", nil, &list, c.config.Answer)
	return list, err
}
