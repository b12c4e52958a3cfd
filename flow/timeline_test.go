package flow

import (
	"testing"

	"pgregory.net/rapid"
)

// What a timeline finds is what one finds who looks at each instant, however much it remembers of earlier searches.
func TestTimelineFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
		x := &Executor{Capacity: []int64{3}, GPUs: make([]string, 1)}
		var l timeline
		l.reset(x)
		var cores, gpus [2000]int
		for range some("jobs", 1, 40) {
			c := &Configuration{Needs: []int64{int64(some("cores", 1, 3))}, GPUs: some("gpu", 0, 1)}
			ready, run := some("ready", 0, 60), some("run", 1, 9)
			fits := func(start int) bool {
				for at := start; at < start+run; at++ {
					if cores[at]+int(c.Needs[0]) > 3 || gpus[at]+c.GPUs > 1 {
						return false
					}
				}
				return true
			}
			want := ready
			for !fits(want) {
				want++
			}
			got := l.find(Time(ready), Time(run), c, unlimited)
			if got != Time(want) {
				t.Fatalf("ready at %d, for %d: found %d, not %d", ready, run, got, want)
			}
			limit := want + run + some("limit", -3, 3)
			if in := l.find(Time(ready), Time(run), c, Time(limit)); (in < Forever) != (want+run < limit) || in < Forever && in != got {
				t.Fatalf("ready at %d, for %d, before %d: found %d, and %d without that limit", ready, run, limit, in, got)
			}
			sign := some("takes it", 0, 3)
			if sign == 0 {
				continue
			}
			taken := l.reserve(got, got+Time(run), c)
			if sign == 1 {
				l.find(0, Time(run), c, unlimited)
				l.release(got, got+Time(run), c, taken)
				continue
			}
			for at := want; at < want+run; at++ {
				cores[at] += int(c.Needs[0])
				gpus[at] += c.GPUs
			}
		}
	})
}
