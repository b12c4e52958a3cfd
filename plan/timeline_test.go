package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// dense is the naive twin of a timeline: what is free of each resource at each tick,
// the last of which stands for all later ones.
type dense struct {
	start grid.Tick
	free  [][]int64 // by tick, then resource
}

const denseTicks = 60

func (d dense) clone() dense {
	out := dense{start: d.start}
	for _, v := range d.free {
		out.free = append(out.free, slices.Clone(v))
	}
	return out
}

func (d dense) at(t grid.Tick) []int64 {
	return d.free[min(max(t-d.start, 0), denseTicks-1)]
}

func (d dense) change(c Change) {
	for i, v := range d.free {
		if t := d.start + grid.Tick(i); t >= c.From && t < c.To {
			for r := range v {
				v[r] += c.Amounts[r]
			}
		}
	}
}

func (d dense) fits(from, to grid.Tick, need Vector) bool {
	for t := from; t == from || t < to && t <= d.start+denseTicks; t++ {
		for r, n := range need {
			if n > 0 && d.at(t)[r] < n {
				return false
			}
		}
	}
	return true
}

func (d dense) earliest(need Vector, length, notBefore, horizon grid.Tick) (grid.Tick, *Shortfall) {
	notBefore = max(notBefore, d.start)
	ends := d.start + denseTicks
	for t := notBefore; t <= max(ends, notBefore); t++ {
		if d.fits(t, t+min(max(length, 1), 2*denseTicks), need) {
			if t > horizon {
				return 0, &Shortfall{Why: BeyondHorizon}
			}
			return t, nil
		}
	}
	for r, n := range need {
		most := int64(math.MinInt64)
		for t := notBefore; t <= max(ends, notBefore); t++ {
			most = max(most, d.at(t)[r])
		}
		if n > 0 && most < n {
			return 0, &Shortfall{NeverSoMuch, names[r], n, most}
		}
	}
	for r, n := range need {
		if has := d.at(ends)[r]; n > 0 && has < n {
			return 0, &Shortfall{NeverForSoLong, names[r], n, has}
		}
	}
	panic("it fits in the end")
}

var names = []string{"cores", "memory", "gpu:a100"}

// pair is a timeline and its twin.
type pair struct {
	timeline *Timeline
	twin     dense
}

func drawPair(t *rapid.T) pair {
	width := rapid.IntRange(1, len(names)).Draw(t, "resources")
	p := pair{twin: dense{start: rapid.SampledFrom([]grid.Tick{-7, 0, 1000}).Draw(t, "start")}}
	var capacity []grid.Resource
	v := make([]int64, width)
	for r := range width {
		v[r] = rapid.Int64Range(0, 12).Draw(t, "capacity")
		capacity = append(capacity, grid.Resource{Name: names[r], Amount: v[r]})
	}
	for range denseTicks {
		p.twin.free = append(p.twin.free, slices.Clone(v))
	}
	var err error
	if p.timeline, err = NewTimeline(p.twin.start, capacity...); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p pair) drawVector(t *rapid.T, least, most int64) Vector {
	v := make(Vector, len(p.twin.free[0]))
	for r := range v {
		v[r] = rapid.Int64Range(least, most).Draw(t, "amount")
	}
	return v
}

func (p pair) drawInstant(t *rapid.T, name string) grid.Tick {
	return p.twin.start + grid.Tick(rapid.IntRange(-3, denseTicks-2).Draw(t, name))
}

func (p pair) drawChange(t *rapid.T) Change {
	c := Change{From: p.drawInstant(t, "from"), Amounts: p.drawVector(t, -5, 4)}
	c.To = Forever
	if !rapid.Bool().Draw(t, "for ever") {
		c.To = c.From + grid.Tick(rapid.IntRange(1, denseTicks-1-int(c.From-p.twin.start)).Draw(t, "length"))
	}
	return c
}

