package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
)

// drawn is a random history, and a snapshot of jobs by the same users.
func drawn(r *rand.Rand) (*RunTimes, Snapshot) {
	var times RunTimes
	trait := func() Trait { return Trait{Who: r.Int64N(4), Cores: 1 << r.IntN(3), Limit: 1000 << r.IntN(3)} }
	for i := range 60 {
		t := trait()
		times.Ended(t, grid.Tick(i), 1+grid.Tick(r.Int64N(int64(t.Limit))))
	}
	s := Snapshot{At: 5000}
	for range 1 + r.IntN(6) {
		s.Running = append(s.Running, Running{Start: grid.Tick(4000 + r.IntN(1000)), Trait: trait()})
	}
	for range 1 + r.IntN(6) {
		s.Waiting = append(s.Waiting, Waiting{Trait: trait()})
	}
	return &times, s
}

// In the draws that have a view a job has run times of that view alone, none twice while there are others; and more than it has run.
func TestDrawsHaveAllViewsAndTimes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 200 {
		times, s := drawn(r)
		const n = 7
		b := times.At(s.At, nil)
		draws := b.Draw(&s, n)
		for i, j := range s.Running {
			believed := make([]grid.Tick, Views*n)
			b.Believe(j.Trait, s.At-j.Start, believed)
			taken := map[int]int{}
			for k, d := range draws {
				v := k % Views
				of := believed[v*n : (v+1)*n]
				if !slices.Contains(of, d.Running[i]) || d.Running[i] <= s.At-j.Start {
					t.Fatalf("draw %d has %d for job %d, which ran for %d: view %d has %v", k, d.Running[i], i, s.At-j.Start, v, of)
				}
			}
			for k := range n {
				taken[Turn(uint64(i), k, n)]++
			}
			if len(taken) != n {
				t.Fatalf("of %d turns %v are taken", n, taken)
			}
		}
	}
}

// A job keeps its draws when others come and go, and the next of its kind takes those of one that went.
func TestDrawsStayAJobs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(rand.Uint64(), 2))
	for range 100 {
		times, s := drawn(r)
		b := times.At(s.At, nil)
		before := b.Draw(&s, 5)
		more := s
		other := Trait{Who: 77, Cores: 1, Limit: 1000}
		more.Running = append([]Running{{Start: 4500, Trait: other}}, s.Running...)
		more.Waiting = append([]Waiting{{Trait: other}}, s.Waiting...)
		for k, d := range b.Draw(&more, 5) {
			if !slices.Equal(d.Running[1:], before[k].Running) || !slices.Equal(d.Waiting[1:], before[k].Waiting) {
				t.Fatalf("draw %d: %v, beside another job %v", k, before[k], d)
			}
		}
	}
}

// Like jobs do not share their fate: of many that are believed to run either short or long, each draw has some of both.
func TestLikeJobsAreDrawnApart(t *testing.T) {
	t.Parallel()
	job := Trait{Who: 1, Cores: 1, Limit: 1000}
	var times RunTimes
	for i := range 40 {
		times.Ended(job, grid.Tick(i), 10+980*grid.Tick(i%2))
	}
	s := Snapshot{At: 100}
	for range 40 {
		s.Waiting = append(s.Waiting, Waiting{Trait: job})
	}
	for k, d := range times.At(s.At, nil).Draw(&s, 7) {
		short := 0
		for _, run := range d.Waiting {
			if run < 100 {
				short++
			}
		}
		if short < 8 || short > 32 {
			t.Errorf("draw %d: %d of 40 run short", k, short)
		}
	}
}

// One draw is the median; and what is known is so in all draws.
func TestOneDrawAndWhatIsKnown(t *testing.T) {
	t.Parallel()
	times, s := drawn(rand.New(rand.NewPCG(rand.Uint64(), 3)))
	b := times.At(s.At, nil)
	d := b.Draw(&s, 1)
	if len(d) != 1 || d[0].Running[0] != b.Median(s.Running[0].Trait, s.At-s.Running[0].Start) || d[0].Waiting[0] != b.Median(s.Waiting[0].Trait, 0) {
		t.Errorf("one draw: %v", d)
	}
	s.Running[0].Trait.Known, s.Waiting[0].Trait.Known = 1, 300
	for _, d := range b.Draw(&s, 3) {
		if d.Running[0] != s.At-s.Running[0].Start+1 || d.Waiting[0] != 300 {
			t.Errorf("known: %v", d)
		}
	}
	if n := len(b.Draw(&s, 1000)); n != maxDraws {
		t.Errorf("%d draws", n)
	}
}
