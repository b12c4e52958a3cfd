package pool_test

import (
	"net/http"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/line"
)

// A job whose deadline no plan makes any more takes the computer of one that writes checkpoints, which goes on elsewhere; from who writes none, or has a deadline of
// its own, nothing is taken.
func TestEndangeredTakesAComputer(t *testing.T) {
	t.Parallel()
	all := func(limit grid.Tick) func(*grid.Submission) {
		return func(j *grid.Submission) { j.Limit, j.Job.Walltime, j.Job.Demand.Chunks[0].Cores = limit, limit, 4 }
	}
	saving := func(j *grid.Submission) {
		all(3 * grid.Hour)(j)
		j.Job.Rerunnable = true
		j.Job.Program.Environment = []grid.Variable{{Name: pool.Checkpoint, Value: "state"}}
	}
	for name, test := range map[string]struct {
		victim func(*grid.Submission)
		brings bool
		gives  bool
	}{
		"it has brought a checkpoint": {saving, true, true},
		"it has brought none":         {saving, false, false},
		"not rerunnable":              {func(j *grid.Submission) { saving(j); j.Job.Rerunnable = false }, true, false},
		"it has a deadline": {func(j *grid.Submission) {
			saving(j)
			j.Job.Terms.Deadline = control.Now() + 20*grid.Hour
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			a := s.puppet("a")
			v := s.submit("true", test.victim)
			r := a.begins(v)
			if test.brings {
				if status := a.leaves(r, "state", "half"); status != http.StatusOK {
					t.Fatal(status)
				}
			}
			b := s.puppet("b")
			b.begins(s.submit("true", all(5*grid.Minute)))
			a.report(r)
			e := s.submit("true", func(j *grid.Submission) {
				all(10 * grid.Minute)(j)
				j.Job.Terms.Deadline = control.Now() + 50*grid.Minute
			})
			if err := pool.Revoke(s.conf.Spool, "b"); err != nil {
				t.Fatal(err)
			}
			has := func(p *puppet, held []line.Report, j grid.Submission) bool {
				return slices.ContainsFunc(p.report(held...).Jobs, func(o line.Order) bool { return o.Tag == j.ID.Tag() })
			}
			if !test.gives {
				s.until("the pool has no b any more", func() bool { return s.speed("b") == 0 })
				s.submit("true", nil) // a pass
				for range 20 {
					if !has(a, []line.Report{r}, v) {
						t.Fatal("it gave way")
					}
				}
				return
			}
			s.until("it has the computer", func() bool { return has(a, []line.Report{r}, e) && !has(a, []line.Report{r}, v) })
			c := s.puppet("c")
			c.begins(v)
			if p, err := s.Progress(t.Context(), v.ID, v.Control); err != nil || p.Phase != grid.Started || p.Place != "c" || p.Starts != 2 {
				t.Errorf("who gave way is %+v, %v", p, err)
			}
		})
	}
}