// equal compares all that can be asked of every instant.
func (p pair) equal(t *rapid.T) {
	t.Helper()
	points, last := 0, []int64(nil)
	next, v := p.twin.start, Vector(nil)
	for at, free := range p.timeline.Steps() {
		for ; next < at; next++ {
			if !slices.Equal(p.twin.at(next), v) {
				t.Fatalf("steps at %d: %v, want %v", next, v, p.twin.at(next))
			}
		}
		if slices.Equal(last, free) {
			t.Fatalf("equal neighbours at %d: %v", at, free)
		}
		points, last, v = points+1, slices.Clone(free), slices.Clone(free)
	}
	for at := p.twin.start - 2; at < p.twin.start+denseTicks+3; at++ {
		if got, want := p.timeline.At(at), p.twin.at(at); !slices.Equal(got, want) {
			t.Fatalf("at %d: %v, want %v", at, got, want)
		}
	}
	if points != p.timeline.Len() {
		t.Fatalf("%d steps, and Len is %d", points, p.timeline.Len())
	}
	if err := p.timeline.spine.check(); err != nil {
		t.Fatal(err)
	}
}

// check looks whether the spine says of the pages what they are.
func (s *spine) check() error {
	for p, page := range s.pages {
		if page.n < 1 || page.n > pageSize || s.at[p] != page.at[0] {
			return fmt.Errorf("page %d: %d points from %d; in the spine %d", p, page.n, page.at[0], s.at[p])
		}
		if p > 0 && s.pages[p-1].at[s.pages[p-1].n-1] >= page.at[0] {
			return fmt.Errorf("page %d does not lie behind the one before", p)
		}
		if !slices.IsSorted(page.at[:page.n]) {
			return fmt.Errorf("page %d is not in order: %v", p, page.at[:page.n])
		}
		for r := range s.width {
			column := slices.Clone(page.column(r))
			for i := range column {
				column[i] = s.free(p, i, r)
			}
			if s.least[p*s.width+r] != slices.Min(column) || s.most[p*s.width+r] != slices.Max(column) {
				return fmt.Errorf("page %d: from %d to %d; in the spine %d to %d",
					p, slices.Min(column), slices.Max(column), s.least[p*s.width+r], s.most[p*s.width+r])
			}
		}
	}
	if len(s.plus) != len(s.pages)*s.width || len(s.at) != len(s.pages) {
		return fmt.Errorf("%d pages, %d instants, %d amounts", len(s.pages), len(s.at), len(s.plus))
	}
	return nil
}

// ask compares the answers to random questions.
func (p pair) ask(t *rapid.T) {
	t.Helper()
	for range 4 {
		need := p.drawVector(t, -1, 10)
		from, to := p.drawInstant(t, "from"), p.drawInstant(t, "to")
		if got, want := p.timeline.Fits(from, to, need), p.twin.fits(from, to, need); got != want {
			t.Fatalf("%v fits from %d to %d: %v, want %v", need, from, to, got, want)
		}
		for r, least := range p.timeline.Least(from, to) {
			want := p.twin.at(from)[r]
			for at := from; at < to; at++ {
				want = min(want, p.twin.at(at)[r])
			}
			if least != want {
				t.Fatalf("least of %d from %d to %d: %d, want %d", r, from, to, least, want)
			}
		}
		d := rapid.SampledFrom([]grid.Tick{0, 1, 2, 5, 20, denseTicks, Forever, math.MaxInt64}).Draw(t, "for how long")
		horizon := rapid.SampledFrom([]grid.Tick{p.twin.start - 1, p.twin.start + 30, Forever}).Draw(t, "horizon")
		got, short := p.timeline.Earliest(need, d, from, horizon)
		want, wantShort := p.twin.earliest(need, d, from, horizon)
		if got != want || !reflect.DeepEqual(short, wantShort) {
			t.Fatalf("%v for %d from %d until %d: %d, %+v; want %d, %+v", need, d, from, horizon, got, short, want, wantShort)
		}
	}
}

// A timeline is its twin, whatever is changed, and old ones stay as they were.
func TestTimelineAgainstItsTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := []pair{drawPair(t)}
		for range rapid.IntRange(0, 12).Draw(t, "versions") {
			old := all[rapid.IntRange(0, len(all)-1).Draw(t, "version")]
			fresh := pair{twin: old.twin.clone()}
			var changes []Change
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				c := old.drawChange(t)
				changes = append(changes, c)
				fresh.twin.change(c)
			}
			var err error
			if fresh.timeline, err = old.timeline.With(changes...); err != nil {
				t.Fatal(err)
			}
			all = append(all, fresh)
		}
		for i, p := range all {
			p.equal(t)
			p.ask(t)
			for _, o := range all[:i] {
				if got, want := p.timeline.Equal(o.timeline), reflect.DeepEqual(p.twin, o.twin); got != want {
					t.Fatalf("equal: %v, want %v", got, want)
				}
			}
		}
	})
}

