package core

import (
	"gbroker/grid"
	"gbroker/plan"
)

// estimator tells when a job would start here: to the search of this site and to those of others,
// from a plan of what the batch system shows, what is coming, and what was learned of run times.
type estimator struct {
	*kernel
	estimates  []pendingEstimate // questions of others that wait for a snapshot
	slotsAsked []pendingSlots    // so do these
	looking    bool              // a snapshot is being taken
	seen       grid.Tick         // when the last good one came
	planned    planned

	toldAt      grid.Tick // when members were told of starts
	toldChanges uint64    // of the jobs here, when that was looked at

	// What is learned from the jobs that ran here.
	runTimes            plan.RunTimes
	learned             int                    // how many run times
	outcomes            []outcome              // in the order of their starts; at most 2*keptStarts
	judged              bool                   // readers know their sum
	waiting             []outcome              // jobs that should have started here and have not; their Start is now, or later
	spreads             [waitClasses]*spreadOf // made from them; nil: not yet
	earlyRank, lateRank plan.Rank              // of the errors that are told

	execution interface {
		refusedHere(id grid.JobID, of alterable) *grid.Refusal
	}
	home interface {
		report(j *job)
	}
	ownership interface {
		considerOffer(o pendingOffer, b *batch, s plan.Snapshot, held *allowance)
		takeOffers() []pendingOffer
		usedBy(p grid.PeerID) (a allowance)
		usedByMember() map[grid.PeerID]*allowance
	}
	reservations interface {
		reserved(id grid.ReservationID, q plan.Question) grid.Estimate
		free(slots []grid.Slot, but grid.ReservationID) []grid.Slot
		grace(node grid.NodeName, end grid.Tick) grid.Tick
		gridedBy(from, to grid.Tick) []plan.Grided
		held(list []plan.Reservation) []plan.Reservation
	}
	search interface {
		beginPass(s plan.Snapshot, o forecast)
		noOwnAnswer(why *grid.Refusal)
		noPass()
		ownAnswer(b *batch, s plan.Snapshot)
		stir(s plan.Snapshot)
		whereHere(l grid.Load, estimate func(*grid.Job) grid.Estimate, missing *grid.Refusal)
	}
}

// safe is the plan of the last look, in which all may run to their limits.
func (c *estimator) safe() *plan.Plan { return c.planned.safe }

func (c *estimator) routes(r *routes) {
	onEvent(r, c.looked)
	onMessage(r, c.estimateRequest)
	onMessage(r, c.onSlots)
	onGeneral(r, startsDue, c.startsDue)
}
