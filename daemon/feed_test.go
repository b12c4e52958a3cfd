package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/broker"
	"gbroker/broker/core"
	"gbroker/grid"
)

func ids(list []changed) (out []string) {
	for _, c := range list {
		out = append(out, c.id)
	}
	return out
}

// jobChanged is a change of a job.
func jobChanged(id string) changed { return changed{entity: entity{api.KindJob, id}} }

// Who follows from any position gets each job that changed behind it, as often as it asks, and where that is not
// remembered he is told so.
func TestFeed(t *testing.T) {
	t.Parallel()
	f := newFeed()
	_, start, more, known := f.since(7, api.Position{})
	if !known || start != (api.Position{Life: 7}) {
		t.Fatalf("it begins at %v, %v", start, known)
	}
	for _, id := range []string{"a", "b", "a"} {
		f.note(7, jobChanged(id))
	}
	select {
	case <-more:
	default:
		t.Error("nobody is woken")
	}
	list, next, more, known := f.since(7, start)
	if !known || !slices.Equal(ids(list), []string{"a", "b"}) || next != (api.Position{Life: 7, Sequence: 3}) {
		t.Errorf("%v, %v, %v", ids(list), next, known)
	}
	if list, again, _, known := f.since(7, next); !known || list != nil || again != next {
		t.Errorf("nothing came, and it tells %v, %v, %v", list, again, known)
	}
	select {
	case <-more:
		t.Error("he is woken for nothing")
	default:
	}
	if list, _, _, _ := f.since(7, api.Position{Life: 7, Sequence: 2}); !slices.Equal(ids(list), []string{"a"}) {
		t.Errorf("behind the second: %v", ids(list))
	}
	for name, at := range map[string]api.Position{"another life": {Life: 6, Sequence: 1}, "the future": {Life: 7, Sequence: 4}} {
		if list, _, _, known := f.since(7, at); known || list != nil {
			t.Errorf("%s: %v", name, list)
		}
	}
	if _, next, _, known := f.since(8, next); known || next.Life != 8 {
		t.Errorf("the journal was opened anew: %v, %v", next, known)
	}
}

// Who still has the life before, when the journal was opened anew beside him, takes nothing from those who follow the new one.
func TestFeedOverLives(t *testing.T) {
	t.Parallel()
	f := newFeed()
	f.note(2, jobChanged("a"))
	_, at, _, _ := f.since(2, api.Position{})
	f.since(1, api.Position{})
	f.note(2, jobChanged("b"))
	if list, _, _, known := f.since(2, at); known && !slices.Equal(ids(list), []string{"b"}) {
		t.Errorf("b has changed, and he hears of %v and of no gap", ids(list))
	}
	f.note(1, jobChanged("c"))
	f.note(2, jobChanged("d"))
	if list, _, _, known := f.since(2, at); known && !slices.Equal(ids(list), []string{"b", "c", "d"}) {
		t.Errorf("three have changed, and he hears of %v and of no gap", ids(list))
	}
}

// However many change, and however he is interrupted, a follower sees the last change of every job, or is told that he
// cannot; and no piece is too large.
func TestFeedLosesNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	f := newFeed()
	_, at, _, _ := f.since(1, api.Position{})
	lacks, resets := map[string]bool{}, 0
	for range 400 {
		for range r.IntN(60) * r.IntN(60) {
			id := fmt.Sprint(r.IntN(2000))
			f.note(1, jobChanged(id))
			lacks[id] = true
		}
		for r.IntN(3) > 0 {
			list, next, _, known := f.since(1, at)
			if len(list) > mostAtOnce || len(f.list) > mostChanges {
				t.Fatalf("seed %d: a piece of %d, %d are remembered", seed, len(list), len(f.list))
			}
			if at = next; !known {
				clear(lacks) // he lists the jobs
				resets++
			}
			for _, c := range list {
				delete(lacks, c.id)
			}
			if known && len(list) == 0 && len(lacks) > 0 {
				t.Fatalf("seed %d: he has all, and lacks %d", seed, len(lacks))
			}
		}
	}
	for {
		list, next, _, known := f.since(1, at)
		if at = next; !known {
			clear(lacks)
			continue
		}
		for _, c := range list {
			delete(lacks, c.id)
		}
		if len(list) == 0 {
			break
		}
	}
	if len(lacks) > 0 {
		t.Errorf("seed %d, %d resets: he lacks %d", seed, resets, len(lacks))
	}
}

