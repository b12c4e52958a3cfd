package core

import "gbroker/grid"

// The inputs of a job may be gone where it is owned: a machine was put back to a time before they
// came, or somebody has deleted them. Then nobody can fetch them, and the job would be offered for ever.
// So an owner whose offer is refused after it was accepted looks for itself:
//
//	Offer ─► Accept ─► Refuse ─► Check ─► all are here: the search goes on
//	                                  └► one is not:    FAILED
//
// So does a candidate that was started, or put back, since it was PREPARED, before it owns the job: it may have dropped them in a part of its journal that is lost.
//
//	Commit, or InquireReply{committed} ─► Check ─► all are here: Inquire, and it is owned
//	                                            └► one is not:    Declined
//
// So does a home that was put back to before they had come, when a job is here again that another has had: one that is not here comes from its user again, or with
// the job from who gives it back.

// checkInputs looks for them, where a candidate that had accepted the job refuses it.
func (c *execution) checkInputs(j *job) {
	if j.heard != 0 && len(j.rec.Job.Inputs) > 0 {
		c.emit(Check{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Files: j.rec.Job.Inputs})
	}
}

// checked ends a job that can start nowhere. Where an attempt of it waits, its working tree is made.
func (c *execution) checked(e Checked) {
	j := c.job(e.Job)
	if j != nil && j.rec.Role == grid.Prepared && j.rec.Handoff.Epoch == e.Epoch {
		c.ownership.inputsLooked(j, e.Missing)
		return
	}
	if e.Missing == nil && j != nil && j.rec.Role == grid.Owning && j.rec.Epoch == e.Epoch && j.rec.State == grid.StageIn && j.rec.Unsupplied {
		c.home.allHere(j)
		return
	}
	if e.Missing == nil || j == nil || j.rec.Role != grid.Owning || j.rec.Epoch != e.Epoch || j.rec.Local != "" || c.gates.beforeStart(j) != open {
		return
	}
	if j.rec.State == grid.Ready || j.rec.State == grid.Moving && j.rec.Handoff.Phase == grid.Offering {
		c.ownership.abandon(j, "its inputs are gone")
		c.end(j, grid.Failed, "its inputs are not here any more: "+clip(e.Missing.Error()))
	}
}
