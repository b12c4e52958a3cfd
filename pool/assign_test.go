package pool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

func drawComputers(t *rapid.T) []Computer {
	var out []Computer
	for i := range rapid.IntRange(1, 6).Draw(t, "computers") {
		c := Computer{
			Name: fmt.Sprint("c", i), System: rapid.SampledFrom([]string{"linux", "windows"}).Draw(t, "system"), Cores: 1, Memory: int64(rapid.IntRange(1, 3).Draw(t, "memory")),
			Speed: 1, Dedicated: rapid.IntRange(0, 3).Draw(t, "dedicated") == 0, Free: grid.Tick(rapid.IntRange(0, 150).Draw(t, "free")), Forecast: drawForecast(t),
		}
		if rapid.IntRange(0, 3).Draw(t, "choosy") == 0 {
			c.Users = []string{"ann"}
		}
		out = append(out, c)
	}
	return out
}

func drawJob(t *rapid.T) Job {
	return Job{
		User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), Work: float64(rapid.IntRange(1, 80).Draw(t, "work")) / 1000,
		System: rapid.SampledFrom([]string{"", "", "linux"}).Draw(t, "system"), Memory: int64(rapid.IntRange(0, 3).Draw(t, "memory")),
		Deadline: grid.Tick(rapid.SampledFrom([]int{0, 150, 200, 300, 400}).Draw(t, "deadline")), Priority: int32(rapid.IntRange(0, 1).Draw(t, "priority")),
		Arrival: grid.Tick(rapid.IntRange(0, 100).Draw(t, "arrival")),
	}
}

var drawJobs = rapid.SliceOfN(rapid.Custom(drawJob), 1, 8)

// before is the order of a rule, said in its own words.
func before(r Rule, now grid.Tick, computers []Computer, a, b *Job) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	least := func(j *Job) grid.Tick {
		ends := []grid.Tick{Never}
		for _, c := range computers {
			if c.Lacks(j) == "" {
				ends = append(ends, c.Forecast.End(now, j.Work))
			}
		}
		return slices.Min(ends)
	}
	endangered := func(j *Job) bool {
		end := least(j)
		return r.Endangered > 0 && j.Deadline != 0 && end <= j.Deadline && float64(j.Deadline-end)/float64(end-now) <= r.Endangered
	}
	switch x, y := endangered(a), endangered(b); {
	case x != y:
		return x
	case x:
		return a.Work < b.Work
	}
	if r.Order == ByArrival {
		return a.Arrival < b.Arrival
	}
	if a.Deadline == 0 || b.Deadline == 0 {
		return a.Deadline != 0 && b.Deadline == 0
	}
	if r.Order == ByDeadline {
		return a.Deadline < b.Deadline
	}
	if r.Order == ByNeed {
		need := func(j *Job) float64 { return j.Work / max(float64(j.Deadline-now), 0) }
		return need(a) > need(b)
	}
	return a.Deadline-least(a) < b.Deadline-least(b)
}

// will tells whether a rule may begin a job on a computer now.
func will(r Rule, now grid.Tick, c *Computer, j *Job) bool {
	if c.Free > now || c.Lacks(j) != "" {
		return false
	}
	return !r.InTime || c.Forecast.End(now, j.Work) < Never && (j.Deadline == 0 || c.Forecast.End(now, j.Work*(1+r.Margin)) <= j.Deadline)
}

// Each rule does what a naive twin does that looks at every job and computer again after each assignment.
func TestAssignAgainstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		r := named[rapid.IntRange(0, 3).Draw(t, "rule")].rule
		r.Margin = rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "margin")
		r.Endangered = rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "endangered")
		computers, jobs, seed := drawComputers(t), drawJobs.Draw(t, "jobs"), rapid.Uint64().Draw(t, "seed")
		got := r.Assign(now, computers, jobs, rand.New(rand.NewPCG(seed, 0)))
		order := inOrder(r, now, computers, jobs)
		taken := make(map[int]bool) // computers
		gone := make(map[int]bool)  // jobs
		for _, a := range got {
			if taken[a.Computer] || gone[a.Job] || !will(r, now, &computers[a.Computer], &jobs[a.Job]) {
				t.Fatalf("%+v must not be", a)
			}
			if a.End != computers[a.Computer].Forecast.End(now, jobs[a.Job].Work) {
				t.Fatalf("%+v ends elsewhen", a)
			}
			want := r.twin(now, computers, jobs, order, taken, gone, a)
			if a.Job != want.Job || a.Computer != want.Computer {
				t.Fatalf("%+v, twin %+v", a, want)
			}
			taken[a.Computer], gone[a.Job] = true, true
		}
		for i := range computers {
			for k := range jobs {
				if !taken[i] && !gone[k] && will(r, now, &computers[i], &jobs[k]) {
					t.Fatalf("job %d waits beside computer %d", k, i)
				}
			}
		}
	})
}

// inOrder sorts jobs by insertion.
func inOrder(r Rule, now grid.Tick, computers []Computer, jobs []Job) (order []int) {
	for i := range jobs {
		at := 0
		for at < len(order) && !before(r, now, computers, &jobs[i], &jobs[order[at]]) {
			at++
		}
		order = slices.Insert(order, at, i)
	}
	return order
}

// twin is the next assignment. Where chance draws the computer, that is taken from what is to be checked.
func (r Rule) twin(now grid.Tick, computers []Computer, jobs []Job, order []int, taken, gone map[int]bool, is Assignment) Assignment {
	for _, j := range order {
		better := func(a, b *Computer) bool {
			switch {
			case a.Dedicated != b.Dedicated:
				return b.Dedicated
			case jobs[j].Deadline == 0 && a.Forecast.End(now, jobs[j].Work) != b.Forecast.End(now, jobs[j].Work):
				return a.Forecast.End(now, jobs[j].Work) < b.Forecast.End(now, jobs[j].Work)
			}
			return a.Forecast.Mean() < b.Forecast.Mean()
		}
		best := -1
		for c := range computers {
			if gone[j] || taken[c] || !will(r, now, &computers[c], &jobs[j]) || r.Fit == AnyFit && c != is.Computer {
				continue
			}
			if best < 0 || better(&computers[c], &computers[best]) {
				best = c
			}
		}
		if best >= 0 {
			return Assignment{Job: j, Computer: best}
		}
	}
	return Assignment{-1, -1, 0}
}
