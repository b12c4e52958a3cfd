package pool

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// shared draws computers that run several jobs at a time.
func shared(t *rapid.T) []Computer {
	out := drawComputers(t)
	for i := range out {
		c := &out[i]
		c.Cores = int32(rapid.IntRange(1, 3).Draw(t, "cores"))
		c.PerCore = make([]grid.Tick, c.Cores)
		c.Tenant = rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "tenant")
		for k := range c.PerCore {
			c.PerCore[k] = grid.Tick(rapid.SampledFrom([]int{0, 100, 120, 150}).Draw(t, "core"))
		}
		slices.Sort(c.PerCore)
		c.Free = c.PerCore[0]
	}
	return out
}

func drawWide(t *rapid.T) Job {
	j := drawJob(t)
	j.Cores = int32(rapid.IntRange(0, 2).Draw(t, "cores"))
	j.Whole = rapid.IntRange(0, 5).Draw(t, "whole") == 0
	return j
}

// stay is a job on a computer of the twin.
type stay struct {
	start, end grid.Tick
	width      int
	user       string
}

// asked is the part of a computer that a job takes, said in its own words.
func asked(c *Computer, j *Job) int {
	if j.Whole {
		return int(c.Cores)
	}
	n := max(1, int(j.Cores))
	for int64(n)*c.Memory < j.Memory*int64(c.Cores) {
		n++
	}
	return n
}

// begins looks at every tick for the first at which a job has room beside those that are there, none of which is of another user; nobody
// begins before those that were planned before.
func begins(now grid.Tick, c *Computer, there []stay, j *Job) grid.Tick {
	for _, s := range there {
		now = max(now, s.start)
	}
	for t := now; ; t++ {
		used, foreign := asked(c, j), false
		for _, s := range there {
			if s.end > t {
				used, foreign = used+s.width, foreign || s.user != j.User
			}
		}
		if used <= int(c.Cores) && !foreign {
			return t
		}
	}
}

// Where computers run several jobs of one user at a time, admission is that of a twin which looks at each tick of each computer.
func TestCoresAgainstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		computers := shared(t)
		jobs := rapid.SliceOfN(rapid.Custom(drawWide), 1, 6).Draw(t, "jobs")
		there := make([][]stay, len(computers))
		for i := range computers {
			for _, end := range computers[i].PerCore {
				if end > now {
					there[i] = append(there[i], stay{0, end, 1, computers[i].Tenant})
				}
			}
		}
		place := func(j *Job) (best Place, ok bool) {
			for i := range computers {
				c := &computers[i]
				if c.Lacks(j) != "" {
					continue
				}
				p := Place{Computer: i, Start: begins(now, c, there[i], j)}
				p.End = c.Forecast.End(p.Start, j.Work)
				if p.End == Never || j.Deadline != 0 && p.End > j.Deadline {
					continue
				}
				if !ok || better(computers, j, p, best) {
					best, ok = p, true
				}
			}
			return best, ok
		}
		for _, i := range inOrder(EDF, now, computers, jobs[1:]) {
			j := &jobs[1:][i]
			if p, ok := place(j); ok {
				there[p.Computer] = append(there[p.Computer], stay{p.Start, p.End, asked(&computers[p.Computer], j), j.User})
			}
		}
		want, ok := place(&jobs[0])
		got, err := EDF.Admit(now, computers, jobs[1:], &jobs[0])
		if (err == nil) != ok || ok && got != want {
			t.Fatalf("%s: %+v, %v; twin %+v, %v", fmt.Sprintf("%+v", jobs[0]), got, err, want, ok)
		}
		var refusal *Refusal
		if err != nil && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
	})
}

// better tells which of two places a job gets under best fit.
func better(computers []Computer, j *Job, p, q Place) bool {
	a, b := &computers[p.Computer], &computers[q.Computer]
	switch {
	case a.Dedicated != b.Dedicated:
		return b.Dedicated
	case j.Deadline == 0 && p.End != q.End:
		return p.End < q.End
	case a.Forecast.Mean() != b.Forecast.Mean():
		return a.Forecast.Mean() < b.Forecast.Mean()
	}
	return p.Computer < q.Computer
}

// Of what an hour was, nothing counts of the time in which nobody watched.
func TestGapsAreNotWatched(t *testing.T) {
	t.Parallel()
	begin := grid.Tick(4 * grid.Day) // a Monday
	h := History{Since: begin, Speed: 1, Window: 2 * Week, Presume: 0.25, Gaps: []Gap{{begin + 30*grid.Minute, begin + 25*grid.Hour}}}
	h.Facts = []Fact{{From: begin, To: begin + 30*grid.Minute, Idle: 1}}
	f := h.Forecast(begin+26*grid.Hour, &Policy{})
	if got := f.At(begin + Week); got != 1 {
		t.Errorf("of the hour of which half was watched H is %v", got)
	}
	if got := f.At(begin + Week + 3*grid.Hour); got != 0.25 {
		t.Errorf("of an hour that nobody watched H is %v", got)
	}
	if got := f.At(begin + Week + 25*grid.Hour); got != 0 {
		t.Errorf("of an hour that was watched, and the computer not reachable, H is %v", got)
	}
}
