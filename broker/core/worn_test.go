package core

import (
	"testing"

	"gbroker/grid"
)

// A working tree in which an attempt has run is made anew for the next one, also where the launch of that
// failed before it was, or died with this broker; and not where nothing has run in it, or where it has the only inputs.
func TestAWornTreeIsMadeAnew(t *testing.T) {
	t.Parallel()
	again := func(rerunnable bool, attempt uint32, started grid.Tick) (*Core, *job) {
		j := jobOf(me, "a", "1")
		if !rerunnable {
			j = jobOf(her, "b", "1")
		}
		j.Rerunnable = rerunnable
		c := signed()
		k := &job{rec: grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: attempt, Started: started}}}
		k.homeHeard = c.now
		c.jobs[j.ID], c.live[j.ID] = k, k
		return c, k
	}
	launch := func(c *Core, k *job) Launch {
		c.out = nil
		c.execution.launch(k, "again")
		l, is := only[Launch](c.out)
		if !is {
			t.Fatalf("not launched: %v", c.out)
		}
		return l
	}
	c, k := again(true, 1, 5)
	if !launch(c, k).Fresh {
		t.Error("an attempt has run in it")
	}
	k.rec.State = grid.Ready
	if !launch(c, k).Fresh {
		t.Error("an attempt has run in it, and the launch of the next one failed")
	}
	c.Step(c.now+1, Launched{ID: c.attempt(k), Local: "l"})
	k.rec.State = grid.Ready
	if launch(c, k).Fresh {
		t.Error("it was made anew, and nothing has run in it since")
	}
	if c, k := again(true, 2, 0); launch(c, k).Fresh {
		t.Error("nothing has run in it")
	}
	if c, k := again(false, 1, 0); launch(c, k).Fresh {
		t.Error("a job that runs once has its inputs in the tree")
	}
	for _, attempt := range []uint32{2, 0} { // it has run here, was given away, and starts again at a new term
		j := jobOf(me, "a", "2")
		j.Rerunnable = true
		c = signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: attempt}})
		k = c.jobs[j.ID]
		k.reconciled = true
		c.cfg.EstimateDeadline = 1
		if c.now += 1000; !launch(c, k).Fresh {
			t.Errorf("an attempt before the last start may have run in it: %d are known", attempt)
		}
	}
}
