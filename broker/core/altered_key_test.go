package core

import (
	"errors"
	"testing"

	"gbroker/grid"
)

// A job that was altered is still the one that its key made: whoever asks again with the document of then, as after a lost answer, gets
// it, in this life and the next; another document is refused, also the one that would make what it now is.
func TestAnAlteredJobIsKnownByItsKey(t *testing.T) {
	t.Parallel()
	of := func() grid.Job {
		j := jobOf(me, "a", "1")
		j.Terms.Held = true
		return j
	}
	handedIn := of()
	longer, longest, more, queue := handedIn.Walltime+1, handedIn.Walltime+2, handedIn.Demand.Processes()*2, grid.QueueName("other")
	altered, err := handedIn.With(grid.Alteration{Walltime: &longest, Processes: &more, Queue: &queue})
	if err != nil {
		t.Fatal(err)
	}
	c := signed()
	c.Step(c.now+1, Submit{Token: 1, Job: of(), Key: "K"})
	for _, to := range []grid.Alteration{{Walltime: &longer}, {Walltime: &longest, Processes: &more, Queue: &queue}} {
		if a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 2, Job: handedIn.ID, To: to, By: "alice"})); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if r := c.jobs[handedIn.ID].rec; r.Altered != nil || r.Job.Walltime != longest || r.Job.Queue != queue {
		t.Fatalf("it is not altered: %+v", r.Job)
	}
	for life := range 2 {
		for name, k := range map[string]struct {
			job  grid.Job
			same bool
		}{"as it was": {of(), true}, "as it is now": {altered, false}} {
			k.job.ID = jobOf(me, "a", "2").ID
			a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 3, Job: k.job, Key: "K"}))
			if k.same != (a.Err == nil && a.Again && a.Record.Job.ID == handedIn.ID) || !k.same && !errors.Is(a.Err, grid.ErrInvalid) {
				t.Errorf("life %d, %s: %v, again %t", life, name, a.Err, a.Again)
			}
		}
		c = signed(c.jobs[handedIn.ID].rec)
	}
}

// The same of a job of a group.
func TestAGroupWithAnAlteredJobIsKnownByItsKey(t *testing.T) {
	t.Parallel()
	c := signed()
	held := func() SubmitGroup {
		g := groupOf(2, "G", false)
		for i := range g.Jobs {
			g.Jobs[i].Terms.Held = true
		}
		return g
	}
	c.Step(c.now+1, held())
	id, longer := held().Jobs[1].ID, 2*grid.Hour
	if a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 2, Job: id, To: grid.Alteration{Walltime: &longer}, By: "alice"})); a.Err != nil || c.jobs[id].rec.Job.Walltime != longer {
		t.Fatal(a.Err)
	}
	if a, _ := only[Answer](c.Step(c.now+1, held())); a.Err != nil || !a.Again {
		t.Errorf("%v, again %t", a.Err, a.Again)
	}
}

// A home that was put back to before it altered a job takes that version from who has it, and knows the key by what it had.
func TestAVersionOfOthersIsKnownByItsKey(t *testing.T) {
	t.Parallel()
	j := &job{rec: grid.Record{Job: jobOf(me, "a", "1")}}
	handedIn, of := j.rec.Job, j.rec.Job
	of.Walltime++
	if j.takeVersion(of); j.rec.Job.Walltime == handedIn.Walltime {
		t.Fatal("it has another version")
	}
	if of := j.handedIn(j.rec.Job); !alike(&of, &handedIn) {
		t.Errorf("it was handed in as %+v", of)
	}
}
