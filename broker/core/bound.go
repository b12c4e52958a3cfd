package core

import (
	"fmt"
	"slices"
	"strconv"

	"gbroker/grid"
	"gbroker/plan"
)

// A job that names a reservation of this site is bound to it before its first attempt, and runs in it or not
// at all: where the reservation is over the attempt is withdrawn by its token.

// binding is what an attempt gets of its reservation.
type binding struct {
	id grid.ReservationID
}

// bind gives a job its reservation, or says why not.
func (c *reservations) bind(j *job) (b binding, why *grid.Refusal) {
	job := &j.rec.Job
	defer c.settle()
	if r, known := c.book.Get(job.Reservation); known {
		need, demand := c.limitOf(job)+job.Part.AtBarrier(), &job.Demand
		if job.Part != nil { // its nodes were chosen for it
			demand = nil
		}
		if why = c.tooSmall(&r, need, demand); why != nil {
			return b, why // it stays its holder's, for a job that fits
		}
	}
	r, why := c.book.Bind(c.now, job.Reservation, job.ID, job.User)
	if why != nil {
		return b, why
	}
	return binding{r.ID}, nil
}

// tooSmall tells that a job may take longer than a reservation is, or has no room on its nodes; without a demand these are
// not looked at.
func (c *reservations) tooSmall(r *grid.Reservation, limit grid.Tick, d *grid.Demand) *grid.Refusal {
	need, length := limit+c.cfg.Slack, r.End-r.Start
	switch {
	case r.State.Over():
	case need > length:
		return &grid.Refusal{
			Kind: grid.Permanent, Reason: fmt.Sprintf("reservation %s is too short: with what its start and end take the job needs", r.ID),
			Asked: need.Duration().String(), Available: length.Duration().String(),
		}
	case d != nil:
		return c.tooNarrow(r, d)
	}
	return nil
}

// tooNarrow tells that the pieces of a job have no room on the nodes of a reservation, were nothing else there.
func (c *reservations) tooNarrow(r *grid.Reservation, d *grid.Demand) (why *grid.Refusal) {
	s := plan.Snapshot{Site: c.cfg.Site, Shapes: c.shapes}
	for _, name := range r.Nodes {
		if n, known := c.nodes[name]; known {
			n.Down = false // it may be up again by then
			s.Nodes = append(s.Nodes, n)
		}
	}
	switch cores := d.Cores(); {
	case len(s.Nodes) == len(r.Nodes):
		why = plan.Refuse(s, plan.Question{Demand: *d})
	case r.Cores > 0 && cores > r.Cores: // the batch system has not been looked at since it has these nodes
		why = &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: strconv.Itoa(cores), Available: strconv.Itoa(r.Cores)}
	}
	if why != nil {
		why.Reason = fmt.Sprintf("the nodes of reservation %s have no room for it: %s", r.ID, why.Reason)
	}
	return why
}

// bound is what the batch system is told of the reservation of a job that names one.
func (c *execution) bound(j *job) (b binding, why *grid.Refusal) {
	if j.rec.Job.Reservation == "" {
		return b, nil
	}
	return c.reservations.bind(j)
}

// reached tells of a part that this site declares of all its other sites that their nodes and those of here reach each other.
func (c *execution) reached(p *grid.Part) bool {
	if p == nil {
		return false
	}
	for rank, other := range p.Sites {
		if rank != p.Rank && !c.cfg.Site.Reaches(other.Peer, other.Name) {
			return false
		}
	}
	return true
}

// reserved is when a job that names a reservation would start here, after its delivery.
func (c *reservations) reserved(id grid.ReservationID, q plan.Question) grid.Estimate {
	r, known := c.book.Get(id)
	if !known || r.State.Over() {
		return grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "reservation " + string(id) + " is not there, or over"}}
	}
	if why := c.tooSmall(&r, q.Limit, &q.Demand); why != nil && r.For == "" {
		return grid.Estimate{Refusal: why}
	}
	wait := max(0, r.Start-q.NotBefore)
	return grid.Estimate{Wait: wait, Safe: wait}
}

