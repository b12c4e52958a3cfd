package core

import "gbroker/grid"

// execution runs the attempts of the jobs owned here in the local batch system, and clears up
// what no job has there.
type execution struct {
	*kernel
	strays  map[grid.AttemptID]int // in the batch system and of no record: how often seen
	orphans map[grid.JobID]int     // folders of no record: how often seen

	estimator interface {
		began(r *grid.Record)
		expect(j *job)
		learn(r *grid.Record)
	}
	gates interface {
		beforeCancel(j *job) gate
		beforeHandingOn(j *job) gate
		beforeStart(j *job) gate
		beforeEnd(j *job) gate
		beforeLettingGo(j *job) gate
		beforeRunningAgain(j *job) gate
		beforeStanding(j *job) gate
		beforeStrays() gate
		beforeSweep() gate
		beforePassing(told bool) gate
		why(j *job, hold gate) string
	}
	home interface {
		adopt(j *job, k claim)
		allHere(j *job)
		killedUnheard(j *job) bool
		refuseClaim(j *job)
		conclude(j *job)
	}
	ownership interface {
		abandon(j *job, why string)
		commit(j *job)
		dropOffer(j *job, why string)
		inputsLooked(j *job, missing error)
		letGo(j *job)
	}
	recovery interface {
		behind(j *job, a grid.AttemptID)
		isHere(j *job)
	}
	reservations interface {
		arrived(j *job)
		isOver(id grid.ReservationID) bool
		bind(j *job) (binding, *grid.Refusal)
	}
	search interface {
		predicted(j *job)
		ready(j *job, why string)
	}
	terms interface {
		tooLate(j *job)
	}
}

func (c *execution) routes(r *routes) {
	onEvent(r, c.launched)
	onEvent(r, c.withdrawn)
	onEvent(r, c.progressed)
	onEvent(r, c.collected)
	onEvent(r, c.checked)
	onEvent(r, c.strayed)
	onEvent(r, c.sweep)
	onEvent(r, c.endJob)
	onMessage(r, c.onGather)
	onJob(r, onBatch, c.batchDue)
}
