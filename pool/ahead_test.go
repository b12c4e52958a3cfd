package pool

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// ahead is a naive twin of a rule that plans: who begins where, and whether somebody is left that need not be.
func ahead(r Rule, now grid.Tick, computers []Computer, jobs []Job) (begins map[int]int, crowded bool) {
	begins = make(map[int]int)
	free := make([]grid.Tick, len(computers))
	for i := range computers {
		free[i] = max(now, computers[i].Free)
	}
	weakest := func(j *Job, may func(c int) bool) int {
		best := -1
		for c := range computers {
			x := &computers[c]
			end := x.Forecast.End(free[c], j.Work)
			if x.Lacks(j) != "" || end == Never || !may(c) || j.Deadline != 0 && x.Forecast.End(free[c], j.Work*(1+r.Margin)) > j.Deadline {
				continue
			}
			if best < 0 {
				best = c
				continue
			}
			y := &computers[best]
			switch {
			case x.Dedicated != y.Dedicated:
				if y.Dedicated {
					best = c
				}
			case j.Deadline == 0 && end != y.Forecast.End(free[best], j.Work):
				if end < y.Forecast.End(free[best], j.Work) {
					best = c
				}
			case x.Forecast.Mean() < y.Forecast.Mean():
				best = c
			}
		}
		return best
	}
	for _, i := range inOrder(r, now, computers, jobs) {
		j := &jobs[i]
		c := weakest(j, func(int) bool { return true })
		if c < 0 {
			crowded = crowded || j.Deadline != 0 && len(Hopeless(now, computers, jobs[i:i+1])) == 0
			continue
		}
		if free[c] > now && j.Deadline != 0 {
			if d := weakest(j, func(c int) bool { return free[c] == now }); d >= 0 && computers[d].Forecast.Mean() <= r.Wait*computers[c].Forecast.Mean() {
				c = d
			}
		}
		if free[c] == now {
			begins[i] = c
		}
		free[c] = computers[c].Forecast.End(free[c], j.Work)
	}
	return begins, crowded
}

// The best rule does what its twin does, by its second order where the first leaves somebody.
func TestBestAgainstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		r := Best
		r.Margin = rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "margin")
		computers, jobs := drawComputers(t), drawJobs.Draw(t, "jobs")
		want, crowded := ahead(r, now, computers, jobs)
		if crowded {
			r.Order = r.Crowded
			want, _ = ahead(r, now, computers, jobs)
			r.Order = Best.Order
		}
		got := make(map[int]int)
		for _, a := range r.Assign(now, computers, jobs, nil) {
			got[a.Job] = a.Computer
			if a.End != computers[a.Computer].Forecast.End(now, jobs[a.Job].Work) {
				t.Fatalf("%+v ends elsewhen", a)
			}
		}
		if len(want) == 0 {
			want = map[int]int{}
		}
		free := 0
		for i := range computers {
			if computers[i].Free <= now {
				free++
			}
		}
		if free > 0 && !maps.Equal(got, want) {
			t.Fatalf("%v, twin %v (crowded: %v)", got, want, crowded)
		}
	})
}

// What waits for a weaker computer leaves the strong one, but not for long enough to be late; a little stronger one is taken.
func TestBestWaitsForWeakerComputers(t *testing.T) {
	t.Parallel()
	weak := Computer{Forecast: Constant(0.5), Free: 100 * grid.Second}
	j := []Job{{Work: 100, Deadline: 1000 * grid.Second}}
	if got := Best.Assign(1, []Computer{weak, {Forecast: Constant(1)}}, j, nil); len(got) != 0 {
		t.Errorf("it does not wait: %+v", got)
	}
	if got := Best.Assign(1, []Computer{weak, {Forecast: Constant(0.7)}}, j, nil); len(got) != 1 {
		t.Error("it waits beside a computer that is little stronger")
	}
	j[0].Deadline = 250 * grid.Second
	if got := Best.Assign(1, []Computer{weak, {Forecast: Constant(1)}}, j, nil); len(got) != 1 || got[0].Computer != 1 {
		t.Errorf("it waits and will be late: %+v", got)
	}
}

// A rearrangement leaves each job and computer with one, moves nobody who writes no checkpoint, and leaves no computer idle beside a job that it could run.
func TestRearrange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		computers, jobs := drawComputers(t), drawJobs.Draw(t, "jobs")
		var running []Running
		for c := 0; c < len(computers) && c < len(jobs) && rapid.Bool().Draw(t, "runs"); c++ {
			jobs[c].Checkpoints = rapid.Bool().Draw(t, "checkpoints")
			running = append(running, Running{jobs[c], c})
		}
		used, placed := make(map[int]bool), make(map[int]bool)
		for _, a := range Rearrange(now, computers, running, jobs[len(running):]) {
			if used[a.Computer] || placed[a.Job] {
				t.Fatalf("%+v must not be", a)
			}
			used[a.Computer], placed[a.Job] = true, true
			if a.Job < len(running) && !running[a.Job].Checkpoints {
				if a.Computer != running[a.Job].Computer {
					t.Fatalf("%+v is moved", a)
				}
				continue
			}
			if computers[a.Computer].Lacks(&jobs[a.Job]) != "" || a.End != computers[a.Computer].Forecast.End(now, jobs[a.Job].Work) || a.End == Never {
				t.Fatalf("%+v must not be", a)
			}
		}
		for i := range jobs {
			if i < len(running) && !running[i].Checkpoints && !placed[i] {
				t.Fatalf("job %d is stopped", i)
			}
			for c := range computers {
				if !placed[i] && !used[c] && computers[c].Lacks(&jobs[i]) == "" && computers[c].Forecast.End(now, jobs[i].Work) < Never {
					t.Fatalf("job %d waits beside computer %d", i, c)
				}
			}
		}
	})
}

// A job that comes with less time takes the only strong computer from one that can go on elsewhere.
func TestRearrangeMovesForTheUrgent(t *testing.T) {
	t.Parallel()
	computers := []Computer{{Forecast: Constant(1), Free: 100 * grid.Second}, {Forecast: Constant(0.5)}}
	running := []Running{{Job{Work: 100, Deadline: 1000 * grid.Second, Checkpoints: true}, 0}}
	urgent := []Job{{Work: 100, Deadline: 110 * grid.Second}}
	at := make(map[int]int)
	for _, a := range Rearrange(1, computers, running, urgent) {
		at[a.Job] = a.Computer
	}
	if !maps.Equal(at, map[int]int{0: 1, 1: 0}) {
		t.Errorf("%v", at)
	}
	running[0].Checkpoints = false
	for _, a := range Rearrange(1, computers, running, urgent) {
		if a.Job == 0 && a.Computer != 0 {
			t.Errorf("a job without checkpoints is moved: %+v", a)
		}
	}
}

// Who is in time where it runs is not moved to a stronger computer that is idle.
func TestRearrangeKeepsStrongComputersFree(t *testing.T) {
	t.Parallel()
	computers := []Computer{{Forecast: Constant(1)}, {Forecast: Constant(0.5), Free: 100 * grid.Second}}
	running := []Running{{Job{Work: 100, Deadline: 1000 * grid.Second, Checkpoints: true}, 1}}
	if got := Rearrange(1, computers, running, nil); len(got) != 1 || got[0].Computer != 1 {
		t.Errorf("%+v", got)
	}
}
