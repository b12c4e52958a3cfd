package plan

import (
	"cmp"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// A scan finds, in order, exactly those who wait, are granted, and do not follow from
// one that was refused: alike, of as much, and as long or on the same tread.
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
		var w wish
		for range rapid.IntRange(1, 3).Draw(t, "treads") {
			w = append(w, tread{grid.Tick(rapid.IntRange(0, 20).Draw(t, "from")), int64(rapid.IntRange(0, 20).Draw(t, "cores"))})
		}
		slices.SortFunc(w, func(a, b tread) int { return cmp.Compare(a.from, b.from) })
		w[0].from = 0
		for i := 1; i < len(w); i++ {
			w[i].cores = min(w[i].cores, w[i-1].cores)
		}
		even := rapid.Bool().Draw(t, "even")
		look := q.look(w)
		var refused []int
		wanted := func(i int) bool {
			x := &works[i]
			return !slices.Contains(gone, i) && look.wish.grants(bound{x.cores, x.limit}) &&
				(len(works) <= shortQueue || !slices.ContainsFunc(refused, func(r int) bool {
					y := &works[r]
					asLong := y.limit <= x.limit || even && w.tread(y.limit).from <= x.limit
					return y.alike(x) && y.cores <= x.cores && asLong
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
				q.refused(&works[p], even)
				refused = append(refused, p)
			} else {
				for i := range look.wish {
					look.wish[i].cores = max(look.wish[i].cores-works[p].cores/4, 0)
				}
			}
		}
	})
}
