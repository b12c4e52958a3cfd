package external

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gbroker/grid"
)

// A job of another account waits while its folders cannot be opened, and is refused where they never can. (That the
// account can write in them then is proven in test/accounts, where there are accounts.)
func TestFoldersAreOpenedToTheAccount(t *testing.T) {
	t.Parallel()
	of := func(lent error) *System {
		return &System{config: Config{Lend: func(context.Context, grid.JobID, string) error { return lent }}}
	}
	if err := (&System{}).admit(t.Context(), grid.Submission{}, ""); err != nil {
		t.Errorf("the daemon's own account: %v", err)
	}
	if err := (&System{}).admit(t.Context(), grid.Submission{}, "bob"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("nobody opens folders here: %v", err)
	}
	for name, c := range map[string]struct{ lent, want, not error }{
		"a disk that fails":       {errors.New("input/output error"), grid.ErrUnavailable, grid.ErrInvalid},
		"an account that is none": {fmt.Errorf("%w: nobody", grid.ErrInvalid), grid.ErrInvalid, grid.ErrUnavailable},
	} {
		err := of(c.lent).admit(t.Context(), grid.Submission{}, "bob")
		if !errors.Is(err, c.want) || errors.Is(err, c.not) || !errors.Is(err, c.lent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What was accepted after a poll began is in none of its listings; what has ended, left or has no number is not missed.
func TestAcceptedSinceAPoll(t *testing.T) {
	t.Parallel()
	accepted := entry{Local: "17", memory: memory{answered: 4}}
	not := func(change func(*entry)) entry { e := accepted; change(&e); return e }
	for name, c := range map[string]struct {
		e      entry
		number uint64
		want   bool
	}{
		"while it ran":   {accepted, 4, true},
		"before a later": {accepted, 3, true},
		"before it":      {accepted, 5, false},
		"done":           {not(func(e *entry) { e.Done = true }), 4, false},
		"withdrawn":      {not(func(e *entry) { e.Withdrawn = true }), 4, false},
		"not answered":   {not(func(e *entry) { e.Local = "" }), 4, false},
	} {
		if got := since(c.e, c.number); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
