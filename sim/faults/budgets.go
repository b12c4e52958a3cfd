package faults

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// Budgets, and what must hold of them, in a third of the histories that have jobs over several sites; there all sites have prices:
//
//	S16  by each journal, at each save, what a user was granted is what is free, in liens and spent; nothing is free below 0,
//	     and no job has two liens, or one when it has ended; what was given back is of one that is LOST

// grantedTo is what each user of these histories may pay: enough for all that he has.
const grantedTo grid.Amount = 1e15

// budgeted tells that this history has prices and budgets.
func (w *world) budgeted() bool { return w.offering() && w.o.Seed%3 == 0 }

func (w *world) prices() *plan.Pricing {
	if !w.budgeted() {
		return nil
	}
	return &plan.Pricing{Base: 5}
}

func (w *world) granted() map[string]grid.Amount {
	if !w.budgeted() {
		return nil
	}
	return map[string]grid.Amount{"alice": grantedTo, "erin": grantedTo}
}

// loadBudgets is what a new Core is told of budgets.
func (d *disk) loadBudgets() (list []grid.Budget) {
	for _, e := range d.beside { // in any order: each is of one user
		if b, is := e.(*grid.Budget); is {
			list = append(list, *b)
		}
	}
	return list
}

// budgetSaved checks S16.
func (t *truth) budgetSaved(s *site, b *grid.Budget) {
	if b.Granted != b.Free()+b.InLiens()+b.Spent || b.Free() < 0 || b.Spent < 0 {
		s.w.violate("S16", "", "%s saves a budget that is not right: %+v", s.name(), *b)
	}
	for i, h := range b.Liens {
		if slices.ContainsFunc(b.Liens[:i], func(o grid.Lien) bool { return o.Job == h.Job }) || h.Amount <= 0 {
			s.w.violate("S16", h.Job, "%s has two liens, or one of nothing, for one job: %+v", s.name(), *b)
		}
	}
	if b.Spent > 0 {
		s.w.result.Coverage["spent of a budget"]++
	}
}

// leftBudgets: no job that has ended has a lien.
func (w *world) leftBudgets(s *site) {
	for _, b := range s.disk.loadBudgets() {
		for _, h := range b.Liens {
			if r := s.disk.records[h.Job]; r == nil || r.State.Terminal() && !(h.Back && r.State == grid.Lost) {
				w.violate("S16", h.Job, "%s has ended, and %s still has a lien of %v for it (given back: %t)", h.Job, s.name(), h.Amount, h.Back)
			}
		}
	}
}
