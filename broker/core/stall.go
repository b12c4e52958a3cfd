package core

import (
	"fmt"

	"gbroker/grid"
)

// stall: this broker did not listen for a while (it was stopped, the machine slept, a
// disk hung), or a clock jumped. Absence counts only while one listened, so every
// timer that counts it starts again: leases, the silence of owners and candidates,
// the wait for answers, files that do not come. A home may have decided meanwhile:
// nothing is submitted for it before it is heard again, in answer to what is said now:
// its older words may still lie in a buffer. A copy of this broker may have acted
// meanwhile: what is here is old, as it is after a start.
func (c *recovery) stall(e Stall) {
	if c.gates.beforeAbsence() == open {
		return
	}
	c.note("", "", "this broker did not listen for "+seconds(e.Span)+": what counts absence starts again")
	for _, j := range c.sorted() {
		j.began, j.homeHeard, j.stalled = c.now, 0, true
		if j.heard != 0 {
			j.heard = c.now
		}
		if j.awaitsSuccessors() {
			j.raised = c.now
		}
		switch {
		case j.rec.State == grid.StageIn && !c.furnishes(j):
			c.arm(j, onUpload, c.cfg.UploadLimit)
		case j.rec.Handoff.Phase == grid.Offering && j.heard == 0:
			c.disarm(j, onHandoff)
			c.backoff(j, onHandoff)
		case j.rec.Handoff.Phase == grid.Offering:
			c.arm(j, onHandoff, c.cfg.Lease)
		}
		if j.rec.Role == grid.Owning && !c.isHome(j) {
			c.home.awaitHome(j)
		}
	}
	c.groups.awaitAnew()
	c.askAnew()
	c.search.extendRound()
	c.relay.extendRequests()
}

// askAnew asks the members again what they have seen of this journal, as after a start: a machine that was stopped may have been replaced,
// by one with a copy of its journal that gave jobs away. What is here waits until those that live have answered.
func (c *recovery) askAnew() {
	if len(c.members) == 0 {
		return
	}
	for _, j := range c.sorted() {
		if !j.recovered {
			j.recovered, j.reconciled = true, true
		}
	}
	c.groups.markRecovered()
	for _, m := range c.members {
		m.told = false
	}
	c.stalls++
	c.start = c.now
	c.armGeneral(startedDue, c.cfg.EstimateDeadline)
	c.askSeen()
}

func seconds(t grid.Tick) string { return fmt.Sprintf("%.1f s", t.Seconds()) }
