package pool

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// Cohorts leave no computer out, their levels are those of their computers, and what a computer holds its cohort holds.
func TestCohorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		computers := drawComputers(t)
		for i := range computers {
			c := &computers[i]
			c.Speed, c.Memory = rapid.Float64Range(0.1, 4).Draw(t, "speed"), rapid.Int64Range(0, 1<<40).Draw(t, "memory")
			if rapid.Bool().Draw(t, "other") {
				c.Architecture = fmt.Sprint("a", rapid.IntRange(0, 99).Draw(t, "architecture"))
			}
		}
		even := func(i int) bool { return i%2 == 0 }
		cohorts := Cohorts(now, computers, even)
		if len(cohorts) > grid.MaxCohorts {
			t.Fatalf("%d cohorts", len(cohorts))
		}
		all, free, levels := 0, 0, make([]float64, grid.MaxLevels)
		for _, c := range cohorts {
			all, free = all+c.Computers, free+c.Free
			for n := range levels {
				levels[n] += float64(c.Computers) * c.Levels[n]
			}
		}
		if all != len(computers) || free != (len(computers)+1)/2 {
			t.Fatalf("%d of %d computers, %d free", all, len(computers), free)
		}
		for n := range levels {
			sum := 0.0
			for i := range computers {
				from := grid.Tick(now) + grid.Tick(n)*grid.CohortSpan
				sum += computers[i].Forecast.Done(from, from+grid.CohortSpan) / grid.CohortSpan.Seconds()
			}
			if math.Abs(sum-levels[n]) > float64(len(computers))/64 {
				t.Fatalf("interval %d: %v, twin %v", n, levels[n], sum)
			}
		}
		site := grid.Site{Cohorts: cohorts}
		for _, c := range computers {
			d := grid.Demand{Architecture: c.Architecture, System: c.System, Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: int(c.Cores), Memory: c.Memory}}}
			if !site.Holds(&d) {
				t.Fatalf("no cohort holds what %+v does: %+v", c, cohorts)
			}
		}
	})
}

// Where there are more cohorts than are told the smallest are one, of which nothing is told but how many they are.
func TestTooManyCohorts(t *testing.T) {
	t.Parallel()
	var computers []Computer
	for i := range 40 {
		c := Computer{Architecture: fmt.Sprint("a", i), System: "LINUX", Speed: 1, Memory: 1 << 30, Cores: 1, Forecast: Constant(1)}
		computers = append(computers, c)
		if i < 3 {
			computers = append(computers, c)
		}
	}
	cohorts := Cohorts(0, computers, func(int) bool { return true })
	last := cohorts[len(cohorts)-1]
	if len(cohorts) != grid.MaxCohorts || cohorts[2].Computers != 2 || last.Architecture != "" || last.Memory != 0 || last.Computers != 40-31 || last.Levels[0] != 1 {
		t.Errorf("%d cohorts, the last %+v", len(cohorts), last)
	}
}

// A class of speed ends before the square root of two, one of memory before twice its least.
func TestLikeness(t *testing.T) {
	t.Parallel()
	a := Computer{Speed: 1, Memory: 8 << 30}
	for _, c := range []struct {
		other Computer
		alike bool
	}{
		{Computer{Speed: 1.4, Memory: 15 << 30}, true}, {Computer{Speed: 1.42, Memory: 8 << 30}, false}, {Computer{Speed: 1, Memory: 16 << 30}, false},
		{Computer{Speed: 0.99, Memory: 8 << 30}, false}, {Computer{Speed: 1, Memory: 8 << 30, System: "linux"}, false},
	} {
		if got := a.like() == c.other.like(); got != c.alike {
			t.Errorf("%+v: %v", c.other, got)
		}
	}
}

// What a pool tells of its computers has room for as much as they have, where all of a cohort are alike.
func TestOfCohorts(t *testing.T) {
	t.Parallel()
	const now = 5 * grid.Hour
	night := NewForecast(now, grid.Day, Step{0, 0}, Step{2 * grid.CohortSpan, 0.5})
	var computers []Computer
	for range 3 {
		computers = append(computers, Computer{Architecture: "x86_64", System: "LINUX", Speed: 1, Memory: 8 << 30, Cores: 4, Forecast: night})
	}
	cohorts := append(Cohorts(now, computers, func(int) bool { return false }), grid.Cohort{Computers: 9, Levels: []float64{1}}) // of the last nothing is told
	for _, c := range []struct {
		d    grid.Demand
		many int
	}{
		{grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 1}}}, 12},
		{grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 3}}}, 3},
		{grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 1, Memory: 4 << 30}}}, 6},
		{grid.Demand{Exclusive: true, Chunks: []grid.Chunk{{Count: 1, Cores: 1}}}, 3},
		{grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 5}}}, 0},
		{grid.Demand{Architecture: "arm64", Chunks: []grid.Chunk{{Count: 1, Cores: 1}}}, 0},
	} {
		got := OfCohorts(now, cohorts, &c.d)
		if len(got) != c.many {
			t.Errorf("%+v: %d places, want %d", c.d, len(got), c.many)
		}
		for _, one := range got {
			if end := one.Forecast.End(now, 3600); end != now+10*grid.Hour || one.Forecast.Done(now, now+2*grid.Day) != 2*night.Done(now, now+grid.Day) {
				t.Errorf("an hour of work ends after %v", end-now)
			}
		}
	}
}
