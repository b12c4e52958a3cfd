package workflow

import (
	"testing"
	"time"

	"gbroker/grid"
)

// A lower bound holds, though the plan is made with what is guessed: run times that nobody said, what sites take beside a run, how much of a
// resource a site has that was not asked about more. Of tasks that have run before the least counts.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	w := &Workflow{Tasks: []Task{
		{Name: "said", Runtime: 10 * time.Second, Resources: []grid.Resource{{Name: "gpu", Amount: 1}}},
		{Name: "beside", Runtime: 10 * time.Second, Resources: []grid.Resource{{Name: "gpu", Amount: 1}}},
		{Name: "limited", Walltime: time.Hour, After: []string{"said"}},
		{Name: "unsaid", After: []string{"limited"}},
	}}
	home := Place{Name: "home", Cores: 4, Speed: 2, Rate: 1e6, Overhead: 5 * time.Second, Amounts: []Amount{{Name: "gpu", Most: 1}}}
	for _, c := range []struct {
		progress []Progress
		path     time.Duration
	}{
		{nil, 5 * time.Second},
		{[]Progress{{Needs: []time.Duration{time.Minute}, Least: []time.Duration{4 * time.Second}}, {Done: true}}, 2 * time.Second},
		{[]Progress{{Runs: true, Left: time.Minute}, {Done: true}, {}, {Least: []time.Duration{8 * time.Second}}}, 4 * time.Second},
	} {
		p, err := w.Plan([]Place{home}, c.progress, Quick)
		if err != nil {
			t.Fatal(err)
		}
		if p.Path < c.path || p.Path > c.path+time.Millisecond || p.Work > c.path || p.Makespan < 30*time.Minute {
			t.Errorf("%+v: makespan %v, bounds %v and %v, not %v", c.progress, p.Makespan, p.Path, p.Work, c.path)
		}
	}
}
