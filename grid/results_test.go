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
