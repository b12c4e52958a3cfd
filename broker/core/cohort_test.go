package core

import (
	"testing"

	"gbroker/grid"
)

// A pool none of whose computers could hold a job, as it announced, is not asked about it; another is, and so is that pool about a job that it may hold. The
// answers of a site, which tell no cohorts, leave those that it announced.
func TestNoCohortHoldsIt(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	announced := grid.Site{Name: "a", Processes: 4, Speed: 1, Cohorts: []grid.Cohort{{Cores: 2, Computers: 2}}}
	c.Step(1000, PeerSite{Peer: "a", Site: announced})
	e.All = true
	c.Step(1000, e)
	replied(c, c.Step(1000, Looked{Snapshot: shot}), map[grid.PeerID]grid.Estimate{"a": {Wait: 5}, "b": {Wait: 5}})
	for cores, holds := range map[int]bool{2: true, 3: false} {
		asks := &job{rec: grid.Record{Job: e.Job}}
		asks.rec.Job.Demand.Chunks = []grid.Chunk{{Count: cores, Processes: 1, Cores: 1}}
		id := asks.rec.Job.ID
		c.jobs[id] = asks
		r := &round{id: 7, jobs: []grid.JobID{id}, replies: map[grid.PeerID]*reply{}}
		c.search.askTargets(r)
		if why := r.replies["a"].missing; (why == nil) != holds || why != nil && why.Kind != grid.Permanent {
			t.Errorf("%d cores: the pool is not asked since %+v", cores, why)
		}
		if r.replies["b"].missing != nil || holds != (r.waiting == 2) {
			t.Errorf("%d cores: %d are asked", cores, r.waiting)
		}
		delete(c.jobs, id)
	}
	if f := c.estimator.factsOf(shot); f.Cohorts != nil {
		t.Error("an answer tells cohorts")
	}
}
