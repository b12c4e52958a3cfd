package store

import (
	"context"
	"reflect"
	"testing"

	"gbroker/grid"
)

// Reservations are kept as they were last saved, with every field, until they are deleted.
func TestReservationsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	full := &grid.Reservation{
		ID: "r1", Kind: grid.NodesReserved, Site: "here", Holder: grid.User{Home: "there", Name: "alice"}, For: idOf(3),
		Nodes: []grid.NodeName{"n1", "n2"}, Start: 1000, End: 2000, Bandwidth: 5, Peer: "p", State: grid.Bound, Reason: "bound", Until: 6, Grace: 7, Came: 8, Early: true,
		Price: 1.5, Details: []grid.Variable{{Name: "port", Value: "\xff"}}, Seq: 8, Told: 7, Number: 9, Made: 10, Ended: 11, Cores: 12,
		Holding: grid.Changing, WasCores: 4, WasPrice: 0.5, Was: &grid.Place{Nodes: []grid.NodeName{"n1"}, Start: 1000, End: 1500},
	}
	v := reflect.ValueOf(*full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tried", v.Type().Field(i).Name)
		}
	}
	mustCommit(t, j, grid.Saved(full, grid.Event{At: 1, Why: "made"}), grid.Saved(&grid.Reservation{ID: "r2"}))
	mustCommit(t, j, grid.Deleted(grid.KindReservation, "r2"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if got, err := j.Reservations(context.Background()); err != nil || !reflect.DeepEqual(got, []grid.Reservation{*full}) {
		t.Errorf("reservations %+v, %v", got, err)
	}
	if h, err := j.History(t.Context(), grid.KindReservation, "r1"); err != nil || len(h) != 1 || h[0].Why != "made" {
		t.Errorf("its history: %+v, %v", h, err)
	}
}

// What a reservation had before it was changed is told apart from what a version did not keep: that one is believed to have had
// what it has.
func TestWhatAReservationWas(t *testing.T) {
	t.Parallel()
	is := &grid.Reservation{ID: "r1", Holding: grid.Changing, Cores: 8, Price: 2.5, Was: &grid.Place{Start: 1000, End: 1500}}
	row := toReservationRow(is)
	if got := row.reservation(); !reflect.DeepEqual(got, *is) {
		t.Errorf("it had nothing, and is read as %+v", got)
	}
	row.WasCores = nil
	if got := row.reservation(); got.WasCores != 8 || got.WasPrice != 2.5 {
		t.Errorf("of the version before it is read as %+v", got)
	}
	row.WasPrice = 1
	if got := row.reservation(); got.WasCores != 0 || got.WasPrice != 1 {
		t.Errorf("one that tells its price is read as %+v", got)
	}
	row.WasPrice, row.Was = 0, nil
	if got := row.reservation(); got.WasCores != 0 || got.WasPrice != 0 {
		t.Errorf("one that was never changed is read as %+v", got)
	}
}
