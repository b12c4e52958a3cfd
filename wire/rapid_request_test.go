package wire

import (
	"fmt"

	"gbroker/grid"
)

func (d draw) groupID() grid.GroupID {
	return grid.NewGroupID("xeon16", fmt.Sprintf("%026d", d.n(0, 99)))
}

func (d draw) request() Request {
	m := Request{Number: d.u64(), User: "u" + d.name(), Administrator: d.yes(), Wish: Wish(d.n(0, int64(wishes)-1)), Echo: d.u64()}
	switch m.Wish {
	case WishAlter:
		held, priority := d.yes(), int(d.n(-grid.MaxPriority, grid.MaxPriority))
		m.Alter = &Alteration{Held: &held, NotBefore: In(d.ago()), Priority: &priority}
	case WishResubmit:
		m.Key = "k" + d.name()
	case WishDecisions:
	default:
		if d.yes() {
			m.Group, m.After, m.Limit = d.groupID(), int(d.n(0, grid.MaxSweep)), int(d.n(0, MaxMembers))
			return m
		}
	}
	m.Job = d.jobID()
	return m
}

func (d draw) response() Response {
	if d.yes() {
		return Response{Number: d.u64(), Job: d.jobID(), Outcome: Outcome(d.n(2, int64(outcomes)-1)), Why: d.word(), Echo: d.u64()}
	}
	if d.yes() {
		return Response{Number: d.u64(), Group: d.groupID(), Outcome: OutcomeDone, About: d.about(), Events: many(d, 3, d.event)}
	}
	return Response{
		Number: d.u64(), Job: d.jobID(), Outcome: OutcomeDone, Status: d.status(), Certain: d.yes(), Events: many(d, 3, d.event),
		Decisions: many(d, 3, func() Decision {
			unmoved, why := d.yes(), ""
			if unmoved {
				why = d.word()
			}
			return Decision{At: d.ago(), Epoch: d.epoch(), Unmoved: unmoved, Stays: why, Candidates: many(d, 3, func() grid.Candidate {
				return grid.Candidate{Peer: d.maybePeer(), Size: d.n(0, 1<<40), Wait: d.wait(), Chosen: d.yes(), Doubt: d.word(), Told: d.yes(), Least: d.wait(), Bandwidth: float64(d.n(0, 1<<40))}
			})}
		}),
	}
}

func (d draw) event() Event {
	return Event{At: d.ago(), State: grid.State(d.n(0, int64(grid.Lost))), Epoch: d.epoch(), Why: d.word()}
}

func (d draw) about() *GroupStatus {
	number := func() int { return int(d.n(1, grid.MaxSweep)) }
	return &GroupStatus{
		Name: d.word(), User: grid.User{Home: d.peer(), Name: d.name()}, Jobs: number(), Entered: number(), AtOnce: number(),
		Coming: many(d, 3, number), Counts: grid.Counts{grid.Running: number(), grid.Lost: number()},
		Submitted: d.ago(), Ended: d.ago(), Cancel: d.yes(), Next: number(),
		Members: many(d, 3, func() Member { return Member{number(), *d.status()} }),
	}
}
