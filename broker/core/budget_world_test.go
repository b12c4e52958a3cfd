package core

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gbroker/budget"
	"gbroker/grid"
	"gbroker/plan"
)

// budgetOf is the budget of the user of the jobs of a world, as its home has it on disk.
func (s *site) budgetOf(user string) grid.Budget {
	if b, is := s.parts.beside[grid.KindBudget][user].(*grid.Budget); is {
		return *b
	}
	return grid.Budget{}
}

// What users may pay is exact through lost messages and crashes at any step: at each save as much is granted as is free, in liens
// and spent; in the end there is no lien, and what is spent is what the jobs have run at the rates that were told.
func TestBudgetsUnderFaults(t *testing.T) {
	t.Parallel()
	const granted = 100_000_000
	for range 4 {
		seed := rand.Uint64()
		w := newWorld(t, seed, faults{loss: 0.05, duplicate: 0.05, delay: 1500, batchError: 0.05, crash: 0.002}, 1, 4, 4)
		w.forParts(0, 30*grid.Second, -30*grid.Second)
		home := w.sites[0]
		home.parts.granted = map[string]grid.Amount{"u": granted}
		for _, s := range w.sites[1:] {
			s.parts.prices = &plan.Pricing{Base: 6}
		}
		w.boot()
		var ids []grid.JobID
		for n := range 4 {
			ids = append(ids, w.wide(home, fmt.Sprint(n), 1+n%2*5, true, func(j *grid.Job) {
				j.User.Name = "u"
				if j.Demand.Chunks[0].Count == 1 {
					j.Coallocation = nil
				}
			}))
		}
		if !w.run(w.now+grid.Day, func() bool { return w.allEnded(ids) }) {
			t.Fatalf("seed %d: not all end\n%s", seed, w.story(""))
		}
		w.faults = faults{}
		w.run(w.now+grid.Hour, func() bool { return len(home.budgetOf("u").Liens) == 0 && w.left() == 0 })
		var spent grid.Amount
		for id, r := range home.journal {
			if r.Job.Home == home.peer && r.State != grid.Lost && r.Started > 0 && r.Job.Coallocation == nil && r.Owner != home.peer {
				if !r.State.Terminal() {
					t.Fatalf("seed %d: %s is %v", seed, id, r.State)
				}
				limit := r.Job.Walltime
				if r.Job.Part != nil {
					limit = r.Job.Part.Limit
				}
				spent += budget.CostOf(6, r.Job.Demand.Cores(), min(r.Finished-r.Started, limit))
			}
		}
		is := home.budgetOf("u")
		if is.Granted != granted || is.InLiens() != 0 || is.Spent != spent || spent == 0 {
			t.Fatalf("seed %d: %+v, and %v was run\n%s", seed, is, spent, w.story(""))
		}
	}
}

// Who has too little has his job wait, with the reason; nothing is kept of who has no budget.
func TestBeyondTheBudget(t *testing.T) {
	t.Parallel()
	for granted, runs := range map[grid.Amount]bool{1: false, 100_000_000: true} {
		w := newWorld(t, 1, faults{}, 1, 4, 4)
		w.forParts(0, 0, 0)
		home := w.sites[0]
		home.parts.granted = map[string]grid.Amount{"u": granted}
		for _, s := range w.sites[1:] {
			s.parts.prices = &plan.Pricing{Base: 6}
		}
		w.boot()
		wide := w.wide(home, "0", 6, false, func(j *grid.Job) { j.User.Name = "u" })
		narrow := w.wide(home, "1", 3, false, func(j *grid.Job) { j.User.Name, j.Coallocation = "u", nil })
		w.run(w.now+20*grid.Minute, func() bool { return w.allEnded([]grid.JobID{wide, narrow}) })
		for _, id := range []grid.JobID{wide, narrow} {
			if r := w.home(id); (r.State == grid.Completed) != runs {
				t.Errorf("granted %d: %s is %v: %s\n%s", granted, id, r.State, r.Reason, w.story(""))
			}
		}
		if is := home.budgetOf("u"); !runs && (is.Spent != 0 || len(is.Liens) != 0) || runs && is.Spent == 0 {
			t.Errorf("granted %d: %+v", granted, is)
		}
	}
}
