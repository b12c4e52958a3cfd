package reserve

import (
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
)

var alice = grid.User{Home: "m", Name: "alice"}

// held is a book with one reservation that the batch system has.
func held(t *testing.T, rules Rules) *Book {
	t.Helper()
	b := New(rules, nil)
	at := grid.Place{Nodes: []grid.NodeName{"n1", "n2"}, Start: span(100), End: span(200)}
	if _, why := b.Reserve(span(1), "site", Ask{ID: "a", Holder: alice, Kind: grid.NodesReserved, Place: at}); why != nil {
		t.Fatal(why)
	}
	b.Made(span(1), "a", at, nil)
	if _, why := b.Confirm(span(2), "a", "m", 0); why != nil {
		t.Fatal(why)
	}
	return b
}

func state(b *Book, id grid.ReservationID) grid.ReservationState {
	r, _ := b.Get(id)
	return r.State
}

// What the batch system lists decides what is lost, what is over there, and what is in no book.
func TestListed(t *testing.T) {
	t.Parallel()
	at := grid.Place{Nodes: []grid.NodeName{"n1", "n2"}, Start: span(100), End: span(200)}
	for name, c := range map[string]struct {
		before func(b *Book)
		has    map[grid.ReservationID]grid.Place
		down   map[grid.ReservationID]string
		want   grid.ReservationState
		stray  []grid.ReservationID
		at     grid.ReservationID // the batch system is under way
	}{
		"as it is": {has: map[grid.ReservationID]grid.Place{"a": at}, want: grid.Confirmed},
		"begun a little earlier": {
			has: map[grid.ReservationID]grid.Place{"a": {Nodes: at.Nodes, Start: span(99), End: at.End}}, want: grid.Confirmed,
		},
		"under way":         {at: "a", want: grid.Confirmed},
		"a stray under way": {at: "b", has: map[grid.ReservationID]grid.Place{"a": at, "b": at}, want: grid.Confirmed},
		"gone":              {want: grid.ReservationLost},
		"shorter":           {has: map[grid.ReservationID]grid.Place{"a": {Nodes: at.Nodes, Start: at.Start, End: span(150)}}, want: grid.ReservationLost},
		"fewer":             {has: map[grid.ReservationID]grid.Place{"a": {Nodes: at.Nodes[:1], Start: at.Start, End: at.End}}, want: grid.ReservationLost},
		"others": {
			has: map[grid.ReservationID]grid.Place{"a": {Nodes: []grid.NodeName{"n1", "n3"}, Start: at.Start, End: at.End}}, want: grid.ReservationLost,
		},
		"a node is down": {has: map[grid.ReservationID]grid.Place{"a": at}, down: map[grid.ReservationID]string{"a": "n2"}, want: grid.ReservationLost},
		"a stray":        {has: map[grid.ReservationID]grid.Place{"a": at, "z": at, "b": at}, want: grid.Confirmed, stray: []grid.ReservationID{"b", "z"}},
		"a node is down under its job": {
			before: func(b *Book) { start(b) }, has: map[grid.ReservationID]grid.Place{"a": at}, down: map[grid.ReservationID]string{"a": "n2"}, want: grid.Active,
		},
		"gone with its job": {before: func(b *Book) { start(b) }, want: grid.Released},
		"being changed": {
			before: func(b *Book) {
				b.Change(span(3), "a", "m", Wish{Number: 1, Place: grid.Place{Nodes: at.Nodes, Start: span(300), End: span(400)}})
			}, want: grid.Confirmed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := held(t, Rules{Offered: true})
			if c.before != nil {
				c.before(b)
			}
			if stray := b.Listed(span(10), c.has, c.down, func(id grid.ReservationID) bool { return id == c.at }); !slices.Equal(stray, c.stray) {
				t.Errorf("strays %v, want %v", stray, c.stray)
			}
			if got := state(b, "a"); got != c.want {
				t.Errorf("it is %v, not %v", got, c.want)
			}
		})
	}
}

func start(b *Book) {
	b.Bind(span(3), "a", "j", alice)
	b.Started(span(4), "a", "j")
}

// What is over is ended in the batch system, and counts there until that says so or lists it no more; and
// is remembered for a while.
func TestOverIsEnded(t *testing.T) {
	t.Parallel()
	ask := Ask{ID: "b", Holder: alice, Kind: grid.NodesReserved, Place: grid.Place{Nodes: []grid.NodeName{"n2"}, Start: span(150), End: span(160)}}
	for name, end := range map[string]func(*Book){
		"its word": func(b *Book) { b.Ended("a") },
		"a list":   func(b *Book) { b.Listed(span(10), nil, nil, func(grid.ReservationID) bool { return false }) },
	} {
		t.Run(name, func(t *testing.T) {
			b := held(t, Rules{Offered: true})
			b.Ended("a") // not yet
			b.Release(span(5), "a", "m", "given up")
			if _, why := b.Reserve(span(5), "site", ask); why == nil || !why.MayPass() {
				t.Errorf("its nodes are given before the batch system has ended it: %v", why)
			}
			end(b)
			if _, why := b.Reserve(span(6), "site", ask); why != nil {
				t.Errorf("its nodes are not given: %v", why)
			}
			b.Pass(span(5) + defaultKeep - 1)
			if _, known := b.Get("a"); !known {
				t.Error("it is forgotten")
			}
			b.Changed()
			b.Pass(span(5) + defaultKeep)
			if _, gone := b.Changed(); !slices.Contains(gone, "a") {
				t.Errorf("it is remembered: %v", gone)
			}
		})
	}
}

// What a holder has heard is no more than there is, and nobody else hears it.
func TestAcknowledged(t *testing.T) {
	t.Parallel()
	b := held(t, Rules{Offered: true})
	r, _ := b.Get("a")
	for _, c := range []struct {
		by   grid.PeerID
		seq  uint64
		told uint64
	}{{"other", r.Seq, 0}, {"m", r.Seq + 1, 0}, {"m", r.Seq, r.Seq}, {"m", r.Seq - 1, r.Seq}} {
		b.Acknowledged("a", c.by, c.seq)
		if got, _ := b.Get("a"); got.Told != c.told {
			t.Errorf("after %d from %s: %d", c.seq, c.by, got.Told)
		}
	}
}

// A member that asks and gives up again and again is bounded, and so is one that gives up what is not there.
func TestRemembered(t *testing.T) {
	t.Parallel()
	b := New(Rules{Offered: true}, nil)
	for i := range 2 * maxRemembered {
		b.Release(1, grid.ReservationID(fmt.Sprint("x", i)), "m", "")
	}
	if n := len(b.All()); n != maxRemembered {
		t.Errorf("%d are remembered", n)
	}
	ask := Ask{ID: "b", Holder: alice, Kind: grid.NodesReserved, Place: grid.Place{Nodes: []grid.NodeName{"n2"}, Start: span(150), End: span(160)}}
	if _, why := b.Reserve(1, "site", ask); why == nil || !why.MayPass() {
		t.Errorf("one more: %v", why)
	}
	ask.Holder.Home = "other"
	if _, why := b.Reserve(1, "site", ask); why != nil {
		t.Errorf("one of another: %v", why)
	}
}
