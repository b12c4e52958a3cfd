package core

import (
	"testing"

	"gbroker/grid"
)

// A site is fenced off that may have got a job before its term was raised: it is not waited for, nor is it after a start of the home.
func TestAnHeirThatIsFencedOffStaysSo(t *testing.T) {
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
			if j.rec.Epoch.Term < 2 || j.heirs[her] || !j.heirs[it] {
				t.Errorf("%s, %s: it is at %s, and these are waited for: %v", name, life, j.rec.Epoch, j.heirs)
			}
		}
	}
}

// Its word is of the term that was raised then: when that is raised once more, the site may have got the job since.
func TestAnHeirThatWasFencedOffBefore(t *testing.T) {
	t.Parallel()
	r := given()
	r.Fenced = []grid.PeerID{her}
	c := signed(r)
	c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
	for life, j := range map[string]*job{"at once": c.jobs[r.Job.ID], "after a start": signed(c.jobs[r.Job.ID].rec).jobs[r.Job.ID]} {
		if j.rec.Epoch.Term < 2 || !j.heirs[her] || j.heirs[him] {
			t.Errorf("%s: it is at %s, and these are waited for: %v", life, j.rec.Epoch, j.heirs)
		}
	}
}
