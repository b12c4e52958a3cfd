package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// What is no hold, or too many of them, is not taken; what was not told is not released.
func TestHoldRefused(t *testing.T) {
	t.Parallel()
	c := NewCounted(4, Policy{Kind: EASY})
	for _, h := range []Hold{{From: 1, To: 1, Cores: 1}, {From: 2, To: 1, Cores: 1}, {From: 0, To: 1}, {From: 0, To: 1, Cores: -1}, {From: 0, To: 1, Cores: 5}, {From: 0, To: latestHold + 1, Cores: 1}} {
		if c.Hold(h) {
			t.Errorf("%+v is taken", h)
		}
	}
	if c.Release(Hold{From: 0, To: 1, Cores: 1}) {
		t.Error("a hold that was not told is released")
	}
	big := NewCounted(gone-1, Policy{Kind: ConsCompress})
	h := Hold{From: 5, To: 9, Cores: gone - 1}
	if !big.Hold(h) || big.Hold(h) || !big.Release(h) || !big.Hold(h) {
		t.Error("the cores of all holds are not bounded, or not given back")
	}
}

// What a fast pass knew before a hold was told is of no use when the hold begins. Of 4
// cores job 0 has 2, job 1 wants 3 at 100; the hold takes what was over there, and job
// 2, which came after it began, must wait.
func TestHoldBegins(t *testing.T) {
	t.Parallel()
	jobs := []logJob{{run: 100, limit: 100, cores: 2}, {run: 10, limit: 10, cores: 3}, {submit: 6, run: 500, limit: 500, cores: 1}}
	holds := []logHold{{Hold{From: 5, To: 300, Cores: 1}, 1, never}}
	got := runCounted(4, Policy{Kind: EASY}, jobs, holds, false)
	if want := []grid.Tick{0, 100, 110}; !slices.Equal(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

// Of 3 cores job 0 has one, and overruns its limit of 1. So job 1, which wants all, is
// always expected to start at the next instant, and job 2 would be in its way; until at
// 3 a hold begins, before whose end job 1 can not start.
func TestOverrunBesideHold(t *testing.T) {
	t.Parallel()
	jobs := []logJob{{run: 8, limit: 1, cores: 1}, {run: 1, limit: 1, cores: 3}, {run: 2, limit: 2, cores: 1}}
	holds := []logHold{{Hold{From: 3, To: 5, Cores: 1}, 0, never}}
	for _, p := range []Policy{{Kind: EASY}, {Kind: EASY, Reservations: 2}, {Kind: EASYSJBF}, {Kind: ConsRebuild}} {
		got := runCounted(3, p, jobs, holds, false)
		if want := []grid.Tick{0, 8, 3}; !slices.Equal(got, want) {
			t.Errorf("%v: starts %v, want %v", p, got, want)
		}
	}
}

// Under ConsCompress a new hold displaces in the order of the queue. Of 4 cores job 0
// has all until 10; jobs 1, 2 and 3 want 2 each for 10 and are to start at 10, 10 and 20.
// The hold takes 2 from 12 on: job 1 keeps its place, job 2 gets the next one, and job 3,
// where 2 are left, keeps its own.
func TestHoldDisplaces(t *testing.T) {
	t.Parallel()
	jobs := []logJob{{run: 10, limit: 10, cores: 4}, {run: 10, limit: 10, cores: 2}, {run: 10, limit: 10, cores: 2}, {run: 10, limit: 10, cores: 2}}
	holds := []logHold{{Hold{From: 12, To: 40, Cores: 2}, 3, never}}
	got := runCounted(4, Policy{Kind: ConsCompress}, jobs, holds, false)
	if want := []grid.Tick{0, 10, 30, 20}; !slices.Equal(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

// Headroom from which something is taken is that of the steps from which it is taken.
func TestHeadroomTake(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s steps
		s.reset(3, 9)
		for range rapid.IntRange(0, 5).Draw(t, "taken") {
			from := grid.Tick(rapid.IntRange(3, 12).Draw(t, "from"))
			s.take(s.holding(from), from, rapid.Int32Range(1, 3).Draw(t, "cores"), grid.Tick(rapid.IntRange(1, 9).Draw(t, "for")))
		}
		r := s.room(3, nil)
		cores, d := rapid.Int32Range(1, 9).Draw(t, "cores"), grid.Tick(rapid.IntRange(1, 12).Draw(t, "for"))
		if got, want := r.fits(cores, 3+d), s.fits(3, cores, d); got != want {
			t.Fatalf("%v: %d fit for %d: %v, in %v: %v", r, cores, d, got, s.points, want)
		}
		if many, few, limit := r.outline(3); r.fits(cores, 3+d) && (cores > many || cores > few && d > limit) {
			t.Fatalf("%v: %d fit for %d, and are outside of (%d, %d, %d)", r, cores, d, many, few, limit)
		}
		r.take(cores, 3+d)
		s.take(s.first, 3, cores, d)
		if want := s.room(3, nil); !slices.Equal(r, want) {
			t.Fatalf("%v are left, of the steps %v", r, want)
		}
	})
}
