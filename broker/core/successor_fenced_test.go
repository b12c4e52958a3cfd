package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site is fenced off that may have got a job before its term was raised: it is not waited for, nor is it after a start of the home.
func TestASuccessorThatIsFencedOffStaysSo(t *testing.T) {
	t.Parallel()
	for name, fences := range map[string]func(r grid.Record) *Core{
		"when the journal was put back": func(r grid.Record) *Core { return fencedUnheard(r) },
		"when the term had been raised": func(r grid.Record) *Core {
			r.Role, r.Owner, r.State, r.Epoch = grid.Watching, him, grid.Assigned, grid.Epoch{Term: 1, Hop: 7}
			c := signed(r)
			c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
			c.Step(1_000_002, Forget{Site: her, Fenced: true, By: "root"})
			return c
		},
	} {
		r := ready(jobOf(me, "a", "1"))
		before := fences(r).jobs[r.Job.ID]
		after := signed(before.rec).jobs[r.Job.ID]
		for life, j := range map[string]*job{"at once": before, "after a start": after} {
			if j.rec.Epoch.Term < 2 || j.successors[her] || !j.successors[it] {
				t.Errorf("%s, %s: it is at %s, and these are waited for: %v", name, life, j.rec.Epoch, j.successors)
			}
		}
	}
}

// Its word is of the term that was raised then: when that is raised once more, the site may have got the job since.
func TestASuccessorThatWasFencedOffBefore(t *testing.T) {
	t.Parallel()
	r := given()
	r.Fenced = []grid.PeerID{her}
	c := signed(r)
	c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
	for life, j := range map[string]*job{"at once": c.jobs[r.Job.ID], "after a start": signed(c.jobs[r.Job.ID].rec).jobs[r.Job.ID]} {
		if j.rec.Epoch.Term < 2 || !j.successors[her] || j.successors[him] {
			t.Errorf("%s: it is at %s, and these are waited for: %v", life, j.rec.Epoch, j.successors)
		}
	}
}

// So it is where a run was kept against whom a part of a journal that is lost gave it to.
func TestAKeptRunHearsWhoWasFencedOffBefore(t *testing.T) {
	t.Parallel()
	r := ready(jobOf(me, "a", "1"))
	r.Job.Rerunnable, r.State, r.Attempt, r.Started, r.Fenced = true, grid.Running, 1, 1_000_000, []grid.PeerID{her}
	c := signed(r)
	c.home.keepRun(c.jobs[r.Job.ID])
	if successors := signed(c.jobs[r.Job.ID].rec).jobs[r.Job.ID].successors; !successors[her] {
		t.Errorf("waited for: %v", successors)
	}
}

// Whoever was fenced off when the term was raised, or after he had said that there was nothing of the job with him, is not waited for either: after a start,
// as another has the job, nor where one who comes back tells that he had given it to him.
func TestWhoWasFencedOffIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		r := given()
		r.Job.Rerunnable = again
		c := signed(r)
		c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
		hear(c, it)
		j := c.jobs[r.Job.ID]
		if j.successors[it] || !j.successors[her] {
			t.Fatalf("may run again %t: these are waited for: %v", again, j.successors)
		}
		c.Step(c.now+1, Forget{Site: it, Fenced: true, By: "root"})
		chain := []grid.Certificate{certificate(r.Job, me, 5, him), certificate(r.Job, him, 7, her), certificate(r.Job, her, 9, it)}
		c.Step(c.now+1, Message{her, wire.Moved{Job: r.Job.ID, Certificates: chain, Version: j.sum()}})
		if j.successors[it] {
			t.Errorf("may run again %t: it was fenced off, and is waited for as she names it", again)
		}
		is := *copyOf(&j.rec)
		if again { // she has got it since
			is.Role, is.Owner, is.State, is.Epoch.Hop, is.Trail = grid.Watching, her, grid.Assigned, is.Epoch.Term+1, append(is.Trail, her)
		}
		if successors := signed(is).jobs[r.Job.ID].successors; successors[it] || successors[him] || successors[her] == again {
			t.Errorf("may run again %t: after a start these are waited for: %v", again, successors)
		}
	}
}
