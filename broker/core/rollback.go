package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/wire"
)

// A journal that was rolled back (lives.go tells how that is found). Its broker knows jobs as
// its own that it has handed over since, and as waiting that have run. It starts nothing and
// hands nothing over. It asks
//
//   - every member: Recount, repeated until Recounted; see recount.go;
//   - every home: a report of each job owned here. What is owned elsewhere since is
//     answered by Superseded, and let go;
//   - the control directories and the batch system, for attempts that the journal lacks; see
//     reconcile.go;
//   - the file beside the journal, for what users were told; see told.go.
//
// It is satisfied when all members have settled, and the directories have spoken. A member
// that will not come back is forgotten, or removed from the neighbours; it is not waited
// for. A job of this home that waits, and of which nobody said where it is, may be with such
// a one: it is *uncertain* until then.
//
// Epochs that were used in the part that is lost are not used again: see stamp.go.

// rollback is what is still to be asked.
type rollback struct {
	lost    []grid.JournalID // where branches ended that this journal does not reach
	waiting map[grid.PeerID]bool
	unheard []unheard
	ends    map[grid.JobID][]grid.PeerID // who claims an end, at an older epoch, of a job that is with another
	how     string                       // it was found
	asked   map[grid.PeerID]bool         // all that are, or were, waited for
	raised  bool                         // that this broker starts nothing, as an alarm
	named   []string                     // who was to be asked still, by the last alarm
}

// note keeps the end of a branch; false if it was known.
func (r *rollback) note(at grid.JournalID) bool {
	k := slices.IndexFunc(r.lost, at.SameLife)
	switch {
	case at == (grid.JournalID{}), k >= 0 && at.Sequence <= r.lost[k].Sequence:
		return false
	case k >= 0:
		r.lost[k] = at
	default:
		r.lost = append(r.lost, at)
	}
	return true
}

// rolledBackTo: a member has seen a position that this journal does not reach. If it has
// answered already, it is asked again: what it saw may have reached it since. Of a branch about which all were asked it is no news.
func (c *recovery) rolledBackTo(from grid.PeerID, at grid.JournalID) {
	if c.settled(at) {
		return
	}
	if c.rolled == nil {
		c.rolledBack(c.hasSeen(from), at)
		return
	}
	if c.rolled.note(at) {
		c.awaitAnew(from)
		c.doubtAll(at)
	}
}

// rolledBack stops every start and handoff until all have been asked.
func (c *recovery) rolledBack(how string, at grid.JournalID) {
	if c.gates.beforeGoingOn() == open {
		return
	}
	if c.rolled != nil {
		if c.rolled.note(at) {
			c.doubtAll(at)
		}
		return
	}
	c.awaitAll(how)
	c.rolled.note(at)
	c.doubtAll(at)
	c.recount()
}

// branchedOff bounds what a branch that is lost, and was seen at that position, has in common with this journal: nothing that came
// here in this life behind it; and nothing that came in this life, where its life has a lower number. Else it may be that of a duplicate.
func (c *recovery) branchedOff(at grid.JournalID) uint64 {
	k := slices.IndexFunc(c.cfg.Lives, func(l grid.Life) bool { return l.Number == at.Life })
	switch {
	case at == (grid.JournalID{}) || at.Incarnation != c.cfg.Journal.Incarnation:
		return maxSequence
	case k >= 0 && k+1 < len(c.cfg.Lives):
		return c.cfg.Lives[k+1].First
	case k < 0 && at.Life != 0 && at.Life < c.cfg.Journal.Life && len(c.cfg.Lives) > 0:
		return c.cfg.Lives[len(c.cfg.Lives)-1].First
	}
	return at.Sequence
}

// doubtAll: another branch was found that this journal lacks. It may have been rolled back a
// second time, to an instant at which it was asking about the first.
func (c *recovery) doubtAll(at grid.JournalID) {
	since := c.branchedOff(at)
	c.rolled.mayHaveGot(c.cfg.Journal.Sequence)
	c.saveState()
	c.wholes.branchLost()
	c.reserver.branchLost()
	c.groups.markRecovered()
	for _, j := range c.sorted() {
		if j.rec.Handoff.Phase == grid.Offering || j.rec.Handoff.Phase == grid.Withdrawing {
			c.ownership.sendAbort(c.ownership.handoffID(j), "its journal was rolled back")
			c.ownership.dropOffer(j, "the offer died: the journal was rolled back")
		}
		if j.rec.Role == grid.Owning && (j.came.epoch != j.rec.Epoch || j.came.at < since) {
			c.doubt(j)
		}
	}
}

// hasSeen says by whom it was found that this journal was rolled back.
func (c *recovery) hasSeen(p grid.PeerID) string { return c.nameOf(p) + " has seen a later one" }

