package coallocate

import (
	"math/rand/v2"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

func small(seed uint64, giants float64) World {
	g := Grid{"test", []int{16, 8, 8}, []float64{1, 1, 2}}
	w := Defaults()
	w.Grid, w.Policy = &g, plan.Policy{Kind: plan.EASY}
	w.Jobs = Make(&g, Load{Jobs: 60, Share: 0.2, Giants: giants, Use: 0.7, Seed: seed})
	return w
}

// At no instant a node runs two jobs, and each job has what it asked for, for as long as it runs.
func TestNothingRunsTwice(t *testing.T) {
	t.Parallel()
	for range 5 {
		seed := rand.Uint64()
		for _, several := range []bool{false, true} {
			w := small(seed, 0.3)
			w.Several = several
			out, err := w.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range out.Outcomes {
				j := &w.Jobs[i]
				if giant := j.Processes > w.Grid.Widest(); (o.Sites == 0) != (giant && !several) || giant && o.Sites == 1 || !several && o.Sites > 1 {
					t.Errorf("seed %d: job %d of %d processes ran at %d sites", seed, i, j.Processes, o.Sites)
				}
				if o.Sites > 0 && (o.Start < j.Submit || o.End-o.Start < at(j.Run, 2) || o.End-o.Start > at(j.Run, 1)) {
					t.Errorf("seed %d: job %d ran from %d to %d: %+v", seed, i, o.Start, o.End, j)
				}
				used := 0
				for k, p := range out.Outcomes {
					if p.Start <= o.Start && o.Start < p.End {
						used += w.Jobs[k].Processes
					}
				}
				if used > w.Grid.Nodes() {
					t.Errorf("seed %d: %d of %d nodes in use at %d", seed, used, w.Grid.Nodes(), o.Start)
				}
			}
		}
	}
}

// Without wide jobs co-allocation changes nothing; jobs that fit nowhere run only with it.
func TestWhatCoallocationIsFor(t *testing.T) {
	t.Parallel()
	w := small(rand.Uint64(), 1)
	without, with, err := Compare(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if without.Giant.Ran != 0 || with.Giant.Jobs == 0 || with.Giant.Ran != with.Giant.Jobs {
		t.Errorf("%+v and %+v", without.Giant, with.Giant)
	}
	for i := range w.Jobs {
		w.Jobs[i].Wide, w.Jobs[i].Processes = false, min(w.Jobs[i].Processes, 8)
	}
	if without, with, err = Compare(t.Context(), w); err != nil || without != with {
		t.Errorf("%+v and %+v: %v", without, with, err)
	}
}

// What reservations keep idle is counted while a job waits that would run there: here two nodes for 50 s, as a job of 150 s does not end
// before the wide one begins, and one of 10 s does.
func TestWhatReservationsKeepIdle(t *testing.T) {
	t.Parallel()
	w := Defaults()
	w.Grid, w.Policy, w.Cycle, w.Several = &Grid{"test", []int{2, 2}, []float64{1, 1}}, plan.Policy{Kind: plan.EASY}, grid.Second, true
	job := func(at, limit grid.Tick, processes, site int) Job {
		return Job{Submit: at * grid.Second, Run: limit * grid.Second, Limit: limit * grid.Second, Processes: processes, Site: site, Wide: processes > 2}
	}
	w.Jobs = []Job{job(0, 100, 2, 0), job(1, 100, 4, 0), job(2, 150, 2, 1), job(52, 10, 2, 1)}
	out, err := w.Run(t.Context())
	if err != nil || out.Outcomes[1].Start != 100*grid.Second || out.Outcomes[2].Start != 200*grid.Second || out.Outcomes[3].Start != 52*grid.Second {
		t.Fatalf("%+v, %v", out, err)
	}
	if m := w.Measure(out); out.Idle != 100 || m.Idle != 100/(4*52.0) {
		t.Errorf("%v node-seconds, %v", out.Idle, m.Idle)
	}
}

func TestLoadIsAsAsked(t *testing.T) {
	t.Parallel()
	for i := range Grids {
		g := &Grids[i]
		jobs := Make(g, Load{Jobs: 5000, Share: 0.1, Use: 0.7, Seed: rand.Uint64()})
		work, wide := 0.0, 0
		for _, j := range jobs {
			work += float64(j.Processes) * j.Run.Seconds()
			if j.Wide {
				wide++
			}
			if j.Limit < j.Run || j.Run < 1 || j.Processes < 1 || j.Processes > g.Widest() || j.Submit < 0 {
				t.Fatalf("%s: %+v", g.Name, j)
			}
		}
		if use := work / float64(g.Nodes()) / jobs[len(jobs)-1].Submit.Seconds(); use < 0.55 || use > 0.95 {
			t.Errorf("%s is used for %.2f", g.Name, use)
		}
		if wide < 400 || wide > 600 {
			t.Errorf("%s: %d wide jobs of 5,000", g.Name, wide)
		}
	}
}
