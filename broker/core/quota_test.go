package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
)

// limited submits as a user until that is refused.
func limited(c *Core, j grid.Job, from int) (accepted int, refused error) {
	for n := from; n < from+20; n++ {
		j.ID = grid.NewJobID("a", fmt.Sprintf("%026d", n))
		a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: j, Key: fmt.Sprint(n)}))
		if a.Err != nil {
			return accepted, a.Err
		}
		accepted++
	}
	return accepted, nil
}

func TestUsersAreLimited(t *testing.T) {
	t.Parallel()
	size := fat(me, "a", 0, 1000)
	for _, k := range []struct {
		limit UserLimits
		most  int
		says  []string
	}{
		{UserLimits{Jobs: 3}, 3, []string{"`jobs`", "allows each user 3 jobs that have not ended", "alice has 3", "wait until some have ended"}},
		{UserLimits{Processes: 9}, 4, []string{"`processes`", "9 processes of jobs", "alice has 8", "2 more"}},
		{UserLimits{Documents: 5 * size.DocumentSize()}, 4, []string{"`documents`", "alice has"}},
		{UserLimits{Bytes: 2500}, 2, []string{"`bytes`", "2500 bytes of files", "alice has 2000", "1000 more"}},
		{UserLimits{Bytes: 10}, 0, []string{"make the job smaller"}},
		{UserLimits{}, 20, nil},
	} {
		c := bare()
		c.Step(c.now+1, LimitsChanged{User: k.limit})
		j := fat(me, "a", 0, 1000)
		j.Demand.Chunks[0].Processes = 2
		j.Inputs = grid.Manifest{{Path: "data", Size: 1000}}
		accepted, err := limited(c, j, 0)
		if accepted != k.most || (err == nil) != (k.says == nil) || err != nil && !errors.Is(err, grid.ErrNotYet) {
			t.Errorf("%+v: %d are accepted: %v", k.limit, accepted, err)
		}
		for _, word := range k.says {
			if !strings.Contains(fmt.Sprint(err), word) {
				t.Errorf("%+v: %v does not say %q", k.limit, err, word)
			}
		}
		if k.most == 0 || k.says == nil {
			continue
		}
		// Another user is served; and this one when a job has ended, after a restart too.
		j.User.Name = "bob"
		if n, _ := limited(c, j, 100); n != k.most {
			t.Errorf("%+v: another user: %d", k.limit, n)
		}
		var records []grid.Record
		for _, j := range c.jobs {
			records = append(records, j.rec)
		}
		c = New(c.cfg, nil, records)
		j.User.Name = "alice"
		if n, _ := limited(c, j, 200); n != 0 {
			t.Errorf("%+v: after a restart %d more", k.limit, n)
		}
		first := c.jobs[grid.NewJobID("a", fmt.Sprintf("%026d", 0))]
		c.execution.end(first, grid.Failed, "for the test")
		if n, _ := limited(c, j, 300); n != 1 {
			t.Errorf("%+v: with one ended %d more", k.limit, n)
		}
	}
}

// What is counted goes with the last job.
func TestNothingIsCountedOfThoseWithoutJobs(t *testing.T) {
	t.Parallel()
	c := bare()
	limited(c, fat(me, "a", 0, 0), 0)
	for _, j := range c.jobs {
		c.execution.end(j, grid.Failed, "for the test")
	}
	if len(c.users) != 0 {
		t.Errorf("%+v", c.users)
	}
}
