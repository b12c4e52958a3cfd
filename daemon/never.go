package daemon

import (
	"fmt"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// never refuses a job of which all sites have said that they could never run it; nil where one may.
func never(j *grid.Job, d grid.Decision) error {
	switch deadline := j.Terms.Deadline; {
	case !core.Never(d):
		return nil
	case deadline != 0 && deadline <= d.At:
		return fmt.Errorf("%w: the deadline %s has passed", grid.ErrInvalid, deadline.Stamp())
	case j.Reservation != "":
		d.Candidates = slices.DeleteFunc(d.Candidates, func(c grid.Candidate) bool { return !slices.Contains(j.Sites.Only, c.Site) })
		return fmt.Errorf("%w: the job cannot run in its reservation: %s", grid.ErrInvalid, core.Reasons(d))
	}
	return fmt.Errorf("%w: no site that is known here could ever run it: %s; correct the document, %sor submit it with --queue-anyway to wait for a site that can", grid.ErrInvalid, core.Reasons(d), severalSites(d))
}

// severalSites is the way out for a job that is wider than every site.
func severalSites(d grid.Decision) string {
	if len(d.Candidates) > 1 && slices.ContainsFunc(d.Candidates, func(c grid.Candidate) bool { return c.Refusal != nil && c.Refusal.TooWide }) {
		return "let it have several sites (--sites-at-most, or Coallocation in the document), "
	}
	return ""
}