// In a trial each question is answered as if what came of those before were so.
func TestTrialAgainstItsTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPair(t)
		first, before := p, p.twin.clone()
		trial := p.timeline.Try()
		for range rapid.IntRange(1, 20).Draw(t, "questions") {
			need, d, from := p.drawVector(t, -1, 6), grid.Tick(rapid.IntRange(0, 9).Draw(t, "length")), p.drawInstant(t, "from")
			want, wantShort := p.twin.earliest(need, d, from, 40+p.twin.start)
			if got, short := trial.Earliest(need, d, from, 40+p.twin.start); got != want || !reflect.DeepEqual(short, wantShort) {
				t.Fatalf("%d, %+v; want %d, %+v", got, short, want, wantShort)
			}
			got, short := trial.Place(need, d, from, 40+p.twin.start)
			if got != want || !reflect.DeepEqual(short, wantShort) {
				t.Fatalf("%d, %+v; want %d, %+v", got, short, want, wantShort)
			}
			if short == nil {
				taken := slices.Clone(need)
				for r := range taken {
					taken[r] = -max(taken[r], 0)
				}
				p.twin.change(Change{got, got + max(d, 1), taken})
			}
			if rapid.Bool().Draw(t, "look") {
				seen := pair{trial.Timeline(), p.twin.clone()}
				defer func() { seen.equal(t) }() // also after all that the trial does later
			}
		}
		p.timeline = trial.Timeline()
		p.equal(t)
		first.twin = before
		first.equal(t)
	})
}

// Many points: pages are split, shifted, merged and dropped. The twin is the list of
// changes, summed up at random instants.
func TestTimelineOfManyPages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		width := 1 + int(seed%2)
		start, err := NewTimeline(0, []grid.Resource{{Name: "cores", Amount: 1000}, {Name: "memory", Amount: 5000}}[:width]...)
		if err != nil {
			t.Fatal(err)
		}
		var made []Change
		trial, versions, counts := start.Try(), []*Timeline{start}, []int{0}
		const span = 100_000
		for i := range 6_000 {
			c := Change{From: grid.Tick(r.IntN(span)), Amounts: make(Vector, width)}
			c.To = c.From + 1 + grid.Tick(r.IntN(1+r.IntN(span)))
			for k := range c.Amounts {
				c.Amounts[k] = int64(r.IntN(100) - 60)
			}
			if i >= 3_000 && i%8 != 0 { // take back an old one
				k := r.IntN(len(made))
				c = Change{made[k].From, made[k].To, slices.Clone(made[k].Amounts)}
				for k := range c.Amounts {
					c.Amounts[k] = -c.Amounts[k]
				}
			}
			if err := trial.Change(c); err != nil {
				t.Fatal(err)
			}
			made = append(made, c)
			if i%500 == 0 {
				versions, counts = append(versions, trial.Timeline()), append(counts, len(made))
			}
		}
		versions, counts = append(versions, trial.Timeline()), append(counts, len(made))
		for v, timeline := range versions {
			sum := newSums(span*2+2, width, start.At(0), made[:counts[v]])
			sum.compare(t, r, timeline)
		}
		if pages := len(versions[len(versions)-1].spine.pages); pages < 10 {
			t.Errorf("only %d pages", pages)
		}
		joinPages(t, versions[len(versions)-1])
		undo := versions[len(versions)-1].Try()
		for _, c := range made { // what was taken back more than once is, too
			for k := range c.Amounts {
				c.Amounts[k] = -c.Amounts[k]
			}
			if err := undo.Change(c); err != nil {
				t.Fatal(err)
			}
		}
		if end := undo.Timeline(); !end.Equal(start) || len(end.spine.pages) != 1 {
			t.Errorf("all undone: %d steps on %d pages, from %v", end.Len(), len(end.spine.pages), end.At(0))
		}
	}
}

