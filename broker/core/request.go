package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// relay passes users' requests for jobs of other homes on, and answers those of others.
type relay struct {
	*kernel
	requests []passed // under way

	gates interface {
		beforeDenying() gate
	}
	home interface {
		wantGone(j *job, by string)
	}
}

func (c *relay) routes(r *routes) {
	onEvent(r, c.forward)
	onMessage(r, c.onRequest)
	onMessage(r, c.onResponse)
	onGeneral(r, requestsDue, c.requestsAgain)
}

// Requests for jobs of other homes. A user may ask any broker; one that cannot answer
// passes the request on to the home, or to the owner where the home is gone:
//
//	user ─► this broker ── Request ──► home: may this user? ── Response ──► user
//
// Who may: a user is (home site, name), so that alice of another site is another
// alice, unless the asked site says in its neighbours' file that the users of the
// asking site are its own (same_users). The asking broker vouches for the name. The
// home of a job may always ask for its own user. Where the asked site is not the home,
// it must trust the users of the home's site likewise.

// requestLimit bounds the wait for a Response.
const requestLimit = 8 * grid.Second

// maxRequests bounds those under way.
const maxRequests = 1024

// passed is a request under way.
type passed struct {
	token Token
	to    grid.PeerID
	m     wire.Request
	until grid.Tick
}

func (c *relay) forward(e Forward) {
	if c.members[e.To] == nil || len(c.requests) >= maxRequests {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: job %s cannot be asked after at %s now", grid.ErrUnavailable, e.Job, c.nameOf(e.To))})
		return
	}
	c.rounds++
	p := passed{token: e.Token, to: e.To, until: c.now + requestLimit, m: wire.Request{
		Number: c.rounds, Job: e.Job, User: e.User, Administrator: e.Administrator, Cancel: e.Cancel,
	}}
	c.requests = append(c.requests, p)
	c.send(p.to, p.m)
	c.armGeneral(requestsDue, c.cfg.Retry)
}

// requestsAgain repeats what was not answered, and gives up what is too old.
func (c *relay) requestsAgain() {
	c.requests = slices.DeleteFunc(c.requests, func(p passed) bool {
		if c.now < p.until {
			c.send(p.to, p.m)
			return false
		}
		c.emit(Answer{Token: p.token, Err: fmt.Errorf("%w: %s does not answer; it was asked for job %s", grid.ErrUnavailable, c.nameOf(p.to), p.m.Job)})
		return true
	})
	if len(c.requests) > 0 {
		c.armGeneral(requestsDue, c.cfg.Retry)
	}
}

// extendRequests gives those under way all their time again.
func (c *relay) extendRequests() {
	for i := range c.requests {
		c.requests[i].until = c.now + requestLimit
	}
}

// onRequest decides for a user of another broker.
func (c *relay) onRequest(from grid.PeerID, m wire.Request) {
	answer := wire.Response{Number: m.Number, Job: m.Job}
	answer.Outcome, answer.Why = c.grant(from, m)
	if answer.Outcome == wire.OutcomeDone {
		j := c.job(m.Job)
		if m.Cancel {
			c.home.wantGone(j, m.User+" at "+c.nameOf(from))
		}
		s := c.statusOf(&j.rec)
		answer.Status = &s
	}
	c.send(from, answer)
}

func (c *relay) grant(from grid.PeerID, m wire.Request) (wire.Outcome, string) {
	j := c.job(m.Job)
	switch {
	case j == nil && m.Job.Site() == c.cfg.Site.Name && c.gates.beforeDenying() != open:
		return wire.OutcomeLater, "its home has a new journal, and learns its jobs again as their sites report them"
	case j == nil || j.rec.Removed || !c.isHome(j) && j.rec.Role != grid.Owning && !j.rec.Kept:
		return wire.OutcomeUnknown, "it is not here"
	case !c.mayAsk(from, m.User, m.Administrator, &j.rec):
		return wire.OutcomeForbidden, "it belongs to another user"
	case m.Cancel && j.rec.Role != grid.Owning && !c.isHome(j):
		return wire.OutcomeLater, "only its home can cancel it now"
	}
	return wire.OutcomeDone, ""
}

