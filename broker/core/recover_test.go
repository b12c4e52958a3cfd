package core

import (
	"slices"
	"testing"

	"gbroker/grid"
)

// A crash between the save of an end and its Discard leaves files behind: the next
// life drops them, and none that are needed.
func TestDiscardsThatDiedAreDoneAgain(t *testing.T) {
	t.Parallel()
	const day = grid.Day
	at := func(id grid.JobID, home grid.PeerID, role grid.Role, s grid.State, p grid.HandoffPhase, ended grid.Tick) grid.Record {
		r := grid.Record{Job: grid.Job{ID: id, Home: home}, State: s, Ended: ended, Tenure: grid.Tenure{Role: role}}
		r.Handoff.Phase, r.Handoff.To = p, "other"
		return r
	}
	removed := at("a.removed", "me", grid.Owning, grid.Completed, grid.NoHandoff, day/2)
	removed.Removed = true
	c := New(Config{Self: "me"}, nil, []grid.Record{
		removed,
		at("a.fresh", "me", grid.Owning, grid.Completed, grid.NoHandoff, day),
		at("a.old", "me", grid.Owning, grid.Completed, grid.NoHandoff, day/2),
		at("a.runs", "me", grid.Owning, grid.Running, grid.NoHandoff, 0),
		at("b.fresh", "other", grid.Tombstone, grid.Completed, grid.NoHandoff, day),
		at("b.closed", "other", grid.Tombstone, grid.Completed, grid.NoHandoff, day/2),
		at("b.declined", "other", grid.Declined, grid.Moving, grid.NoHandoff, day/2),
		at("b.committed", "other", grid.Tombstone, grid.Moving, grid.Committed, 0),
		at("b.runs", "other", grid.Owning, grid.Running, grid.NoHandoff, 0),
	})
	discards := func(ev Event) (list []Discard) {
		for _, e := range c.Step(day+grid.Hour, ev) {
			if d, ok := e.(Discard); ok {
				list = append(list, d)
			}
		}
		return list
	}
	if got := discards(Boot{}); len(got) != 0 {
		t.Errorf("dropped before the control directories were read: %v", got)
	}
	if got := discards(Reconciled{All: true}); !slices.Equal(got, []Discard{{"a.fresh", true}, {"b.fresh", false}}) {
		t.Errorf("dropped at the start: %v", got)
	}
	all := []grid.JobID{"a.fresh", "a.old", "a.removed", "a.runs", "b.fresh", "b.closed", "b.declined", "b.committed", "b.runs", "z.unknown"}
	later := []Discard{{"a.removed", false}, {"b.fresh", false}, {"b.closed", false}, {"b.declined", false}}
	if got := discards(Folders{all}); !slices.Equal(got, later) {
		t.Errorf("dropped later: %v", got)
	}
	if a, is := only[SetAside](c.Step(day+2*grid.Hour, Folders{all})); !is || a != (SetAside{"z.unknown", true}) {
		t.Errorf("when it was seen twice: put aside %t: %v", is, a)
	}
}