// grace is that at the end of the reservation that has a node until then; 0 where the book has none. One for a part of a job ends later
// by that, as its job may wait for the others; one that a user has made does not.
func (c *reservations) grace(node grid.NodeName, end grid.Tick) grid.Tick {
	for _, r := range c.book.All() {
		if r.Live() && r.End == end && r.For != "" && slices.Contains(r.Nodes, node) {
			if j := c.peek(r.For); j == nil || j.rec.Job.Part != nil {
				return r.Grace
			}
		}
	}
	return 0
}

// jobSaved follows a job that names a reservation here.
func (c *reservations) jobSaved(j *job) {
	id, job := j.rec.Job.Reservation, j.rec.Job.ID
	if r, known := c.book.Get(id); !known || r.For != job || r.State.Over() {
		return
	}
	switch {
	case j.rec.State.Terminal() || j.rec.State == grid.Finished || j.rec.State == grid.StageOut:
		c.book.Left(c.now, id, job, "its job has ended")
	case j.rec.Role == grid.Tombstone && j.rec.Job.Part == nil: // its home has it back, as it is altered, say
		c.book.Unbound(c.now, id, job, "its job is not here")
	case j.rec.Role == grid.Tombstone || j.rec.Role == grid.Declined:
		c.book.Left(c.now, id, job, "its job is not here")
	case j.rec.Role == grid.Owning && j.rec.State == grid.Running:
		c.book.Started(c.now, id, job)
	}
	c.settle()
}

// arrived tells that a part waits in its reservation.
func (c *reservations) arrived(j *job) {
	c.book.Arrived(c.now, j.rec.Job.Reservation, j.rec.Job.ID)
	c.settle()
}

// waitsInVain withdraws a job that waits for a reservation that is over, as long as it is seen to: the first word of
// that end may have been lost in a crash.
func (c *execution) waitsInVain(j *job) {
	if id := j.rec.Job.Reservation; id != "" && c.reservations.isOver(id) {
		c.unreserved(j.rec.Job.ID, "its reservation "+string(id)+" is over")
	}
}

// isOver tells that a reservation here is over, or was never there.
func (c *reservations) isOver(id grid.ReservationID) bool {
	r, known := c.book.Get(id)
	return known && r.State.Over() || !known && c.gates.beforeStrays() == open
}

// unreserved: a job waits for a reservation that is over. It never starts in it: its attempt is withdrawn, and its home
// has it back ([search.unreserved]).
func (c *execution) unreserved(id grid.JobID, why string) {
	j := c.job(id)
	if j == nil || j.rec.Role != grid.Owning || j.rec.Job.Reservation == "" {
		return
	}
	c.refuses(j, c.cfg.Self, why)
	if j.rec.State == grid.Assigned {
		c.withdraw(j)
	}
}

// unreserved: no site can run a job that names a reservation, as that is over. Elsewhere it goes back to its home, by a
// handoff like any other. At its home a job whose reservation was made for it is queued again without one, as an
// alteration makes a job anew (alter.go); of any other there is nothing to do.
func (c *search) unreserved(j *job) bool {
	r := &j.rec
	switch {
	case r.Role != grid.Owning || r.Job.Part != nil:
		return false
	case !c.isHome(j):
		c.backoff(j, onHandoff) // while its home is not there
		c.terms.giveBack(j)
		return true
	case r.Job.Guaranteed == nil:
		return false
	}
	of := c.whole(j)
	of.Reservation, of.Sites, of.Guaranteed = "", *of.Guaranteed, nil
	j.replace(of, grid.Hash{})
	r.Stay, j.blocked, j.refused, j.trait = nil, nil, nil, plan.Trait{}
	c.save(j, "its reservation is lost: it is queued without one")
	c.undecide(j)
	return true
}

// lostReservation tells that a job which is offered to its home has lost its reservation: it goes to one site alone, which
// has no other reason to let it go.
func (c *ownership) lostReservation(j *job) bool {
	return c.isHome(j) && j.rec.Job.Reservation != "" && j.rec.Job.Part == nil
}
