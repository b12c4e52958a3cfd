package pool_test

import (
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// A job that is suspended for the owner of its computer says so, and whose it is once it was started again elsewhere.
func TestSuspendedJobSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.puppet("a")
	j := s.submit("true", func(j *grid.Submission) { j.Job.Rerunnable = true })
	r := a.begins(j)
	tells := func(still, place string, starts int) {
		t.Helper()
		p, err := s.Progress(t.Context(), j.ID, j.Control)
		if err != nil || p.Phase != grid.Started || p.Still != still || p.Place != place || p.Starts != starts {
			t.Errorf("it tells %q of place %q, started %d times; want %q, %q, %d (%v)", p.Still, p.Place, p.Starts, still, place, starts, err)
		}
	}
	a.report(r)
	tells("", "a", 1)
	r.State = line.Suspended
	for availability, why := range map[line.Availability]string{line.Active: "in use by its owner", line.Paused: "paused by its owner", line.Barred: "closed by its owner's rules"} {
		a.must(line.ReportPath, line.Status{Session: a.session, Availability: availability, Speed: 1, Jobs: []line.Report{r}}, nil)
		tells("suspended: computer a is "+why, "a", 1)
	}
	if status := a.ends(r, line.CutOff); status != 200 {
		t.Fatal(status)
	}
	tells("its computer could not go on with it: it waits to be started again", "", 1)
	b := s.puppet("b")
	r = b.begins(j)
	b.report(r)
	tells("", "b", 2)
	b.ends(r, line.ByItself)
	s.end(j)
}
