package plan

import (
	"math/rand/v2"
	"testing"
	"time"

	"gbroker/grid"
)

// naiveProfile is what is free at each instant.
type naiveProfile struct {
	free  []int64
	gives []bool
}

func (s *naiveProfile) change(from, to grid.Tick, more int64) {
	for t := from; t < to; t++ {
		s.free[t] += more
	}
	if more > 0 {
		s.gives[from] = true
	} else {
		s.gives[to] = true
	}
}

// next is the first instant from which so much is free for so long; what is free at the end stays so.
func (s *naiveProfile) next(from grid.Tick, n int64, d grid.Tick) grid.Tick {
	start := grid.Tick(never)
	for t := from; int(t) < len(s.free); t++ {
		switch {
		case s.free[t] < n:
			start = never
		case start == never:
			start = t
		}
		if start != never && t-start >= d-1 {
			return start
		}
	}
	return start
}

func (s *naiveProfile) after(t grid.Tick) grid.Tick {
	for t++; int(t) < len(s.gives); t++ {
		if s.gives[t] {
			return t
		}
	}
	return never
}

// The profile of a site with many blocks of steps says what one says that looks at each instant, also where blocks were cut in two and as time goes on.
func TestProfileLikeTheNaive(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	const end, cores = 2000, 40
	for range 4 {
		naive := naiveProfile{make([]int64, end), make([]bool, end+1)}
		steps := []profileStep{{at: 0, free: cores}}
		for at := grid.Tick(0); at < end; {
			last := &steps[len(steps)-1]
			for ; at < min(end, last.at+grid.Tick(1+r.IntN(30))); at++ {
				naive.free[at] = last.free
			}
			if at < end {
				steps = append(steps, profileStep{at, int64(r.IntN(cores)), true})
				naive.gives[at] = true
			}
		}
		s := newProfile(steps)
		now := grid.Tick(0)
		for range 400 {
			from := now + grid.Tick(r.IntN(int(end-now-1)))
			to := from + 1 + grid.Tick(r.IntN(int(end-from-1)))
			more := int64(r.IntN(9) - 4)
			if more != 0 {
				s.change(from, to, more)
				naive.change(from, to, more)
			}
			if r.IntN(8) == 0 {
				now += grid.Tick(r.IntN(int(end-now) / 20))
				if got := s.advance(now); got != naive.free[now] {
					t.Fatalf("seed %d: at %d, which is now, %d are free, not %d", seed, now, got, naive.free[now])
				}
			}
			at, n, d := now+grid.Tick(r.IntN(int(end-now-1))), int64(r.IntN(cores+4)-2), grid.Tick(1+r.IntN(300))
			if got := s.at(at); got != naive.free[at] {
				t.Fatalf("seed %d: at %d %d are free, not %d", seed, at, got, naive.free[at])
			}
			copied := s.clone()
			if got, want := copied.next(at, n, d), naive.next(at, n, d); got != want {
				t.Fatalf("seed %d: from %d on, %d are free for %d from %d on, not %d", seed, at, n, d, got, want)
			}
			if got, want := s.after(at), naive.after(at); got != want && !(want == end && got == never) {
				t.Fatalf("seed %d: after %d something is given back at %d, not %d", seed, at, got, want)
			}
			copied.change(at, at+1, 1)
			if got := s.at(at); got != naive.free[at] {
				t.Fatalf("seed %d: a change of a copy is one of the original", seed)
			}
		}
		if len(s.blocks) < 6 {
			t.Fatalf("seed %d: %d blocks are too few to tell", seed, len(s.blocks))
		}
	}
}
