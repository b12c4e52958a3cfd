package broker

import (
	"slices"
	"testing"

	"gbroker/grid"
)

// What the batch system holds and no record has is removed: at once where a record
// says that it must not run, after a second look where nothing is known of it.
func TestStraysAreRemoved(t *testing.T) {
	t.Parallel()
	at := func(n string, attempt uint32) grid.AttemptID {
		return grid.AttemptID{Job: jobOf(me, "a", n).ID, Epoch: grid.Epoch{Term: 1}, Attempt: attempt}
	}
	record := func(n string, s grid.Standing, state grid.State) grid.Record {
		return grid.Record{Job: jobOf(me, "a", n), Standing: s, State: state, Owner: me, Epoch: grid.Epoch{Term: 1}, Attempt: 2, Local: "l"}
	}
	c := bare(record("1", grid.Owning, grid.Running), record("2", grid.Watching, grid.Running), record("3", grid.Owning, grid.Completed))
	look := func(ids ...grid.AttemptID) (withdrawn []grid.AttemptID) {
		for _, e := range c.Step(c.now+1, Attempts{ids}) {
			if w, ok := e.(Withdraw); ok {
				withdrawn = append(withdrawn, w.ID)
			}
		}
		return withdrawn
	}
	all := []grid.AttemptID{at("1", 2), at("1", 1), at("2", 2), at("3", 2), at("9", 1)}
	if got := look(all...); !slices.Equal(got, []grid.AttemptID{at("1", 1), at("2", 2)}) {
		t.Errorf("at the first look: %v", got)
	}
	if got := look(all...); !slices.Contains(got, at("9", 1)) || slices.Contains(got, at("1", 2)) {
		t.Errorf("at the second look: %v", got)
	}
	kills := func(e Withdrawn) bool { return slices.Contains(c.Step(c.now+1, e), Effect(Kill{e.ID})) }
	if !kills(Withdrawn{ID: at("9", 1)}) {
		t.Error("a stray that has started is not ended")
	}
	if kills(Withdrawn{ID: at("9", 1), Done: true}) || kills(Withdrawn{ID: at("9", 1), Err: "no answer"}) || kills(Withdrawn{ID: at("8", 1)}) {
		t.Error("ended without its token's word, or with no reason")
	}
	look(at("7", 1))
	look()
	if got := look(at("7", 1)); len(got) > 0 {
		t.Errorf("seen, gone and seen again: %v is withdrawn at its first look", got)
	}
}
