package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// What the user of a job wants of the place that is searched for it.

// Refusals in his name.
const (
	unwantedSite = "its user does not want it there"
	tooLate      = "it would end after its deadline"
	tooDear      = "it costs more for a core and hour than is paid for the job"
)

// unwanted is that the user of a job wants it elsewhere, or has bound it to a reservation elsewhere. A site is meant by
// the name that it gives itself, and by that which it has here.
func (c *search) unwanted(j *job, p grid.PeerID) *grid.Refusal {
	names, of := c.namesOf(p), &j.rec.Job
	if !isAnyOf(of.Sites.Not, names) && (len(of.Sites.Only) == 0 || isAnyOf(of.Sites.Only, names)) {
		return nil
	}
	why := unwantedSite
	switch {
	case of.Reservation != "" && len(of.Sites.Only) > 0:
		why = fmt.Sprintf("bound to reservation %s at %s", of.Reservation, of.Sites.Only[0])
	case len(of.Sites.Only) > 0 && !c.knowsAny(of.Sites.Only):
		why = fmt.Sprintf("its user wants it at %s, which is not known here", of.Sites.Only[0])
	}
	return &grid.Refusal{Kind: grid.Permanent, Reason: why}
}

// knowsAny tells that a site of one of these names is known here.
func (c *search) knowsAny(names []grid.SiteName) bool {
	if isAnyOf(names, c.namesOf(c.cfg.Self)) {
		return true
	}
	for p := range c.members {
		if isAnyOf(names, c.namesOf(p)) {
			return true
		}
	}
	return false
}

func (c *search) namesOf(p grid.PeerID) []grid.SiteName {
	names := []grid.SiteName{c.siteName(p)}
	if m := c.members[p]; m != nil && m.site.Name != "" {
		names = append(names, m.site.Name)
	}
	return names
}

func isAnyOf(list, names []grid.SiteName) bool {
	return slices.ContainsFunc(names, func(n grid.SiteName) bool { return slices.Contains(list, n) })
}

// wished makes a row of which the times are known what it is for this job: a site that would end
// it too late cannot run it; and where its user prefers others, a site counts as if it were done a
// minute and a tenth later, so that a preferred one is chosen unless it is later by more.
// Least is what the site needs for the job after its delivery, however few others there are.
func (c *search) wished(j *job, row *grid.Candidate, least grid.Tick) {
	if len(j.rec.Job.Sites.Prefer) > 0 && !isAnyOf(j.rec.Job.Sites.Prefer, c.namesOf(row.Peer)) {
		row.Unpreferred = grid.Minute + row.Total/10
		row.Total += row.Unpreferred
	}
	t := &j.rec.Job.Terms
	if dear(t, row) {
		row.Refusal = dearer(float64(t.Fee), row.Price)
		return
	}
	end, late := c.late(t, row)
	if !late {
		return
	}
	row.Refusal = &grid.Refusal{Kind: grid.Temporary, Reason: tooLate, Asked: t.Deadline.Stamp(), Available: end.Stamp()}
	if handedIn := j.rec.Submitted != 0; !handedIn || c.now+row.Delivery+least > t.Deadline {
		row.Refusal.Kind = grid.Permanent // what nobody has handed in yet need not hope for others to end early
	}
}

// dear tells that a place costs more than is paid.
func dear(t *grid.Terms, row *grid.Candidate) bool { return t.Fee > 0 && row.Price > float64(t.Fee) }

// late is when a job would end at a place of which the times are known, and whether that is after its deadline.
func (c *search) late(t *grid.Terms, row *grid.Candidate) (end grid.Tick, late bool) {
	end = max(c.now+row.Delivery+row.Wait, t.NotBefore) + row.Run
	return end, t.Deadline != 0 && end > t.Deadline
}

// inVain is the end of a job that no site will ever run: by its deadline, where one of them could run it, and too late. What
// sites say of their refusals is for people.
func (c *search) inVain(t *grid.Terms, rows []grid.Candidate) grid.State {
	for i := range rows {
		if known := rows[i].Run > 0; known && !dear(t, &rows[i]) {
			if _, late := c.late(t, &rows[i]); late {
				return grid.CancelledDeadline
			}
		}
	}
	return grid.Failed
}

// byPriority has the jobs of each user take the turns of that user in the order of their priorities.
func (c *search) byPriority(ids []grid.JobID) []grid.JobID {
	turns := map[string][]int{}
	wanted := false
	for i, id := range ids {
		if j := c.jobs[id]; j != nil && c.isHome(j) {
			turns[j.rec.Job.User.Name] = append(turns[j.rec.Job.User.Name], i)
			wanted = wanted || j.rec.Job.Terms.Priority != 0
		}
	}
	if !wanted {
		return ids
	}
	ordered := slices.Clone(ids)
	for _, list := range turns {
		mine := make([]grid.JobID, len(list))
		for k, i := range list {
			mine[k] = ids[i]
		}
		slices.SortStableFunc(mine, func(a, b grid.JobID) int {
			return c.jobs[b].rec.Job.Terms.Priority - c.jobs[a].rec.Job.Terms.Priority
		})
		for k, i := range list {
			ordered[i] = mine[k]
		}
	}
	return ordered
}
