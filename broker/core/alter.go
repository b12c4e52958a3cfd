package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A job changes by a new version from its home alone, and only while it waits. What the home sees to
// (held, not before, priority, deadline) is changed in its record at once. For what travels with the
// job (walltime, processes, queue) it has to wait at home without a place: it is kept back, comes
// home, and is made anew there; its next handoff begins a new chain of certificates, over the new
// version. So no two versions are ever out, and none starts that was altered before; but where a site that had a job is forgotten, and so the
// job starts again, what is left of it there is of the older term and the older version, until that site is told.
//
//	Alter ─► on disk: Altered ─► READY at home ─► the new version, on disk ─► the search
//	           └► has started meanwhile: as it was, and Altered is over

// Alter is the wish of a job's user for a change, already authorised.
type Alter struct {
	Token Token
	Job   grid.JobID
	To    grid.Alteration
	By    string
	// Relayed tells which request of which other broker it is; zero of one that was made here.
	Relayed grid.Relayed
}

func (Alter) event()         {}
func (e Alter) token() Token { return e.Token }

func (c *terms) alter(e Alter) {
	j := c.job(e.Job)
	if j == nil {
		c.emit(Answer{Token: e.Token, Err: c.unmade(e.Job)})
		return
	}
	switch g := c.gates.beforeChanging(j, e.Relayed); g {
	case open:
	case itIsDone:
		c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
		return
	default:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: the change of job %s %s", grid.ErrInvalid, e.Job, g)})
		return
	}
	if err := c.mayAlter(j, e.To); err != nil {
		c.emit(Answer{Token: e.Token, Err: err})
		return
	}
	r := &j.rec
	if e.Relayed.By != "" {
		r.Relay(e.Relayed)
	}
	j.altered = c.now
	r.Job.Terms = r.Job.Terms.With(e.To)
	if e.To.OfJob() {
		var before grid.Alteration
		if r.Altered != nil {
			before = *r.Altered
		}
		wish := grid.Alteration{Walltime: e.To.Walltime, Processes: e.To.Processes, Queue: e.To.Queue}
		all := before.Then(wish)
		r.Altered, j.wishes = &all, j.wishes.Then(wish)
	}
	c.save(j, fmt.Sprintf("altered by %s: %s", e.By, e.To))
	c.pursue(j)
	if e.To.Deadline != nil {
		c.putOff(j)
	}
	c.emit(Answer{Token: e.Token, Record: *copyOf(&j.rec)})
}

// putOff gives the parts of a co-allocated job its deadline: each site ends its own by that.
func (c *terms) putOff(whole *job) {
	id := whole.rec.Job.ID
	for _, n := range slices.Sorted(maps.Keys(c.parts[id])) {
		if j := c.live[partID(id, n)]; j != nil && !j.rec.State.Terminal() && j.rec.End == 0 {
			j.rec.Job.Terms.Deadline = whole.rec.Job.Terms.Deadline
			c.save(j, "")
			c.pursue(j)
		}
	}
}

// unmade says why a job without a record is not altered: until its turn in its group comes it is no more than a number.
func (c *terms) unmade(id grid.JobID) error {
	switch r, known := c.groups.outline(id); {
	case !known:
		return fmt.Errorf("%w: job %s", grid.ErrNotFound, id)
	case r.State.Terminal():
		return fmt.Errorf("%w: job %s has ended", grid.ErrInvalid, id)
	}
	return fmt.Errorf("%w: the turn of job %s in its group has not come, and until then there is nothing to hold or to alter: try again when it has a place, or cancel it", grid.ErrNotYet, id)
}

