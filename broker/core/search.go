package core

import (
	"math/rand/v2"

	"gbroker/grid"
	"gbroker/plan"
)

// search finds the place of each job: of those that have none (estimate.go, decide.go), of those
// that wait in the local queue (reevaluate.go), and of those that nobody has handed in (where.go).
type search struct {
	*kernel
	undecided []grid.JobID // READY jobs without a place, in order of arrival
	round     *round       // the search under way, or nil
	passes    passes       // the search for jobs that wait in the local queue
	wheres    []*where     // dry runs
	random    *rand.Rand   // for jitter alone

	budgets interface {
		lienFor(j *job, row *grid.Candidate) *grid.Refusal
		beyond(j *grid.Job) *grid.Refusal
		shortFor(j *job, row *grid.Candidate) *grid.Refusal
	}
	estimator interface {
		estimate(b *batch, q plan.Question, reservation grid.ReservationID) grid.Estimate
		look()
		newForecast(s plan.Snapshot) forecast
		question(j *grid.Job, now grid.Tick) plan.Question
	}
	execution interface {
		end(j *job, state grid.State, reason string)
		launch(j *job, why string)
	}
	gates interface {
		beforeFailing(j *job) gate
		beforeHandingOn(j *job) gate
		beforePlacing(j *job) gate
		beforeStart(j *job) gate
		beforeSearch() gate
		beforeAnyStart() gate
		kept(j *job) keeping
		why(j *job, hold gate) string
	}
	ownership interface {
		makeOffer(j *job, to grid.PeerID, wait grid.Tick, hops uint32)
		mayHandOn(j *job) bool
	}
	terms interface {
		giveBack(j *job)
		renew(j *job)
	}
}

func (c *search) routes(r *routes) {
	onEvent(r, c.where)
	onEvent(r, c.onWeighed)
	onMessage(r, c.estimateReply)
	onGeneral(r, startedDue, c.waitLonger)
	onGeneral(r, roundDeadline, c.endRound)
	onGeneral(r, passDue, c.wantPass)
	onGeneral(r, passDeadline, c.endPass)
	onGeneral(r, whereDeadline, c.whereDue)
	r.after = append(r.after, c.startRound, c.startPass)
}
