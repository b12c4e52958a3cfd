// Package budget keeps what the users of a site may pay at sites with prices. It is pure.
//
//	granted = free + liens + spent
//
// A lien is placed on what a job can cost before it goes to a site that costs anything: its rate, times its cores, times its limit. When it
// has ended it is charged for what it has run, never more than its lien, and the rest is free again. The lien of one that is lost is given
// back, and remembered: if the job comes to an end after all it is charged, though nothing may be free by then. A user without a budget may
// pay anything, and there are no liens on what is his.
package budget

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gbroker/grid"
)

// Book liens the budgets of the users of a site. It is not safe for concurrent use.
type Book struct {
	all     map[string]*grid.Budget
	changed map[string]bool // since Changed was asked
}

// New is a book with the budgets of the journal.
func New(list []grid.Budget) *Book {
	b := &Book{all: map[string]*grid.Budget{}, changed: map[string]bool{}}
	for _, is := range list {
		is.Liens = slices.Clone(is.Liens)
		slices.SortStableFunc(is.Liens, func(x, y grid.Lien) int { return rank(x) - rank(y) }) // older versions mixed them
		b.all[is.User] = &is
	}
	return b
}

// Grant says what each user has been granted in all. Who is not named has no budget any more; what he has spent is kept for the
// time when he is named again.
func (b *Book) Grant(granted map[string]grid.Amount) {
	for user, amount := range granted {
		is := b.all[user]
		if is == nil {
			is = &grid.Budget{User: user}
			b.all[user] = is
		} else if is.Granted == amount && !is.Lapsed {
			continue
		}
		is.Granted, is.Lapsed, b.changed[user] = amount, false, true
	}
	for user, is := range b.all {
		if _, named := granted[user]; !named && !is.Lapsed {
			is.Granted, is.Lapsed, b.changed[user] = 0, true, true
			b.tidy(is)
		}
	}
}

// tidy forgets who has no budget and has spent nothing.
func (b *Book) tidy(is *grid.Budget) {
	if is.Lapsed && is.Spent == 0 && len(is.Liens) == 0 {
		delete(b.all, is.User)
		b.changed[is.User] = true
	}
}

// Limited tells that a user has a budget; all others may pay anything.
func (b *Book) Limited(user string) bool {
	is := b.all[user]
	return is != nil && !is.Lapsed
}

// Get is a copy of the budget of a user.
func (b *Book) Get(user string) (is grid.Budget, known bool) {
	if of := b.all[user]; of != nil {
		is = *of
		is.Liens = slices.Clone(of.Liens)
		return is, true
	}
	return is, false
}

// Users are those of whom the book knows something.
func (b *Book) Users() []string { return slices.Sorted(maps.Keys(b.all)) }

// Changed are the budgets that have changed since it was asked last, and those that are gone.
func (b *Book) Changed() (changed []grid.Budget, gone []string) {
	if len(b.changed) == 0 {
		return nil, nil
	}
	for _, user := range slices.Sorted(maps.Keys(b.changed)) {
		if is, known := b.Get(user); known {
			changed = append(changed, is)
		} else {
			gone = append(gone, user)
		}
	}
	clear(b.changed)
	return changed, gone
}

// maxLiens bounds the liens of one user at a time: the record of a budget has them all.
const maxLiens = 1000

// Short is the refusal of what costs more than is free.
func Short(cost, free grid.Amount) *grid.Refusal {
	return &grid.Refusal{Kind: grid.Temporary, Reason: "the budget of its user does not cover it", Asked: cost.String(), Available: free.String()}
}

// CostOf is what so many cores cost at a rate for so long, rounded up.
func CostOf(rate float64, cores int, span grid.Tick) grid.Amount {
	cost := math.Ceil(rate * float64(cores) * span.Seconds() / 3600 * 1e6)
	return grid.Amount(min(max(cost, 0), math.MaxInt64/4))
}

// PlaceLien keeps back what a job can cost, instead of its lien before; or says that this is not there.
func (b *Book) PlaceLien(user string, job grid.JobID, rate float64, cores int, span grid.Tick) *grid.Refusal {
	is := b.all[user]
	if is == nil || is.Lapsed {
		return nil
	}
	cost, i := CostOf(rate, cores, span), index(is, job)
	free := is.Free()
	if i >= 0 && !is.Liens[i].Back {
		free += is.Liens[i].Amount
	}
	if cost > max(free, 0) {
		return Short(cost, max(free, 0))
	}
	switch {
	case i < 0 && cost == 0:
		return nil
	case i < 0 && len(is.Liens) == maxLiens && !is.Liens[0].Back:
		return &grid.Refusal{Kind: grid.Temporary, Reason: "the budget of its user has as many liens as it may", Asked: "1", Available: "0"}
	}
	liens := slices.Clone(is.Liens) // records that were saved share it
	switch {
	case i >= 0:
		liens = slices.Delete(liens, i, i+1)
	case len(liens) == maxLiens:
		liens = liens[1:] // what was given back the longest ago
	}
	if cost > 0 {
		liens = append(liens, grid.Lien{Job: job, Amount: cost, Rate: rate, Cores: cores}) // behind all that was given back
	}
	is.Liens, b.changed[user] = liens, true
	return nil
}

// GiveBack frees the lien of a job that is lost, and remembers what it could cost until it is settled. Those come first, in the order
// in which they were lost.
func (b *Book) GiveBack(user string, job grid.JobID) {
	is := b.all[user]
	if is == nil {
		return
	}
	i := index(is, job)
	if i < 0 || is.Liens[i].Back {
		return
	}
	l, liens := is.Liens[i], slices.Delete(slices.Clone(is.Liens), i, i+1)
	l.Back = true
	first := slices.IndexFunc(liens, func(l grid.Lien) bool { return !l.Back })
	if first < 0 {
		first = len(liens)
	}
	is.Liens, b.changed[user] = slices.Insert(liens, first, l), true
}

// Settle charges a job for what it has run, once; the rest of its lien is free again.
func (b *Book) Settle(user string, job grid.JobID, ran grid.Tick) {
	is := b.all[user]
	if is == nil {
		return
	}
	if i := index(is, job); i >= 0 {
		l := is.Liens[i]
		is.Spent += min(l.Amount, CostOf(l.Rate, l.Cores, max(ran, 0)))
		is.Liens, b.changed[user] = slices.Delete(slices.Clone(is.Liens), i, i+1), true
		b.tidy(is)
	}
}

// rank puts what was given back first: it makes room when there is none.
func rank(l grid.Lien) int {
	if l.Back {
		return 0
	}
	return 1
}

func index(is *grid.Budget, job grid.JobID) int {
	return slices.IndexFunc(is.Liens, func(l grid.Lien) bool { return l.Job == job })
}

// Check says which invariants do not hold.
func (b *Book) Check() error {
	var errs []error
	for user, is := range b.all {
		seen, back := map[grid.JobID]bool{}, true
		for _, l := range is.Liens {
			if seen[l.Job] || l.Amount <= 0 {
				errs = append(errs, fmt.Errorf("%s: %v for %s", user, l.Amount, l.Job))
			}
			if l.Back && !back {
				errs = append(errs, fmt.Errorf("%s: what was given back for %s is not first", user, l.Job))
			}
			seen[l.Job], back = true, back && l.Back
		}
		if is.Spent < 0 || is.Granted != is.Free()+is.InLiens()+is.Spent {
			errs = append(errs, fmt.Errorf("%s: %+v", user, *is))
		}
	}
	return errors.Join(errs...)
}
