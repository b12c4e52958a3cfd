package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// A scan finds, in order, exactly those who wait, are granted, and do not follow from
// one that was refused: alike, of as much, and as long or on the same side of short.
func TestScanLikeNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := []int64{1, 2, 3}
		var works []work
		var jobs []int32
		for i := range rapid.IntRange(1, 4*shortQueue).Draw(t, "jobs") {
			need := rapid.SampledFrom(kinds).Draw(t, "need")
			count := rapid.IntRange(1, 9).Draw(t, "count")
			works = append(works, work{
				pieces: []piece{{count: count, need: []int64{need}}}, cores: need * int64(count),
				limit: grid.Tick(rapid.IntRange(1, 20).Draw(t, "limit")),
			})
			jobs = append(jobs, int32(i))
		}
		q := newLineup(jobs, works)
		var gone []int
		for i := range works {
			if rapid.IntRange(0, 3).Draw(t, "left") == 0 {
				q.leave(i)
				gone = append(gone, i)
			}
		}
		if len(gone) > 1 {
			q.join(gone[0], &works[gone[0]])
			gone = gone[1:]
		}
		w := wish{
			int64(rapid.IntRange(0, 20).Draw(t, "cores")), int64(rapid.IntRange(0, 20).Draw(t, "beside")),
			grid.Tick(rapid.IntRange(0, 20).Draw(t, "short")),
		}
		look := q.look(w)
		var refused []int
		wanted := func(i int) bool {
			x := &works[i]
			return !slices.Contains(gone, i) && look.wish.grants(bound{x.cores, x.limit}) &&
				(len(works) <= shortQueue || !slices.ContainsFunc(refused, func(r int) bool {
					y := &works[r]
					sameSide := y.limit <= w.short || x.limit > w.short
					return y.alike(x) && y.cores <= x.cores && sameSide
				}))
		}
		p := -1
		for {
			want := p + 1
			for want < len(works) && !wanted(want) {
				want++
			}
			if p = q.next(); p < 0 && want < len(works) || p >= 0 && p != want {
				t.Fatalf("found %d, wanted %d", p, want)
			}
			if p < 0 {
				return
			}
			if rapid.Bool().Draw(t, "refused") {
				q.refused(&works[p], true)
				refused = append(refused, p)
			} else {
				look.wish.cores = max(look.wish.cores-works[p].cores/4, 0)
			}
		}
	})
}
