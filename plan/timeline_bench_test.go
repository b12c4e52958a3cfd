package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"gbroker/grid"
)

// crowdedTimeline is the conservative plan of 1,000 running and 10,000 waiting jobs on
// 5,000 nodes: each waiting job is placed, in order, at the earliest time.
func crowdedTimeline(b *testing.B, place func(t *Timeline, need Vector, d grid.Tick) *Timeline) *Timeline {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	t, err := NewTimeline(0, grid.Resource{Name: "cores", Amount: 5000})
	if err != nil {
		b.Fatal(err)
	}
	limit := func() grid.Tick { return grid.Tick(60+r.IntN(86400)) * grid.Second }
	for range 1_000 {
		t = place(t, Vector{5}, limit())
	}
	for range 10_000 {
		t = place(t, Vector{1 + r.Int64N(64)}, limit())
	}
	return t
}

// placeWith is a step of one change.
func placeWith(b *testing.B) func(t *Timeline, need Vector, d grid.Tick) *Timeline {
	return func(t *Timeline, need Vector, d grid.Tick) *Timeline {
		at, short := t.Earliest(need, d, 0, Forever)
		if short != nil {
			b.Fatal(short)
		}
		t, err := t.With(Change{at, at + d, Vector{-need[0]}})
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
}

func BenchmarkTimelineBuild(b *testing.B) {
	b.Run("with", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			crowdedTimeline(b, placeWith(b))
		}
	})
	b.Run("trial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var trial *Trial
			crowdedTimeline(b, func(t *Timeline, need Vector, d grid.Tick) *Timeline {
				if trial == nil {
					trial = t.Try()
				}
				trial.Place(need, d, 0, Forever)
				return t
			})
		}
	})
}

// millionTimeline has a million points at which between none and all of 5,000 cores
// are busy, and 4,900 on average.
func millionTimeline(b *testing.B) *Timeline {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	t, err := NewTimeline(0, grid.Resource{Name: "cores", Amount: 5000})
	if err != nil {
		b.Fatal(err)
	}
	trial := t.Try()
	for at := grid.Tick(1); at < 3_000_000; at += 3 { // about 98 jobs of 50 cores at a time
		from := at*grid.Second + grid.Tick(r.IntN(3000))
		need := Vector{1 + r.Int64N(99)}
		trial.Place(need, grid.Tick(1+r.IntN(588_000)), from, Forever)
	}
	for trial.now.Len() < 1_000_000 {
		trial.Place(Vector{1}, grid.Tick(1+r.IntN(60_000)), grid.Tick(r.IntN(3_000_000))*grid.Second, Forever)
	}
	return trial.Timeline()
}

// quantiles asks random questions, and reports how long the middle one took and the
// slowest of a hundred. Cores and walltime are log-uniform.
func quantiles(b *testing.B, t *Timeline, until grid.Tick) {
	r := rand.New(rand.NewPCG(5, 6))
	logUniform := func(most float64) float64 { return math.Exp(r.Float64() * math.Log(most)) }
	var took []time.Duration
	for b.Loop() {
		need := Vector{int64(logUniform(5000))}
		d := grid.Tick(logUniform(86_400) * 1000)
		began := time.Now()
		if _, short := t.Earliest(need, d, grid.Tick(r.Int64N(int64(until))), Forever); short != nil {
			b.Fatal(short)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(t.Len()), "points")
}

func BenchmarkTimelineEarliest(b *testing.B) {
	b.Run("crowd", func(b *testing.B) { quantiles(b, crowdedTimeline(b, placeWith(b)), 1) })
	million := millionTimeline(b)
	b.Run("million", func(b *testing.B) { quantiles(b, million, 1) })
	b.Run("million-anywhere", func(b *testing.B) { quantiles(b, million, 3_000_000*grid.Second) })
}

// BenchmarkTimelineWith is one change of a timeline, which makes a new one.
func BenchmarkTimelineWith(b *testing.B) {
	for _, c := range []struct {
		name string
		line *Timeline
	}{{"crowd", crowdedTimeline(b, placeWith(b))}, {"million", millionTimeline(b)}} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(7, 8))
			last := c.line.spine.at[len(c.line.spine.at)-1]
			change := func() *Timeline {
				from := grid.Tick(r.Int64N(int64(last)))
				next, err := c.line.With(Change{from, from + grid.Tick(1+r.Int64N(int64(last))), Vector{-3}})
				if err != nil {
					b.Fatal(err)
				}
				return next
			}
			const sample = 100
			copied := 0
			for range sample {
				copied += copiedBytes(c.line, change())
			}
			b.ReportAllocs()
			for b.Loop() {
				change()
			}
			b.ReportMetric(float64(copied)/sample, "copied-B/op")
			b.ReportMetric(float64(c.line.Len()), "points")
		})
	}
}

// copiedBytes is the size of what a timeline does not share with the one it came from.
func copiedBytes(had, has *Timeline) int {
	s := &has.spine
	n := len(s.pages) * (int(unsafe.Sizeof(s.at[0])) + int(unsafe.Sizeof(s.pages[0])) + 3*8*s.width)
	old := make(map[*page]bool, len(had.spine.pages))
	for _, p := range had.spine.pages {
		old[p] = true
	}
	for _, p := range s.pages {
		if !old[p] {
			n += int(unsafe.Sizeof(*p)) + 8*len(p.free)
		}
	}
	return n
}

// A change copies the spine and, however long it is, the pages at its two ends: no
// more than two, and four where they were full.
func TestTimelineSharesPages(t *testing.T) {
	t.Parallel()
	line, err := NewTimeline(0, grid.Resource{Name: "cores", Amount: 5000})
	if err != nil {
		t.Fatal(err)
	}
	trial := line.Try()
	for i := range grid.Tick(20_000) {
		trial.Place(Vector{1 + int64(i*i%97)}, 1000, i, Forever)
	}
	line = trial.Timeline()
	if n := len(line.spine.pages); n < 20 {
		t.Fatalf("%d pages", n)
	}
	for i := range grid.Tick(1000) {
		next, err := line.With(Change{i * 20, i*20 + 1 + i*i%15_000, Vector{-1}})
		if err != nil {
			t.Fatal(err)
		}
		fresh := 0
		for _, p := range next.spine.pages {
			if !slices.Contains(line.spine.pages, p) {
				fresh++
			}
		}
		if fresh > 4 {
			t.Fatal(fmt.Sprint(fresh, " pages are new"))
		}
	}
}
