package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Claims of an older epoch. A site that was forgotten, cut off or rolled back comes
// back and reports a job as its own, which the home has given to another meanwhile:
//
//	home:  older claim ─ not ended ──────────────────────► Superseded; of a job that may run once, and runs there: adopted
//	                   └ a result ─ the new attempt has not started ─► adopted
//	                              └ it has ───────────────► Superseded{Keep}: kept beside, at that site
//	owner: Superseded ─► on disk ─ waiting: Withdraw ─► let go
//	                             ├ running: Kill ─────► let go
//	                             └ ended:   its result is reported; adopted, or kept here
//
// The wish to cancel that such a claim tells counts, whatever the epoch: this home may have lost it, and that its user was told KILLED.
//
// A job that was given up for LOST is superseded by nobody: what waits is withdrawn,
// because its user was told and may have handed it in again; what runs may end, and
// its result is gained.

// # Two sites with traces of a start
//
// A handoff is committed when the tokens of all attempts before it are taken, and no run is handed on. So where a home
// whose journal is older than what it did finds, by certificates, that another owns the job at a later hop, one of the
// two has begun in a branch that did not know of the other. Invariant, within a term:
//
//   - The home alone decides; the other is not acknowledged, and so does not start, before that.
//   - It decides by its own start token, never by its record: what can still be taken is taken, and the job is the other's.
//   - What has started keeps the job against what has not been seen to start: the home raises the term above both. The
//     other is superseded; the run goes on at the epoch at which it began.
//   - Where both have started, that of the later hop keeps it: nothing can be saved, and all but the home know of that alone.
//
// The same goes for an owner elsewhere whose run the home knows, of a job that may run once, against whom that owner has given it to in
// a part of its own journal that is lost. The gate is beforeYielding; reports, the word of former owners (Moved) and what is learnt again pass it.

// claimed is the epoch of the run: that at which the present owner of a job reports.
func claimed(r *grid.Record) grid.Epoch {
	if r.Adopted != (grid.Epoch{}) {
		return r.Adopted
	}
	return r.Epoch
}

// isResult reports that m tells the end of a program that ran and was not cut off.
func isResult(m wire.Report) bool {
	return m.State == grid.StageOut && m.Started.Known && (m.End == grid.Completed || m.End == grid.CancelledWalltime)
}

// oldClaim answers a report of an epoch that is over.
func (c *home) oldClaim(from grid.PeerID, j *job, m wire.Report) {
	if m.Cancel && c.gates.hadIt(j, from, m) {
		c.wantGone(j, c.nameOf(from)+", which has had it")
	}
	answer := wire.Superseded{Job: m.Job, Of: m.Epoch, Epoch: j.rec.Epoch, Owner: j.rec.Owner, Answers: m.Number}
	switch c.gates.beforeAdopting(j, from, m) {
	case open:
		c.adopt(j, claim{from, m})
		return
	case keptHere:
		answer.Keep = true
		if m.Started.Known && !j.rec.Job.Rerunnable && !j.rec.CancelRequested {
			c.saysNone(j, from)
			c.recovery.hadOnce(j, from, m.Epoch)
		}
		if j.rec.State == grid.Lost {
			answer.Epoch = m.Epoch // what runs may end
		}
	case untilToken:
		j.claim = &claim{from, m} // the token says whether it has started
		c.execution.withdraw(j)
		return
	case itStarted:
		if answer.Keep = true; !isResult(m) {
			break
		}
		c.note(m.Job, from, fmt.Sprintf("a result of epoch %s is kept at %s: the job has started again since", m.Epoch, c.nameOf(from)))
	}
	if m.State == grid.StageOut {
		c.saysNone(j, from)
		j.notAdopted = m.Epoch
	}
	c.send(from, answer)
}

// afterItsEnd answers the owner of a job that has ended.
func (c *home) afterItsEnd(from grid.PeerID, j *job, m wire.Report) {
	switch {
	case j.rec.State == grid.Lost:
		c.lostHeard(from, j, m)
	case m.State != grid.StageOut && j.rec.Finished > 0: // it has reported its end
		c.send(from, wire.ReportAck{
			Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true,
			End: j.rec.State, ExitCode: j.rec.ExitCode, HasExit: j.rec.HasExit, Signal: j.rec.Signal,
		})
	case m.State != grid.StageOut: // it was ended here, as by forget: nothing of it may start
		c.lostHeard(from, j, m)
	default:
		c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true})
	}
}

