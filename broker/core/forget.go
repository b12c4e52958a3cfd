package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Forgetting a site. Loss of contact alone ends nothing and starts nothing; an
// administrator of the home decides, when the owner will not come back:
//
//	the job, at its home                  forget        forget --fenced
//	cancelled                             LOST          KILLED: nothing of it runs, that is said
//	rerunnable                            again         again
//	its end was heard, its output lost    LOST          LOST
//	not rerunnable                        LOST          again
//
// A job that may run once and is to start again waits, and so does the word KILLED: the site may have given it to another before, who
// has not been heard since; see successors.go. What has started there is the job's run; see claim.go.
//
// Fenced is the administrator's word that the batch system of the site is off or
// emptied. Without it a job that was last heard waiting may have started unseen, so
// that only a rerunnable one may start again. Again is a new term: the home raises it
// on disk, and from then on every word of the older one is dropped; see claim.go. What it may
// have started unseen runs on, and nobody ends it: so a cancel of such a job tells LOST, never KILLED.
//
// A job whose home is the forgotten site is owned here all the same: it goes on, and
// its result is kept for its user. One that it offered here, and never committed, is
// declined; after a start the control directory speaks first: it may have been committed in a part of the journal that is lost.

// Verdict is what becomes of a job when the site that has it is forgotten.
type Verdict uint8

// The verdicts.
const (
	RunAgain  Verdict = 1 + iota // at a new term
	GiveUp                       // LOST
	EndKilled                    // when others were heard that may have it
	GoOn                         // its home is forgotten: it goes on here
	Decline                      // its owner is forgotten, which offered it here: it is never to be owned here
)

func (v Verdict) String() string {
	return [...]string{"none", "again", "lost", "killed", "goes on", "declined"}[v]
}

// Fate is what forgetting a site does to one job.
type Fate struct {
	Job     grid.JobID
	State   grid.State // before
	Verdict Verdict
	Why     string
	// Unfenced: nobody has said that nothing of it runs at the site.
	Unfenced bool
}

func (c *home) forget(e Forget) {
	var fates []Fate
	for _, j := range c.sorted() {
		if !e.DryRun && c.committedTo(j, e.Site) && !c.isHome(j) && j.rec.Job.Home != e.Site {
			c.ownership.notRepeated(j) // its home is told, and decides
		}
		f := c.fate(j, e)
		if f.Verdict != 0 {
			fates = append(fates, f)
		}
		switch {
		case e.DryRun:
		case j.maySucceed(e.Site):
			c.recovery.successorForgotten(j, e)
		case f.Verdict != 0:
			c.meet(j, f, e)
		case e.Fenced:
			c.recovery.spokenFor(j, grid.Forgotten{Peer: e.Site, Fenced: true})
		}
	}
	if !e.DryRun {
		c.recovery.forgets(grid.Forgotten{Peer: e.Site, Fenced: e.Fenced})
	}
	c.emit(Answer{Token: e.Token, Fates: fates})
}

// maySucceed tells that a site may have got a job from another that was forgotten, for all that its home knows.
func (j *job) maySucceed(site grid.PeerID) bool {
	return j.successors[site] && j.rec.Owner != site
}

// mayReturnTo tells that a site may take a job back that the one which should have it has declined; see disowned.
func (j *job) mayReturnTo(site grid.PeerID) bool {
	return j.declined == j.rec.Epoch && j.giver() == site
}

// committedTo tells that a job was handed to a site that has not said that it owns it. Where
// that is the home itself nobody else can decide: Commit is said until it returns.
func (c *home) committedTo(j *job, to grid.PeerID) bool {
	h := j.rec.Handoff
	return j.rec.Role == grid.Tombstone && h.Phase == grid.Committed && h.To == to
}

// fate decides about one job; Verdict is 0 where the site has nothing to do with it.
func (c *home) fate(j *job, e Forget) Fate {
	r := &j.rec
	f := Fate{Job: r.Job.ID, State: r.State, Unfenced: !e.Fenced}
	if r.Job.Home == e.Site && r.Role == grid.Owning && !r.HomeForgotten {
		f.Verdict, f.Why = GoOn, "its result is kept here"
		return f
	}
	if r.Role == grid.Prepared && r.Owner == e.Site && !c.isHome(j) {
		f.Verdict, f.Why = Decline, "it was offered here, and is not owned here"
		return f
	}
	if j.maySucceed(e.Site) {
		if j.awaitsSuccessors() && !e.Fenced && (!r.Job.Rerunnable || r.CancelRequested) {
			f.Verdict, f.Why = GiveUp, mayBeSuccessor
			return f
		}
		return Fate{}
	}
	if !c.isHome(j) || r.Role != grid.Watching && r.Role != grid.Prepared || r.Owner != e.Site && !j.mayReturnTo(e.Site) || r.State.Terminal() {
		return Fate{}
	}
	switch {
	case r.CancelRequested && e.Fenced:
		f.Verdict, f.Why = EndKilled, "cancelled, and nothing of it can run any more"
	case r.CancelRequested:
		f.Verdict, f.Why = GiveUp, "cancelled; whether it still runs there is not known"
	default:
		f.Verdict, f.Why = c.again(j, e.Fenced)
	}
	return f
}