// mayAsk says whether a user of another broker is the job's, as far as this site
// trusts that broker.
func (c *relay) mayAsk(from grid.PeerID, user string, administrator bool, r *grid.Record) bool {
	same := func(p grid.PeerID) bool { m := c.members[p]; return m != nil && m.SameUsers }
	home := r.Job.Home
	switch {
	case home == from:
	case !same(from), home != c.cfg.Self && !same(home):
		return false
	}
	return administrator || user == r.Job.User.Name
}

func (c *relay) statusOf(r *grid.Record) wire.Status {
	s := wire.Status{
		Name: r.Job.Name, User: r.Job.User, Home: r.Job.Home, Owner: r.Owner, State: r.State, Epoch: r.Epoch,
		Demand: r.Job.Demand, Walltime: r.Job.Walltime, WalltimeDefaulted: r.Job.WalltimeDefaulted, Queue: r.Job.Queue,
		Submitted: c.ago(r.Submitted), Started: c.ago(r.Started), Finished: c.ago(r.Finished), Ended: c.ago(r.Ended),
		ContactLost: c.ago(r.ContactLost), Predicted: c.ahead(r.PredictedStart), Estimate: c.ahead(r.EstimateNow),
		End: r.End, ExitCode: r.ExitCode, HasExit: r.HasExit, Signal: r.Signal, Reason: r.Why(), Cancel: r.CancelRequested, Usage: r.Usage,
	}
	s.Output, s.Error = r.Job.Streams()
	if r.End != 0 && (r.Owner == c.cfg.Self || r.State.Terminal()) {
		s.Outputs = r.Outputs
	}
	return s
}

// onResponse answers the user.
func (c *relay) onResponse(from grid.PeerID, m wire.Response) {
	k := slices.IndexFunc(c.requests, func(p passed) bool { return p.m.Number == m.Number && p.to == from && p.m.Job == m.Job })
	if k < 0 {
		return
	}
	a := Answer{Token: c.requests[k].token}
	c.requests = slices.Delete(c.requests, k, k+1)
	where := c.nameOf(from)
	switch m.Outcome {
	case wire.OutcomeDone:
		a.Record = c.recordOf(m.Job, *m.Status)
	case wire.OutcomeForbidden:
		a.Err = fmt.Errorf("%w: job %s: %s says that %s", grid.ErrForbidden, m.Job, where, m.Why)
	case wire.OutcomeLater:
		a.Err = fmt.Errorf("%w: job %s: %s says that %s", grid.ErrNotYet, m.Job, where, m.Why)
	default:
		a.Err = fmt.Errorf("%w: job %s: %s says that %s", grid.ErrNotFound, m.Job, where, m.Why)
	}
	c.emit(a)
}

// recordOf is what is known of a job that has no record here.
func (c *relay) recordOf(id grid.JobID, s wire.Status) grid.Record {
	at := func(in wire.In) grid.Tick {
		if !in.Known {
			return 0
		}
		return c.now + in.Span
	}
	streams := grid.Program{Output: s.Output, Error: s.Error}
	var outputs []grid.Output
	for _, name := range []string{s.Output, s.Error} {
		if name != "" {
			outputs = append(outputs, grid.Output{Path: name, Target: name})
		}
	}
	return grid.Record{
		Job: grid.Job{
			Program: streams, Outputs: outputs,
			ID: id, Name: s.Name, Home: s.Home, User: s.User, Demand: s.Demand,
			Walltime: s.Walltime, WalltimeDefaulted: s.WalltimeDefaulted, Queue: s.Queue,
		},
		State:           s.State,
		Submitted:       c.instant(s.Submitted),
		Ended:           c.instant(s.Ended),
		EstimateNow:     at(s.Estimate),
		Reason:          s.Reason,
		CancelRequested: s.Cancel,
		Tenure:          grid.Tenure{Owner: s.Owner, Epoch: s.Epoch},
		Run:             grid.Run{Started: c.instant(s.Started), Finished: c.instant(s.Finished), End: s.End, ExitCode: s.ExitCode, HasExit: s.HasExit, Signal: s.Signal, Outputs: s.Outputs, Usage: s.Usage},
		AtHome:          grid.AtHome{ContactLost: c.instant(s.ContactLost), PredictedStart: at(s.Predicted)},
	}
}