// claimOfEnded answers who claims a job that has ended, at an epoch that this home does not know: it was given to him in
// a part of the journal that is lost. Nothing of it may start.
func (c *home) claimOfEnded(from grid.PeerID, j *job, m wire.Report) {
	over := wire.Superseded{Job: m.Job, Of: m.Epoch, Epoch: grid.Epoch{Term: m.Epoch.Term + 1}, Answers: m.Number}
	switch {
	case m.State == grid.StageOut:
		c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true})
		return
	case j.rec.State == grid.Lost:
		over.Epoch = m.Epoch // what runs may end
	}
	c.send(from, over)
}

// claim is a result of an older epoch that may become the job's.
type claim struct {
	from grid.PeerID
	m    wire.Report
}

// adopt takes the result of an older epoch. The epoch itself stays: nobody can own
// at the older one.
func (c *home) adopt(j *job, k claim) {
	j.claim, j.raised, j.successors = nil, 0, nil
	c.ownership.abandon(j, "a result came from an older owner")
	c.rest(j)
	r := &j.rec
	if !slices.Contains(r.Trail, k.from) {
		r.Trail = append(slices.Clip(r.Trail), k.from)
	}
	c.beginTenure(j, r.Next(grid.Watching, k.from, r.Epoch), grid.Run{Adopted: k.m.Epoch})
	c.enter(j, grid.NoHandoff)
	c.apply(j, k.from, k.m)
	if v := k.m.Version; v != j.sum() && c.gates.provesItself(j, k.from, k.m, v) {
		j.digest = v // the version that he has: this journal does not
		c.send(k.from, wire.Recall{Job: k.m.Job})
	}
	c.pull(j)
}

// keepRun raises the term above that of whoever claims a job that runs, here or with the owner that this home knows. Its attempt stays that of the epoch at
// which it was submitted.
func (c *home) keepRun(j *job) {
	r := &j.rec
	r.Adopted = claimed(r)
	r.Epoch = grid.Epoch{Term: c.nextStamp(max(r.Epoch.Term, 1))}
	r.Handoff.Epoch, r.Fenced = r.Epoch, nil
	c.save(j, "another was to start it, by a part of a journal that is lost: what runs goes on at a new term")
}

// runForgotten: nothing is left of the run that was kept, and it may not run twice.
func (c *home) runForgotten(j *job) {
	j.rec.Reason = c.nameOf(j.rec.Owner) + " had started it, and has given it away since: it was put back to before that"
	c.terminal(j, grid.Lost)
}

// refuseClaim: the new attempt had started before the claim could be adopted.
func (c *home) refuseClaim(j *job) {
	if j.claim == nil {
		return
	}
	k := *j.claim
	if j.claim = nil; k.m.State == grid.StageOut {
		j.notAdopted = k.m.Epoch
	}
	c.send(k.from, wire.Superseded{Job: k.m.Job, Of: k.m.Epoch, Epoch: j.rec.Epoch, Owner: j.rec.Owner, Keep: true, Answers: k.m.Number})
}

// lostHeard: the owner of a job that was given up for lost is heard after all.
func (c *home) lostHeard(from grid.PeerID, j *job, m wire.Report) {
	switch m.State {
	case grid.Running, grid.Finished:
		c.send(from, c.terms.word(j, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Cancel: j.rec.Wished()}))
	case grid.StageOut:
		if !isResult(m) { // no more is known than before
			c.send(from, wire.ReportAck{Job: m.Job, Epoch: m.Epoch, Number: m.Number, Closed: true})
			return
		}
		j.heard = c.now
		c.apply(j, from, m)
		c.pull(j)
	default:
		c.send(from, wire.Superseded{Job: m.Job, Of: m.Epoch, Epoch: j.rec.Epoch, Answers: m.Number})
	}
}
