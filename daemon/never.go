package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
)

// never refuses a job of which all sites have said that they could never run it; nil where one may.
func never(j *grid.Job, d grid.Decision, known []sized) error {
	switch deadline := j.Terms.Deadline; {
	case !core.Never(d):
		return nil
	case deadline != 0 && deadline <= d.At:
		return fmt.Errorf("%w: the deadline %s has passed", grid.ErrInvalid, deadline.Stamp())
	case j.Reservation != "":
		d.Candidates = slices.DeleteFunc(d.Candidates, func(c grid.Candidate) bool { return !slices.Contains(j.Sites.Only, c.Site) })
		return fmt.Errorf("%w: the job cannot run in its reservation: %s", grid.ErrInvalid, core.Reasons(d))
	}
	return &api.Impossible{Why: core.Reasons(d), Wide: couldBeSpread(j, d, known)}
}

// couldBeSpread tells of a job that is wider than every site alone, and asks for one, that several together have the processors.
func couldBeSpread(j *grid.Job, d grid.Decision, known []sized) bool {
	wide := slices.ContainsFunc(d.Candidates, func(c grid.Candidate) bool { return c.Refusal != nil && c.Refusal.TooWide })
	if !wide || len(d.Candidates) < 2 || j.Coallocation != nil || len(j.Demand.Chunks) != 1 {
		return false
	}
	spread := *j
	spread.Coallocation = &grid.Coallocation{Sites: grid.MaxPartSites, PerSite: 1}
	return tooWide(&spread, known) == nil
}

// unheard warns of a job for which every site that has been heard of is too small: one of which nothing is known yet may be larger. Nil where
// one has the cores, or all are known.
func unheard(j *grid.Job, known []sized) error {
	var silent []string
	for _, s := range known {
		switch c := &j.Sites; {
		case len(c.Only) > 0 && !slices.Contains(c.Only, s.name) || slices.Contains(c.Not, s.name):
		case s.processes == 0:
			silent = append(silent, string(s.name))
		case j.Coallocation != nil || j.Demand.Cores() <= s.processes:
			return nil
		}
	}
	if len(silent) == 0 || j.Demand.Cores() == 0 {
		return nil
	}
	asked := fmt.Sprintf("the %d processors", j.Demand.Cores())
	if j.Demand.Cores() == 1 {
		asked = "the processor"
	}
	return fmt.Errorf("no site that has been heard of has %s that it asks for, and nothing is known yet of %s: it waits until one can run it", asked, strings.Join(silent, ", "))
}

// Never says of each job why no site that is known here could ever run it; nil where one may. Those that any site can run are not asked about.
func (s service) Never(ctx context.Context, who api.Identity, jobs []grid.Job) ([]error, error) {
	why := make([]error, len(jobs))
	var asked []grid.Job
	var at []int
	for i := range jobs {
		switch {
		case jobs[i].Coallocation != nil:
			why[i] = tooWide(&jobs[i], s.site.sizes())
		case !simple(jobs[i], s.site.factsNow()):
			asked, at = append(asked, jobs[i]), append(at, i)
		}
	}
	if len(asked) == 0 {
		return why, nil
	}
	answers, err := s.WhereEach(ctx, who, asked)
	if err != nil {
		return nil, err
	}
	for k, d := range answers {
		if core.Never(d) {
			why[at[k]] = errors.New(core.Reasons(d))
		}
	}
	return why, nil
}