// doubt: in the part of the journal that is lost, a job owned here may have been handed
// over, or have ended. Where this is not its home, that knows; where it is, only the
// members do, unless its attempt is here: then it was not handed over. One that was submitted in this life shows nothing of the sort: it
// is withdrawn, and submitted again when all were asked.
func (c *recovery) doubt(j *job) {
	j.rec.Uncertain = j.rec.Uncertain || j.waits()
	if j.rec.State == grid.Assigned {
		j.rec.Unproven = j.rec.Unproven || c.isHome(j) && j.rec.Job.Part == nil && j.launched == c.attempt(j)
		c.emit(Probe{c.attempt(j)})
	}
	if c.isHome(j) {
		c.save(j, "")
		return
	}
	j.homeHeard = 0
	j.rec.Report = c.branchReport(j.rec.Report)
	c.save(j, "") // and so reported
	j.since = j.rec.Report
}

// waits: it has neither started nor ended here, as far as is known.
func (j *job) waits() bool {
	switch j.rec.State {
	case grid.Running, grid.Finished, grid.StageOut:
		return false
	}
	return !j.over()
}

// inDoubt: it waits here, and may be elsewhere. What has ended here since that was asked is in doubt no more.
func (j *job) inDoubt() bool { return j.rec.Uncertain && !j.over() }

// branchReport is a number of a report that a branch which is lost has not used: what acknowledges one of those is no word on this branch.
func (c *kernel) branchReport(last uint64) uint64 {
	return max(last, uint64(c.stamped())<<reportsPerStamp)
}

// reportsPerStamp is how many bits count the reports of a job after a stamp.
const reportsPerStamp = 20

// isHere: the batch system or the control files have the present attempt.
func (c *recovery) isHere(j *job) {
	if j.rec.Uncertain {
		j.rec.Uncertain = false
		c.save(j, "")
	}
}

// awaitAll begins to wait for all members.
func (c *recovery) awaitAll(how string) {
	c.rolled = &rollback{waiting: map[grid.PeerID]bool{}, asked: map[grid.PeerID]bool{}, ends: map[grid.JobID][]grid.PeerID{}, how: how}
	for p := range c.members {
		c.await(p)
	}
}

func (c *recovery) await(p grid.PeerID) { c.rolled.waiting[p], c.rolled.asked[p] = true, true }

// recoverRollback goes on asking where the last life stopped.
func (c *recovery) recoverRollback() {
	if c.state.RolledBack != 0 {
		c.awaitAll("that was found before the last start")
		c.rolled.lost = slices.Clone(c.state.Behind)
		c.recoverUnheard()
	}
	for _, t := range c.state.Traces { // who told of them may be no member any more
		if c.rolled != nil || c.peek(t.Job) == nil {
			c.traceAt(t.Of, wire.Trace{Job: t.Job, Epoch: t.Epoch})
		}
	}
	if c.rolled != nil {
		c.reserver.branchLost()
		c.recount()
	}
}

// alarmRolled says who is still to be asked, whenever that has changed.
func (c *recovery) alarmRolled() {
	r, names := c.rolled, c.waitedFor()
	if r.raised && slices.Equal(names, r.named) {
		return
	}
	r.raised, r.named = true, names
	asking := fmt.Sprintf("asking neighbours (%d of %d left: %s); one that will not come back: `gbroker forget SITE`, or remove it from the neighbours",
		len(names), max(len(r.asked), len(names)), strings.Join(names, ", "))
	if len(names) == 0 {
		asking = "all neighbours have answered; asking its own control directories"
	}
	c.emit(Alarm{Text: fmt.Sprintf("the journal of this broker was rolled back (%s): it starts nothing before all were asked; %s", r.how, asking)})
}

// waitedFor are the names of the members that have not settled, in order.
func (c *recovery) waitedFor() (names []string) {
	if c.rolled == nil {
		return nil
	}
	for p := range c.rolled.waiting {
		names = append(names, c.nameOf(p))
	}
	slices.Sort(names)
	return names
}

// asking says, of a job that could start else, what this broker waits for.
func (c *recovery) asking() string {
	names := c.waitedFor()
	if len(names) == 0 {
		return fmt.Sprintf("starts nothing before its own control directories were read: the journal of this broker was rolled back (%s)", c.rolled.how)
	}
	return fmt.Sprintf("starts nothing before it has heard from %s what is known there: the journal of this broker was rolled back (%s); `gbroker forget %s`, if that will not come back", someOf(names), c.rolled.how, names[0])
}

// someOf are the first of so many names.
func someOf(names []string) string {
	const named = 3
	who := strings.Join(names[:min(len(names), named)], ", ")
	if more := len(names) - named; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	return who
}

// recount asks those that have not settled.
func (c *recovery) recount() {
	for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
		c.send(p, wire.Recount{Sequence: c.cfg.Journal.Sequence, Journal: c.cfg.Journal})
	}
	c.armGeneral(recountDue, c.cfg.Refresh)
	c.settle()
}

// recounting tells that this journal was rolled back, and that not all were asked.
func (c *recovery) recounting() bool { return c.rolled != nil }