// What changes often takes no room from others: who is behind all of it gets each thing once, and is told of no gap.
func TestFeedRemembersWhatChangesSeldom(t *testing.T) {
	t.Parallel()
	f := newFeed()
	_, at, _, _ := f.since(1, api.Position{})
	f.note(1, jobChanged("seldom"))
	for range 3 * mostChanges {
		f.note(1, changed{entity: entity{api.KindGroup, "often"}})
	}
	list, next, _, known := f.since(1, at)
	if !known || !slices.Equal(ids(list), []string{"seldom", "often"}) || len(f.list) > mostChanges {
		t.Errorf("%v, %v, of %d that are remembered", ids(list), known, len(f.list))
	}
	if list, again, _, known := f.since(1, next); !known || list != nil || again != next {
		t.Errorf("behind it %v, %v, %v", ids(list), again, known)
	}
	for n := range 2 * mostChanges {
		f.note(1, jobChanged(fmt.Sprint(n)))
	}
	if list, _, _, known := f.since(1, at); known || list != nil {
		t.Errorf("more than it can hold: %d, %v", len(list), known)
	}
}

// Each kind is told apart, also by one name, and nobody hears of what is another user's, not even that it was removed; an
// administrator hears of all.
func TestFeedIsOnesOwn(t *testing.T) {
	t.Parallel()
	s := service{&site{self: "me", broker: broker.NewBroker(core.Config{Self: "me"}, nil, broker.Ports{}), feed: newFeed()}}
	_, at, _, _ := s.site.feed.since(0, api.Position{})
	at.Life = 1
	for _, kind := range api.Kinds {
		s.site.feed.note(1, changed{entity{kind, "x"}, grid.User{Home: "me", Name: "alice"}, true})
	}
	s.site.feed.note(1, changed{entity{api.KindReservation, "of another home"}, grid.User{Home: "other", Name: "alice"}, true})
	told := func(who api.Identity) (all []string) {
		list, _, _, _ := s.site.feed.since(1, at)
		for _, c := range list {
			if s.sees(who, c) {
				all = append(all, string(c.kind)+" "+c.id)
			}
		}
		return all
	}
	own := []string{"job x", "group x", "reservation x", "flow x"}
	if got := told(api.Identity{Name: "bob"}); got != nil {
		t.Errorf("bob hears of %q", got)
	}
	if got := told(api.Identity{Name: "alice"}); !slices.Equal(got, own) {
		t.Errorf("alice hears of %q", got)
	}
	if got := told(api.Identity{Name: "root", Administrator: true}); !slices.Equal(got, append(own, "reservation of another home")) {
		t.Errorf("an administrator hears of %q", got)
	}
}

// What the journal says of an entity is noted by its kind, with whose it is; what lies beside another is not.
func TestFeedIsOfTheJournal(t *testing.T) {
	t.Parallel()
	s := &site{self: "me", broker: broker.NewBroker(core.Config{Self: "me"}, nil, broker.Ports{}), feed: newFeed()}
	alice := grid.User{Home: "me", Name: "alice"}
	job := &grid.Record{Job: grid.Job{ID: "a.1", User: alice}}
	put := func(before grid.Entity, c grid.Change) { s.feedOn(before, c) }
	put(nil, grid.Saved(&grid.Group{ID: "a.1.all", User: alice}))
	put(nil, grid.Saved(&grid.Template{Group: "a.1.all"}))
	put(nil, grid.Saved(&grid.Budget{User: "alice"}))
	put(nil, grid.Saved(&grid.Reservation{ID: "r", Holder: alice}))
	put(job, grid.Deleted(grid.KindJob, "a.1"))
	gone := &grid.Group{ID: "a.2.all", User: alice, Removed: true}
	put(nil, grid.Saved(gone))
	put(gone, grid.Saved(gone))
	put(gone, grid.Deleted(grid.KindGroup, "a.2.all"))
	put(&grid.Reservation{ID: "s", Holder: alice}, grid.Deleted(grid.KindReservation, "s"))
	put(nil, grid.Deleted(grid.KindJob, "whose is not known"))
	record := func(role grid.Role, state grid.State) *grid.Record {
		r := &grid.Record{Job: grid.Job{ID: "b.1", User: alice}}
		r.Role, r.State = role, state
		return r
	}
	put(nil, grid.Saved(record(grid.Declined, grid.Ready))) // never listed here
	owned, left := record(grid.Owning, grid.Assigned), record(grid.Tombstone, grid.Moving)
	put(nil, grid.Saved(owned))
	put(owned, grid.Saved(left)) // for another site
	put(left, grid.Saved(left))
	put(left, grid.Deleted(grid.KindJob, "b.1"))
	s.flowChanged("a.3.flow", "alice", true)
	var got []changed
	for _, c := range s.feed.list {
		got = append(got, c.changed)
	}
	want := []changed{
		{entity{api.KindGroup, "a.1.all"}, alice, false}, {entity{api.KindReservation, "r"}, alice, false}, {entity{api.KindJob, "a.1"}, alice, true},
		{entity{api.KindGroup, "a.2.all"}, alice, true}, {entity{api.KindReservation, "s"}, alice, true},
		{entity{api.KindJob, "b.1"}, alice, false}, {entity{api.KindJob, "b.1"}, alice, true}, {entity{api.KindFlow, "a.3.flow"}, alice, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("noted is %+v", got)
	}
}
