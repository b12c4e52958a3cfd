package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

func ids(list []changed) (out []grid.JobID) {
	for _, c := range list {
		out = append(out, c.job)
	}
	return out
}

// Who follows from any position gets each job that changed behind it, as often as it asks, and where that is not
// remembered he is told so.
func TestFeed(t *testing.T) {
	t.Parallel()
	f := newFeed()
	_, start, more, known := f.since(7, api.Position{})
	if !known || start != (api.Position{Life: 7}) {
		t.Fatalf("it begins at %v, %v", start, known)
	}
	for _, id := range []grid.JobID{"a", "b", "a"} {
		f.note(7, changed{job: id})
	}
	select {
	case <-more:
	default:
		t.Error("nobody is woken")
	}
	list, next, more, known := f.since(7, start)
	if !known || !slices.Equal(ids(list), []grid.JobID{"a", "b"}) || next != (api.Position{Life: 7, Sequence: 3}) {
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
	if list, _, _, _ := f.since(7, api.Position{Life: 7, Sequence: 2}); !slices.Equal(ids(list), []grid.JobID{"a"}) {
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
	f.note(2, changed{job: "a"})
	_, at, _, _ := f.since(2, api.Position{})
	f.since(1, api.Position{})
	f.note(2, changed{job: "b"})
	if list, _, _, known := f.since(2, at); known && !slices.Equal(ids(list), []grid.JobID{"b"}) {
		t.Errorf("b has changed, and he hears of %v and of no gap", ids(list))
	}
	f.note(1, changed{job: "c"})
	f.note(2, changed{job: "d"})
	if list, _, _, known := f.since(2, at); known && !slices.Equal(ids(list), []grid.JobID{"b", "c", "d"}) {
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
	lacks, resets := map[grid.JobID]bool{}, 0
	for range 400 {
		for range r.IntN(60) * r.IntN(60) {
			id := grid.JobID(fmt.Sprint(r.IntN(2000)))
			f.note(1, changed{job: id})
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
				delete(lacks, c.job)
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
			delete(lacks, c.job)
		}
		if len(list) == 0 {
			break
		}
	}
	if len(lacks) > 0 {
		t.Errorf("seed %d, %d resets: he lacks %d", seed, resets, len(lacks))
	}
}

// Nobody hears of another user's jobs, not even that they were removed.
func TestFeedIsOnesOwn(t *testing.T) {
	t.Parallel()
	theirs := changed{job: "a", user: grid.User{Name: "alice"}, removed: true}
	if c, told, err := (service{&site{}}).change(context.Background(), api.Identity{Name: "bob"}, theirs); told || err != nil {
		t.Errorf("bob hears %+v, %v", c, err)
	}
}