// again tells whether a job may start again that a site has which is forgotten.
func (c *home) again(j *job, fenced bool) (Verdict, string) {
	switch c.gates.beforeAgain(j, fenced) {
	case itEnded:
		return GiveUp, fmt.Sprintf("it had ended there (%s), and its output is there", j.rec.End)
	case itStarted:
		return GiveUp, "it has started there, and may not run twice"
	case itMayRun:
		return GiveUp, "it may have started unseen, and may not run twice"
	}
	if j.rec.Job.Rerunnable {
		return RunAgain, "it may run again"
	}
	return RunAgain, "nothing of it can run any more"
}

// meet makes a fate true.
func (c *home) meet(j *job, f Fate, e Forget) {
	why := fmt.Sprintf("%s was forgotten by %s: %s", c.nameOf(e.Site), e.By, f.Why)
	switch f.Verdict {
	case RunAgain:
		j.rec.Unfenced = j.rec.Unfenced || f.Unfenced
		c.runOnceReported(j, why)
	case GiveUp:
		c.ownership.letOffer(j)
		j.rec.Reason = why
		c.terminal(j, grid.Lost)
	case EndKilled:
		c.endReported(j, why)
	case GoOn:
		j.rec.HomeForgotten = true
		c.save(j, why)
	case Decline:
		j.giverGone, j.giverWord = true, why
		c.ownership.declineRemoved(j)
	}
	c.recovery.spokenFor(j, grid.Forgotten{Peer: e.Site, Fenced: e.Fenced})
}

// runOnceReported is runAgain; what may run once, and the word KILLED, waits until all were heard who may have got it from the site that had it.
func (c *home) runOnceReported(j *job, why string) {
	owner := j.rec.Owner
	j.rec.RaisedFrom, j.rec.Fenced = j.rec.Epoch, nil
	if c.runAgain(j, why); j.rec.Job.Part == nil {
		c.recovery.awaitSuccessors(j, owner)
	}
}

// endReported ends a cancelled job of which nothing can run any more at the site that had it. Who may have got it from there is heard as if it
// were to start again: what he has of it is withdrawn, or its run ends by the cancel. A part is never handed on.
func (c *home) endReported(j *job, why string) {
	if j.rec.Job.Part != nil {
		c.ownership.letOffer(j)
		end, _ := c.cancelled(j)
		j.rec.Reason = why
		c.terminal(j, end)
		return
	}
	c.runOnceReported(j, why)
	c.pursueCancel(j)
}

// runAgain raises the term. From this save on the job is owned here, and nobody's
// word of an older term counts. Who had it may live, and hears so at once: what waits there starts otherwise unless its
// next report is answered before. What may run once is left to that report, which tells whether it has started.
func (c *home) runAgain(j *job, why string) {
	r := &j.rec
	had, of := r.Owner, claimed(r)
	if r.Owner != c.cfg.Self {
		r.Trail = append(slices.DeleteFunc(slices.Clone(r.Trail), func(p grid.PeerID) bool { return p == r.Owner }), r.Owner)
	}
	c.rest(j)
	c.beginTenure(j, grid.Tenure{Role: grid.Owning, Owner: c.cfg.Self, Epoch: grid.Epoch{Term: c.nextStamp(max(r.Epoch.Term, 1))}}, grid.Run{})
	if c.waitsAgain(j); j.unsupplied() {
		c.save(j, why+": it starts when its files have come again")
	} else {
		c.search.ready(j, why)
	}
	if had != c.cfg.Self && r.Job.Rerunnable {
		c.send(had, wire.Superseded{Job: r.Job.ID, Of: of, Epoch: grid.Epoch{Term: r.Epoch.Term}, Owner: c.cfg.Self})
	}
}

// provable is an end that its user may be told, here or by the word of this owner: KILLED and CANCELLED_DEADLINE say that nothing of the job runs or will,
// and so does FAILED of what has not run; of a site that was given up nobody knows that.
func (j *job) provable(s grid.State) grid.State {
	why := ""
	switch {
	case !j.rec.Unfenced:
		return s
	case s == grid.Killed:
		why = "cancelled"
	case s == grid.CancelledDeadline:
		why = "its deadline has passed"
	case s == grid.Failed && j.rec.Started == 0:
		why = j.rec.Reason
	default:
		return s
	}
	j.rec.Reason = why + "; a site that had it before was given up, and an earlier run of it may go on there"
	return grid.Lost
}

// forgetOverdue starts a rerunnable job again whose owner was not heard for as long
// as the configuration says; off unless it says so.
func (c *home) forgetOverdue(j *job) {
	if c.cfg.AutoForget == 0 || j.rec.ContactLost == 0 || !j.rec.Job.Rerunnable || j.rec.CancelRequested {
		return
	}
	if c.now-j.heard > c.cfg.AutoForget {
		e := Forget{Site: j.rec.Owner, By: "this broker, after a long silence"}
		c.meet(j, c.fate(j, e), e)
	}
}
