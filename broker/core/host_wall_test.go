package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/reserve"
	"gbroker/wire"
)

// A wall clock that was set since Core began does not move what is reserved: the batch system is asked for the instants
// that its holder means, and what it lists is what the book has. What it made before is lost to its holder.
func TestReservationsFollowTheWallClock(t *testing.T) {
	t.Parallel()
	for _, set := range []grid.Tick{0, 999, -grid.Second, grid.Hour + 400, -2 * grid.Hour} {
		now, drift := grid.Tick(1_000_000), set
		cfg := signer(me, "a")
		cfg.Reserving = reserve.Rules{Offered: true, Limit: grid.Hour}
		h := hosted(t, cfg, now)
		seq := uint64(1)
		turn := func(ev Event) (made []Effect) {
			t.Helper()
			for h.Post(ev); h.Ready(); h.Written(seq) {
				now++
				w, _ := h.Turn(func() Reading { return Reading{Now: now, Drift: drift} })
				made = append(made, w.Effects...)
				seq++
			}
			return made
		}
		start := grid.Tick(1_060_000)
		turn(ReservationsListed{})
		effects := turn(Message{From: her, Message: wire.Reserve{
			ID: "r1", Holder: grid.User{Home: her, Name: "alice"}, For: grid.NewJobID("b", "01J00000000000000000000000"), What: grid.NodesReserved,
			Nodes: []grid.NodeName{"n1"}, From: start, Until: start + grid.Minute, Length: grid.Minute, Limit: grid.Hour, Sent: now,
		}})
		at := slices.IndexFunc(effects, func(e Effect) bool { _, is := e.(Reserve); return is })
		if at < 0 {
			t.Fatalf("set by %d: nothing is reserved: %+v", set, effects)
		}
		made := effects[at].(Reserve).Reservation
		place := made.Place()
		if far := place.Start - start - set; far > setWithin || far < -setWithin || place.Start%grid.Second != 0 || place.End-place.Start != grid.Minute {
			t.Errorf("set by %d: it is reserved from %d to %d", set, place.Start, place.End)
		}
		state := func(of []Effect) (is grid.ReservationState) {
			for _, e := range of {
				if s, saves := e.(Save); saves && s.Change.Kind == grid.KindReservation && s.Change.Record != nil {
					is = s.Change.Record.(*grid.Reservation).State
				}
			}
			return is
		}
		if is := state(turn(Reserved{ID: "r1", Place: place})); is != grid.Tentative {
			t.Errorf("set by %d: made, it is %v", set, is)
		}
		listed := ReservationsListed{All: []HeldReservation{{ID: "r1", Place: place}}}
		if is := state(turn(listed)); is != 0 {
			t.Errorf("set by %d: listed, it is %v", set, is)
		}
		drift = set - grid.Minute
		if set < 0 {
			drift = set + grid.Minute
		}
		if is := state(turn(listed)); is != grid.ReservationLost {
			t.Errorf("set by %d and then to %d: listed, it is %v", set, drift, is)
		}
	}
}

// The wrapper of a part waits for the start of its reservation by the wall clock.
func TestAPartStartsByTheWallClock(t *testing.T) {
	t.Parallel()
	h := &Host{ahead: grid.Hour}
	job := grid.Job{Part: &grid.Part{Start: grid.Minute}}
	made := h.byWall([]Effect{Launch{Submission: grid.Submission{Job: job}}, Launch{}})
	if got := made[0].(Launch).Submission.Job.Part.Start; got != grid.Hour+grid.Minute || job.Part.Start != grid.Minute {
		t.Errorf("it starts at %d, and its record says %d", got, job.Part.Start)
	}
}
