package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

func believe(r *RunTimes, t Trait, elapsed grid.Tick, n int) []grid.Tick {
	into := make([]grid.Tick, n)
	all := make([]grid.Tick, n*Views)
	r.At(0, nil).Believe(t, elapsed, all)
	copy(into, all) // by the first view
	return into
}

func TestRunTimesByHand(t *testing.T) {
	t.Parallel()
	var r RunTimes
	job := Trait{Who: 1, Cores: 4, Limit: 100}
	if got := believe(&r, job, 0, 2); !slices.Equal(got, []grid.Tick{100, 100}) {
		t.Errorf("knowing nothing: %v, want the limit", got)
	}
	r.Ended(job, 0, 30)
	r.Ended(job, 0, 10)
	// 10 weighs 1, and 30 weighs 0.8: of nine draws five are 10.
	if got := believe(&r, job, 0, 9); !slices.Equal(got, []grid.Tick{10, 10, 10, 10, 10, 30, 30, 30, 30}) {
		t.Errorf("of one user: %v", got)
	}
	if got := believe(&r, job, 10, 3); !slices.Equal(got, []grid.Tick{30, 30, 30}) {
		t.Errorf("after 10: %v, want 30", got)
	}
	if got := believe(&r, job, 40, 1); got[0] != 100 {
		t.Errorf("longer than any: %v, want the limit", got)
	}
	if got := believe(&r, job, 100, 1); got[0] != 101 {
		t.Errorf("beyond the limit: %v, want the next instant", got)
	}
	// Of another user, with twice the limit: in proportion.
	if got := believe(&r, Trait{Who: 2, Cores: 1, Limit: 200}, 0, 9); !slices.Equal(got, []grid.Tick{20, 20, 20, 20, 20, 60, 60, 60, 60}) {
		t.Errorf("of a stranger: %v", got)
	}
}

// However many users come, those of late are known, and the others are forgotten.
func TestRunTimesForgetUsers(t *testing.T) {
	t.Parallel()
	var r RunTimes
	job := func(who int64) Trait { return Trait{Who: who, Cores: 1, Limit: 100} }
	r.Ended(job(-1), 0, 70)
	const n = 3 * keptUsers
	for who := range int64(n) {
		r.Ended(job(who), 0, 10)
		if who == keptUsers-2 {
			r.Ended(job(-1), 0, 70)
		}
	}
	if len(r.by) > keptUsers {
		t.Errorf("%d users are kept", len(r.by))
	}
	if r.of(n-1) == nil || r.of(n-keptUsers/2) == nil {
		t.Error("users of late are forgotten")
	}
	if got := believe(&r, job(-1), 0, 1); got[0] != 10 {
		t.Errorf("of a user who is long gone: %v, want what all had of late", got)
	}
	var kept RunTimes
	for who := range int64(keptUsers) {
		kept.Ended(job(who), 0, 10)
	}
	kept.Ended(job(0), 0, 20)
	kept.Ended(job(-1), 0, 10)
	if kept.of(0) == nil || kept.of(1) != nil || len(kept.by) != keptUsers/2+1 {
		t.Errorf("%d users are left, 0 with %v and 1 with %v", len(kept.by), kept.of(0), kept.of(1))
	}
}

func TestRunTimesHoldTheirBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r RunTimes
		draw := func() Trait {
			return Trait{Who: rapid.Int64Range(0, 3).Draw(t, "who"), Cores: rapid.Int32Range(1, 3).Draw(t, "cores"), Limit: grid.Tick(rapid.IntRange(1, 50).Draw(t, "limit"))}
		}
		for range rapid.IntRange(0, 200).Draw(t, "ended") {
			j := draw()
			r.Ended(j, 0, grid.Tick(rapid.IntRange(0, int(j.Limit)).Draw(t, "run")))
		}
		j := draw()
		elapsed := grid.Tick(rapid.IntRange(0, 60).Draw(t, "elapsed"))
		got := believe(&r, j, elapsed, 7)
		if !slices.IsSorted(got) || got[0] <= elapsed || got[6] > max(j.Limit, elapsed+1) {
			t.Fatalf("%+v after %d: %v", j, elapsed, got)
		}
		for who, kept := range r.by {
			if len(kept.ended) > keptEach*forgetAfter {
				t.Fatalf("%d ended jobs of %d are kept", len(kept.ended), who)
			}
		}
	})
}
