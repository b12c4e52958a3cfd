package grid

import "testing"

// A group counts which of its jobs ended by themselves, and not well, also where a result is set again.
func TestAGroupCountsFailedExits(t *testing.T) {
	t.Parallel()
	var g Group
	var page Results
	set := func(n int, r Result, failing int) {
		t.Helper()
		if g.Set(&page, n, r); g.Failing != failing {
			t.Errorf("after job %d ended as %+v %d failed, not %d", n, r, g.Failing, failing)
		}
	}
	set(1, Result{State: Completed, HasExit: true}, 0)
	set(2, Result{State: Completed, HasExit: true, ExitCode: 3}, 1)
	set(3, Result{State: Completed, Signal: 9}, 2)
	set(4, Result{State: Killed, Signal: 9}, 2)
	set(5, Result{State: Lost}, 2)
	set(2, Result{State: Completed, HasExit: true, ExitCode: 4}, 2)
	set(2, Result{State: Completed, HasExit: true}, 1)
	set(3, Result{State: Lost}, 0)
}

// Of a job that was cancelled before its turn, and ran nowhere, it is told that it never started; of one that ran, where.
func TestWhatIsToldOfAnEndWithoutARecord(t *testing.T) {
	t.Parallel()
	g := Group{ID: NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 6, Entered: 3, Sites: []SiteName{"there"}}
	const kept = "of this job of the group no more is kept than its end"
	for want, of := range map[string]Result{
		"cancelled before it started": {State: Killed},
		kept + ", at there":           {State: Killed, Site: "there"},
		kept:                          {State: Killed, Signal: 15},
		"it waits for its turn in its group: 3 of 6 jobs have had theirs": {},
	} {
		if r := g.Outline(4, of); r.Reason != want || r.State != max(of.State, Submitted) {
			t.Errorf("of %+v it is told that it is %s: %q", of, r.State, r.Reason)
		}
	}
	g.Sites = make([]SiteName, maxSites)
	if r := g.Outline(4, Result{State: Killed}); r.Reason != kept {
		t.Errorf("where it ran may not be kept, and it is told: %q", r.Reason)
	}
}
