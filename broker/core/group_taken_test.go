package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
)

// A group is made of new identifiers alone, and for a key once: of the same documents, as far as its jobs are still here.
func TestWhatAGroupIsMadeOf(t *testing.T) {
	t.Parallel()
	made := groupOf(3, "K", false)
	for name, k := range map[string]struct {
		change func(c *Core, e *SubmitGroup)
		why    string // "" is that it is answered
		again  bool
		jobs   int // that are answered
	}{
		"the same":                      {func(*Core, *SubmitGroup) {}, "", true, 3},
		"one of it was removed":         {func(c *Core, e *SubmitGroup) { c.jobs[e.Group.ID.Job(2)].rec.Removed = true; e.Jobs[1].Name = "x" }, "", true, 3},
		"one of it is gone":             {func(c *Core, e *SubmitGroup) { c.kernel.drop(c.jobs[e.Group.ID.Job(2)]); e.Jobs[1].Name = "x" }, "", true, 2},
		"another job":                   {func(_ *Core, e *SubmitGroup) { e.Jobs[2].Name = "x" }, "other documents", false, 0},
		"a job more":                    {func(_ *Core, e *SubmitGroup) { e.Jobs = append(e.Jobs, e.Jobs[0]) }, "other documents", false, 0},
		"its identifier, another key":   {func(_ *Core, e *SubmitGroup) { e.Group.Key = "L" }, "is taken", false, 0},
		"without a key":                 {func(_ *Core, e *SubmitGroup) { e.Group.Key = "" }, "is taken", false, 0},
		"the key of a job":              {func(c *Core, e *SubmitGroup) { e.Group.Key = "J" }, "that of job", false, 0},
		"jobs of other identifiers":     {func(_ *Core, e *SubmitGroup) { *e = groupOf(3, "M", false); e.Jobs[1].ID = e.Jobs[2].ID }, "job 2", false, 0},
		"a job that is there":           {func(c *Core, e *SubmitGroup) { *e = groupOf(3, "M", false); c.jobs[e.Jobs[1].ID] = &job{} }, "job 2", false, 0},
		"another group, with a new key": {func(_ *Core, e *SubmitGroup) { *e = groupOf(3, "M", false) }, "", false, 3},
	} {
		c := signed()
		c.Step(1_000_001, made)
		c.Step(1_000_002, Submit{Token: 5, Job: jobOf(me, "a", "7"), Key: "J"})
		e := made
		e.Jobs = append([]grid.Job(nil), made.Jobs...)
		k.change(c, &e)
		a, _ := only[Answer](c.Step(1_000_003, e))
		if (a.Err != nil) != (k.why != "") || a.Err != nil && (!errors.Is(a.Err, grid.ErrInvalid) || !strings.Contains(a.Err.Error(), k.why)) || a.Again != k.again || len(a.Jobs) != k.jobs {
			t.Errorf("%s: %v, again %t, %d jobs", name, a.Err, a.Again, len(a.Jobs))
		}
	}
}

// A group whose identifier is taken is refused though none of its jobs are left.
func TestAGroupWithoutJobsKeepsItsIdentifier(t *testing.T) {
	t.Parallel()
	c := signed()
	e := groupOf(1, "K", false)
	c.Step(1_000_001, e)
	c.kernel.drop(c.jobs[e.Group.ID.Job(1)])
	e.Group.Key = "L"
	if a, _ := only[Answer](c.Step(1_000_002, e)); !errors.Is(a.Err, grid.ErrInvalid) {
		t.Errorf("it is made again: %+v", a)
	}
}

// Only a group that there is, and that was not removed, is cancelled.
func TestWhichGroupIsCancelled(t *testing.T) {
	t.Parallel()
	c := signed()
	e := groupOf(2, "K", false)
	c.Step(1_000_001, e)
	if a, _ := only[Answer](c.Step(1_000_002, CancelGroup{Token: 2, Group: "a.nobody", By: "alice"})); !errors.Is(a.Err, grid.ErrNotFound) {
		t.Errorf("of nobody: %+v", a)
	}
	if a, _ := only[Answer](c.Step(1_000_003, CancelGroup{Token: 3, Group: e.Group.ID, By: "alice"})); a.Err != nil || !a.Group.CancelRequested {
		t.Errorf("it is not cancelled: %+v", a)
	}
	c.groups.all[e.Group.ID].rec.Removed = true
	if a, _ := only[Answer](c.Step(1_000_004, CancelGroup{Token: 4, Group: e.Group.ID, By: "alice"})); !errors.Is(a.Err, grid.ErrNotFound) {
		t.Errorf("removed: %+v", a)
	}
}