// mayAlter refuses what cannot be.
func (c *terms) mayAlter(j *job, to grid.Alteration) error {
	r := &j.rec
	onlyDeadline := to == grid.Alteration{Deadline: to.Deadline}
	switch {
	case to == grid.Alteration{}:
		return fmt.Errorf("%w: nothing is to be altered of job %s", grid.ErrInvalid, r.Job.ID)
	case !c.isHome(j):
		return fmt.Errorf("%w: only its home, %s, changes job %s: ask the broker there", grid.ErrInvalid, c.nameOf(r.Job.Home), r.Job.ID)
	case r.State.Terminal() || r.End != 0:
		return fmt.Errorf("%w: job %s has ended", grid.ErrInvalid, r.Job.ID)
	case r.Job.Part != nil: // the next round has others
		return fmt.Errorf("%w: job %s is a part of job %s, which has all of its parts alike: alter that", grid.ErrInvalid, r.Job.ID, r.Job.Part.Of)
	case r.CancelRequested:
		return fmt.Errorf("%w: job %s is being cancelled", grid.ErrInvalid, r.Job.ID)
	case r.State >= grid.Running && to.Held != nil:
		return fmt.Errorf("%w: job %s is %s: only a job that waits is held or released; `gclient cancel` ends it", grid.ErrInvalid, r.Job.ID, r.State)
	case r.State >= grid.Running && !onlyDeadline:
		return fmt.Errorf("%w: job %s is %s: only its deadline can be altered now", grid.ErrInvalid, r.Job.ID, r.State)
	case to.Deadline != nil && *to.Deadline <= c.now:
		return fmt.Errorf("%w: the deadline %s has passed", grid.ErrInvalid, to.Deadline.Stamp())
	}
	if r.Altered != nil {
		to = r.Altered.Then(to)
	}
	if _, err := r.Job.With(to); err != nil {
		return fmt.Errorf("%w: job %s: %w", grid.ErrInvalid, r.Job.ID, err)
	}
	if to.Processes != nil && *to.Processes > j.counted.processes {
		return c.home.within(r.Job.User.Name, usage{processes: *to.Processes - j.counted.processes}, "this change is", "ask for fewer")
	}
	return nil
}

// pursue takes a job that is kept back from now on out of its place; one that is not any more, goes.
func (c *terms) pursue(j *job) {
	r := &j.rec
	if r.Role != grid.Owning {
		// It acknowledges too. What was not to be acknowledged, as it would let the owner start the job, hears this when it is.
		if c.gates.beforeAcknowledging(j, wire.Report{State: r.State, Version: j.version}) != open {
			return
		}
		c.send(r.Owner, c.word(j, wire.ReportAck{Job: r.Job.ID, Epoch: claimed(r), Number: r.Report, Cancel: r.Wished()}))
		return
	}
	switch {
	case r.State == grid.Submitted || r.State == grid.StageIn:
		c.renew(j)
	case r.State == grid.Ready:
		c.renew(j)
		c.due(j)
	case c.gates.kept(j) == notKept:
	case r.State == grid.Moving && r.Handoff.Phase == grid.Offering:
		c.ownership.withdrawOffer(j, "it is kept at home")
		if r.State == grid.Assigned {
			c.execution.withdraw(j)
		}
	case r.State == grid.Assigned:
		c.execution.withdraw(j)
	}
}

// renew makes the new version of a job that waits at home without a place.
func (c *terms) renew(j *job) {
	r := &j.rec
	if !c.isHome(j) || r.Role != grid.Owning || r.Altered == nil || c.gates.beforeRenewing(j) != open {
		return
	}
	said := "a new version: " + r.Altered.String()
	if next, err := c.whole(j).With(*r.Altered); err == nil {
		j.renewed(next)
	} else { // it was looked at when it was asked for, and another version was learned since
		said = fmt.Sprintf("it cannot be altered any more (%s): %v", r.Altered, err)
	}
	r.Altered, r.Stay, j.wishes = nil, nil, grid.Alteration{}
	j.blocked, j.trait = nil, plan.Trait{}
	c.save(j, said)
	if j.rec.State == grid.Ready {
		c.search.undecide(j)
	}
}