// joinPages makes the first point of each page equal to the one before it, and looks
// for places that end where a page does.
func joinPages(t *testing.T, line *Timeline) {
	t.Helper()
	for p := 1; p < len(line.spine.pages); p++ {
		at, page := line.spine.at[p], line.spine.pages[p]
		before, value := line.At(at-1), line.At(at)
		for r := range value {
			value[r] = before[r] - value[r]
		}
		joined, err := line.With(Change{at, page.at[1], value})
		if err != nil {
			t.Fatal(err)
		}
		if err := joined.spine.check(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(joined.At(at), before) || slices.Contains(joined.spine.at, at) {
			t.Fatalf("at %d: %v, want %v and no step", at, joined.At(at), before)
		}
		narrow, err := line.With(Change{at - 9, at, slices.Repeat([]int64{5000}, len(before))})
		if err != nil {
			t.Fatal(err)
		}
		need := narrow.Least(at-9, at)
		if got, short := narrow.Earliest(need, 9, at-9, Forever); got != at-9 || short != nil {
			t.Fatalf("a place of 9 from %d: %d, %+v", at-9, got, short)
		}
	}
}

// Pages that lose their points are made one, from whichever side it comes.
func TestTimelineMergesPages(t *testing.T) {
	t.Parallel()
	const points = 20 * pageSize
	start, err := NewTimeline(0, grid.Resource{Name: "cores", Amount: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, backward := range []bool{false, true} {
		trial := start.Try()
		for _, amount := range []int64{1, -1} {
			for i := range grid.Tick(points) {
				if backward {
					i = points - 1 - i
				}
				if amount < 0 && i%(pageSize/4) == 0 {
					continue // stays
				}
				if err := trial.Change(Change{2 * i, 2*i + 1, Vector{amount}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		end := trial.Timeline()
		if end.Len() != 2*80 || len(end.spine.pages) > 4 {
			t.Errorf("%d steps on %d pages", end.Len(), len(end.spine.pages))
		}
		if err := end.spine.check(); err != nil {
			t.Error(err)
		}
	}
}

// sums is what is free at each of many ticks.
type sums [][]int64

func newSums(span, width int, capacity Vector, changes []Change) sums {
	s := make(sums, span)
	for i := range s {
		s[i] = make([]int64, width)
	}
	copy(s[0], capacity)
	for _, c := range changes {
		for r, amount := range c.Amounts {
			s[c.From][r] += amount
			s[c.To][r] -= amount
		}
	}
	for i := range s[1:] {
		for r := range width {
			s[i+1][r] += s[i][r]
		}
	}
	return s
}

func (s sums) compare(t *testing.T, random *rand.Rand, timeline *Timeline) {
	t.Helper()
	if err := timeline.spine.check(); err != nil {
		t.Fatal(err)
	}
	points := 1
	for i := range s[1:] {
		if !slices.Equal(s[i], s[i+1]) {
			points++
		}
	}
	if timeline.Len() != points {
		t.Fatalf("%d steps, want %d", timeline.Len(), points)
	}
	for range 200 {
		need := make(Vector, len(s[0]))
		for r := range need {
			need[r] = int64(random.IntN(600))
		}
		from, d := random.IntN(len(s)), 1+random.IntN(1+random.IntN(20_000))
		if got := timeline.At(grid.Tick(from)); !slices.Equal(got, s[from]) {
			t.Fatalf("at %d: %v, want %v", from, got, s[from])
		}
		least := slices.Clone(s[from])
		for i := from; i < min(from+d, len(s)); i++ {
			for r := range least {
				least[r] = min(least[r], s[i][r])
			}
		}
		if got := timeline.Least(grid.Tick(from), grid.Tick(from+d)); !slices.Equal(got, least) {
			t.Fatalf("least from %d for %d: %v, want %v", from, d, got, least)
		}
		want, run := -1, 0 // the first of a run of d, or of one at the end
		for i := from; i < len(s) && run < d; i++ {
			ok := true
			for r := range need {
				ok = ok && (need[r] == 0 || s[i][r] >= need[r])
			}
			switch {
			case !ok:
				want, run = -1, 0
			case run == 0:
				want, run = i, 1
			default:
				run++
			}
		}
		if got, short := timeline.Earliest(need, grid.Tick(d), grid.Tick(from), Forever); (short == nil) != (want >= 0) || short == nil && got != grid.Tick(want) {
			t.Fatalf("%v for %d from %d: %d, %+v; want %d", need, d, from, got, short, want)
		}
		for before := range grid.Tick(2) { // the horizon, 0 or 1 before the start
			if want < 0 {
				break
			}
			got, short := timeline.Earliest(need, grid.Tick(d), grid.Tick(from), grid.Tick(want)-before)
			if (short == nil) != (before == 0) || short == nil && got != grid.Tick(want) || short != nil && short.Why != BeyondHorizon {
				t.Fatalf("%v for %d from %d, horizon %d before %d: %d, %+v", need, d, from, before, want, got, short)
			}
		}
	}
}

func TestTimelineRefuses(t *testing.T) {
	t.Parallel()
	cores := func(n int64) grid.Resource { return grid.Resource{Name: "cores", Amount: n} }
	for _, c := range []struct {
		start    grid.Tick
		capacity []grid.Resource
	}{
		{0, nil},
		{0, make([]grid.Resource, mostResources+1)},
		{0, []grid.Resource{cores(1), cores(2)}},
		{0, []grid.Resource{cores(mostAmount + 1)}},
		{0, []grid.Resource{cores(-mostAmount - 1)}},
		{maxInstant + 1, []grid.Resource{cores(1)}},
		{-maxInstant - 1, []grid.Resource{cores(1)}},
	} {
		if got, err := NewTimeline(c.start, c.capacity...); got != nil || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%d, %d resources: %v", c.start, len(c.capacity), err)
		}
	}
	line, err := NewTimeline(5, cores(8))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Change{
		{10, 10, Vector{1}},
		{10, 9, Vector{1}},
		{10, 11, nil},
		{10, 11, Vector{1, 1}},
		{10, 11, Vector{mostAmount + 1}},
		{10, 11, Vector{math.MinInt64}},
		{10, maxInstant + 1, Vector{1}},
		{maxInstant + 1, Forever, Vector{1}},
		{math.MinInt64, 11, Vector{1}},
	} {
		if got, err := line.With(Change{6, 7, Vector{-1}}, c); got != nil || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := line.Vector(grid.Resource{Name: "gpu", Amount: 1}); !errors.Is(err, grid.ErrNotFound) {
		t.Error(err)
	}
	if _, err := line.Vector(cores(mostAmount + 1)); !errors.Is(err, grid.ErrInvalid) {
		t.Error(err)
	}
	if v, err := line.Vector(cores(3)); err != nil || !slices.Equal(v, Vector{3}) {
		t.Error(v, err)
	}
	if want := []int64{8}; !slices.Equal(line.At(0), want) || line.Len() != 1 || line.Start() != 5 {
		t.Errorf("%v", line.At(0))
	}
}

// Readers of old timelines are not disturbed by who makes new ones of them.
func TestTimelineIsShared(t *testing.T) {
	t.Parallel()
	line, err := NewTimeline(0, grid.Resource{Name: "cores", Amount: 100})
	if err != nil {
		t.Fatal(err)
	}
	trial := line.Try()
	for i := range grid.Tick(2_000) {
		trial.Place(Vector{1 + int64(i%50)}, 100, i, Forever)
	}
	line = trial.Timeline()
	want, _ := line.Earliest(Vector{90}, 500, 0, Forever)
	var group sync.WaitGroup
	for from := range grid.Tick(4) {
		group.Go(func() {
			mine := line
			for i := range grid.Tick(200) {
				if at, short := line.Earliest(Vector{90}, 500, 0, Forever); at != want || short != nil {
					t.Errorf("%d, %+v; want %d", at, short, want)
				}
				own := mine.Try()
				own.Place(Vector{60}, 700, from*100+i, Forever)
				mine = own.Timeline()
			}
		})
	}
	for i := range grid.Tick(200) { // the trial that it came from goes on
		trial.Place(Vector{90}, 500, i, Forever)
	}
	group.Wait()
}

// No value leaves its bounds, however often the most is given or taken.
func TestTimelineAtItsBounds(t *testing.T) {
	t.Parallel()
	for _, amount := range []int64{mostAmount, -mostAmount} {
		line, err := NewTimeline(-maxInstant, grid.Resource{Name: "cores"})
		if err != nil {
			t.Fatal(err)
		}
		made := int64(0)
		for ; made <= 20; made++ {
			next, err := line.With(Change{0, 10, Vector{amount}})
			if err != nil {
				break
			}
			line = next
		}
		if made != 16 || line.At(5)[0] != 16*amount {
			t.Errorf("%d changes of %d, %v", made, amount, line.At(5))
		}
		if _, err := line.With(Change{20, Forever, Vector{amount}}); err != nil {
			t.Errorf("elsewhere: %v", err)
		}
		// Whole pages and parts of them in turn: the parts of a value wrap around.
		trial := line.Try()
		for range 2000 {
			for _, c := range []Change{{-maxInstant, Forever, Vector{-amount}}, {-maxInstant, 5, Vector{amount}}, {5, Forever, Vector{amount}}} {
				if err := trial.Change(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !trial.Timeline().Equal(line) {
			t.Error("given and taken is not as before")
		}
	}
	line, err := NewTimeline(-maxInstant, grid.Resource{Name: "cores", Amount: 2})
	if err != nil {
		t.Fatal(err)
	}
	trial := line.Try()
	for _, c := range []struct {
		d, notBefore, horizon, want grid.Tick
		short                       *Shortfall
	}{
		{maxInstant, -math.MaxInt64, math.MaxInt64, -maxInstant, nil},
		{maxInstant, 1, math.MaxInt64, 1, nil},
		{1, maxInstant, maxInstant, 0, &Shortfall{Why: BeyondHorizon}}, // held by the second until just behind it
		{1, math.MaxInt64, math.MaxInt64, 0, &Shortfall{Why: BeyondHorizon}},
		{math.MaxInt64, -maxInstant, math.MinInt64, 0, &Shortfall{Why: BeyondHorizon}},
	} {
		if got, short := trial.Place(Vector{2}, c.d, c.notBefore, c.horizon); got != c.want || !reflect.DeepEqual(short, c.short) {
			t.Errorf("%+v: %d, %+v", c, got, short)
		}
	}
	if at, short := line.Try().Place(Vector{2}, 1, maxInstant, math.MaxInt64); at != maxInstant || short != nil {
		t.Error(at, short)
	}
	if _, short := trial.Place(Vector{3}, 1, 0, Forever); short == nil || *short.Refusal() != (grid.Refusal{Reason: "not enough cores", Asked: "3", Available: "2"}) {
		t.Errorf("%+v", short)
	}
	for _, c := range []struct {
		need         int64
		d, notBefore grid.Tick
		want         Shortfall
	}{
		{3, 1, math.MaxInt64, Shortfall{NeverSoMuch, "cores", 3, 2}},
		{3, math.MinInt64, 0, Shortfall{NeverSoMuch, "cores", 3, 2}},
		{2, maxInstant + 1, -maxInstant, Shortfall{NeverForSoLong, "cores", 2, 1}},
	} {
		last, err := line.With(Change{maxInstant, Forever, Vector{-1}})
		if err != nil {
			t.Fatal(err)
		}
		if c.need > 2 {
			last = line
		}
		if _, short := last.Earliest(Vector{c.need}, c.d, c.notBefore, Forever); short == nil || *short != c.want {
			t.Errorf("%+v: %+v", c, short)
		}
	}
	if at, short := line.Earliest(Vector{2}, math.MinInt64, 3, Forever); at != 3 || short != nil {
		t.Error(at, short)
	}
	if other, err := NewTimeline(-maxInstant, grid.Resource{Name: "memory", Amount: 2}); err != nil || line.Equal(other) {
		t.Errorf("cores are memory, %v", err)
	}
	// For ever is for ever.
	if at, short := line.Try().Place(Vector{1}, Forever, 7, Forever); at != 7 || short != nil {
		t.Error(at, short)
	}
	trial = line.Try()
	trial.Place(Vector{1}, math.MaxInt64, 7, Forever)
	if v := trial.Timeline().At(math.MaxInt64); v[0] != 1 {
		t.Errorf("%v at the end of all time", v)
	}
	if _, short := trial.Place(Vector{2}, 100*maxInstant, 0, Forever); short == nil || *short.Refusal() != (grid.Refusal{Reason: "never enough cores for so long", Asked: "2", Available: "1"}) {
		t.Errorf("%+v", short)
	}
	if r := (&Shortfall{Why: BeyondHorizon}).Refusal(); *r != (grid.Refusal{Reason: "beyond the horizon"}) {
		t.Errorf("%+v", r)
	}
}