// settle goes on when all have been asked, and the control directories.
func (c *recovery) settle() {
	c.askEnds()
	if len(c.rolled.waiting) > 0 {
		c.alarmRolled()
		return
	}
	if slices.ContainsFunc(c.sorted(), c.unanswered) {
		c.alarmRolled()
		return // recount comes here again
	}
	was := c.rolled
	c.writeOff(was.lost)
	c.state.Settled = grid.Settled{Stamp: c.stamped(), Heard: was.heard()}
	c.rolled = nil
	c.saveState()
	c.settleTraces()
	for _, j := range c.sorted() {
		switch {
		case !j.inDoubt():
		case !c.isHome(j):
			c.settleForeign(j, was.mayHave(j))
		case j.rec.Role == grid.Owning && len(was.mayHave(j)) > 0:
			c.unknownFate(j, c.nameOf(was.mayHave(j)[0].Peer)+unheardWord, harmful(was.mayHave(j)))
			for _, u := range was.mayHave(j) {
				c.spokenFor(j, u.Forgotten)
			}
		default:
			j.rec.Uncertain = false
			if j.raised == 0 && c.again(j) { // in the branch that is lost: who owns it at an older term has said so, and not whether it has begun
				c.awaitSuccessors(j, j.lastHad())
			}
			c.save(j, "")
			c.home.pursueCancel(j)
		}
	}
	c.settleParts()
	c.emit(AlarmOver{})
	c.disarmGeneral(recountDue)
	c.note("", "", "the journal was rolled back, and all neighbours were asked: going on")
}

// settleForeign goes on with a job of another home, or gives it up, where it may run once and may have been given to a site that
// was not heard. The home need not have heard of that site either: that it acknowledges this owner proves nothing.
func (c *recovery) settleForeign(j *job, others []unheard) {
	j.rec.Uncertain = j.homeHeard == 0 // the home may know that it has ended
	others = slices.DeleteFunc(others, func(u unheard) bool { return u.Peer == j.rec.Job.Home })
	if j.rec.Role != grid.Owning || len(others) == 0 || j.rec.Job.Part != nil || c.goesOn(j, harmful(others)) {
		c.save(j, "")
		return
	}
	j.rec.Uncertain = false
	c.execution.lose(j, "the journal was rolled back, and "+c.nameOf(others[0].Peer)+unheardWord)
}

// unanswered: what there is here of a job of this home, or of one that settleForeign may give up, whose fate is to be decided, has not been
// told: by its control directory which attempts there were; and of the last one, where the job is
// to start again or is given up, that it waits or runs here after all, or never starts.
func (c *recovery) unanswered(j *job) bool {
	if j.rec.Role != grid.Owning || j.rec.Job.Part != nil && !c.isHome(j) {
		return false
	}
	perhapsElsewhere := j.inDoubt() && len(c.rolled.mayHave(j)) > 0 || j.rec.Epoch.Before(j.traceAt)
	return j.inDoubt() && j.unreconciled() || perhapsElsewhere && j.rec.State == grid.Assigned
}

// maxLost bounds the branches that are remembered; the oldest goes first. To forget one costs
// asking all again.
const maxLost = 64

// writeOff remembers where branches ended about which all were asked.
func (c *recovery) writeOff(ends []grid.JournalID) {
	r := rollback{lost: slices.Clone(c.state.Lost)}
	for _, at := range ends {
		r.note(at)
	}
	c.state.Lost = r.lost[max(0, len(r.lost)-maxLost):]
}

// unknownFate: a job of this home may be, or have been, with a site that cannot say. It may have given it to another since that one has answered.
func (c *recovery) unknownFate(j *job, who string, harmful bool) {
	why := "the journal was rolled back, and " + who
	j.rec.Uncertain = false
	if !c.goesOn(j, harmful) {
		c.ownership.letOffer(j)
		j.rec.Reason = why + ": it may not run twice"
		c.home.terminal(j, grid.Lost)
		return
	}
	c.home.runOnceReported(j, "at a new term: "+why)
	c.home.pursueCancel(j)
}

// goesOn tells whether a job may start here that may be with one who was not heard. Where something of it may run there, nobody is told any more that
// nothing does; see provable.
func (c *recovery) goesOn(j *job, harmful bool) bool {
	if c.gates.beforeAgain(j, !harmful) != open {
		return false
	}
	j.rec.Unfenced = j.rec.Unfenced || harmful
	return true
}

// saveState writes down what is durably known of this site.
func (c *recovery) saveState() {
	state := c.state
	state.Draining = c.draining
	state.RolledBack, state.Behind, state.Asked, state.Forgotten, state.Traces = 0, nil, nil, nil, c.undecided()
	if r := c.rolled; r != nil {
		state.RolledBack, state.Behind = 1, slices.Clone(r.lost)
		state.Asked, state.Forgotten = slices.Sorted(maps.Keys(r.asked)), r.forgotten()
	}
	c.emit(Save{grid.Saved(&state)})
}
