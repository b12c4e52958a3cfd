package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/wire"
)

// relay passes users' requests for jobs and groups of other homes on, and answers those of others.
type relay struct {
	*kernel
	requests []passed // under way
	served   map[servedKey]*served

	gates interface {
		beforeDenying() gate
	}
	home interface {
		wantGone(j *job, by string)
	}
}

func newRelay(k *kernel) *relay { return &relay{kernel: k, served: map[servedKey]*served{}} }

func (c *relay) routes(r *routes) {
	onEvent(r, c.forward)
	onEvent(r, c.onServed)
	onMessage(r, c.onRequest)
	onMessage(r, c.onResponse)
	onMessage(r, c.notUnderstood)
	onGeneral(r, requestsDue, c.requestsAgain)
}

// Requests for jobs and groups of other homes. A user may ask any broker; one that cannot answer passes the
// request on to the home, or, for the status and the cancel of a job, to the owner where the home is gone:
//
//	user ─► this broker ── Request ──► home: may this user? ── Response ──► user
//	                         └─ again ─► Working, while it is under way
//
// Who may: a user is (home site, name), so that alice of another site is another
// alice, unless the asked site says in its neighbours' file that the users of the
// asking site are its own (same_users). The asking broker vouches for the name. The
// home of a job may always ask for its own user. Where the asked site is not the home,
// it must trust the users of the home's site likewise.
//
// A request is repeated until it is answered, so it may come twice, late, and after later ones. What it
// asks for may therefore be done twice: see serve.go.

// requestLimit bounds the wait for a Response, and workLimit that for one of who says that it is working.
const (
	requestLimit = 8 * grid.Second
	workLimit    = 15 * grid.Minute
)

// maxRequests bounds those under way, maxEchoes those that are told for one.
const (
	maxRequests = 1024
	maxEchoes   = 16
)

// passed is a request under way.
type passed struct {
	token  Token
	to     grid.PeerID
	number uint64
	wish   Wish
	until  grid.Tick
	last   grid.Tick // it is given up then, also if it is worked at
	taken  bool      // the other has said that it works at it
	echo   uint64    // that the other told last; see serve.go
	echoes int       // how many were told
}

func (c *relay) forward(e Forward) {
	if c.members[e.To] == nil || len(c.requests) >= maxRequests {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: %s cannot be asked after at %s now", grid.ErrUnavailable, e.Wish.name(), c.nameOf(e.To))})
		return
	}
	c.rounds++
	p := passed{token: e.Token, to: e.To, number: c.rounds, wish: e.Wish, until: c.now + requestLimit, last: c.now + workLimit}
	if e.Wish.changes() {
		p.echo = wire.NoEcho
	}
	c.requests = append(c.requests, p)
	c.send(p.to, c.request(p))
	c.armWithin(requestsDue, c.cfg.Retry)
}

// requestsAgain repeats what was not answered, and gives up what is too old.
func (c *relay) requestsAgain() {
	c.requests = slices.DeleteFunc(c.requests, func(p passed) bool {
		if c.now < min(p.until, p.last) {
			c.send(p.to, c.request(p))
			return false
		}
		c.emit(Answer{Token: p.token, Err: fmt.Errorf("%w: %s does not answer; it was asked for %s%s", grid.ErrUnavailable, c.nameOf(p.to), p.wish.name(), p.doubt())})
		return true
	})
	if len(c.requests) > 0 {
		c.armGeneral(requestsDue, c.cfg.Retry)
	}
}

// doubt tells of what may have been done though no answer came.
func (p *passed) doubt() string {
	if !p.wish.changes() {
		return ""
	}
	return ", and may have done what was asked: to ask again does no harm"
}

// extendRequests gives those under way all their time again.
func (c *relay) extendRequests() {
	for i := range c.requests {
		c.requests[i].until = c.now + requestLimit
	}
}

// onResponse answers the user.
func (c *relay) onResponse(from grid.PeerID, m wire.Response) {
	k := slices.IndexFunc(c.requests, func(p passed) bool {
		return p.number == m.Number && p.to == from && p.wish.Job == m.Job && p.wish.Group == m.Group
	})
	if k < 0 {
		return
	}
	p := &c.requests[k]
	if m.Outcome == wire.OutcomeWorking {
		p.until, p.taken = c.now+requestLimit, true
		if m.Echo != 0 && m.Echo != p.echo {
			c.onEcho(k, m.Echo)
		}
		return
	}
	a := Answer{Token: p.token}
	if m.Outcome == wire.OutcomeDone {
		a.Found = c.found(m)
		a.Record = a.Found.Record
	} else {
		a.Err = fmt.Errorf("%w: %s: %s says that %s", kindOf(m.Outcome), p.wish.name(), c.nameOf(from), m.Why)
	}
	c.requests = slices.Delete(c.requests, k, k+1)
	c.emit(a)
}

// onEcho repeats the first echo at once, and those that follow with what is repeated anyway: who tells one after the other hears none in time.
func (c *relay) onEcho(k int, echo uint64) {
	p := &c.requests[k]
	p.echo, p.echoes = echo, p.echoes+1
	switch {
	case p.echoes == 1:
		c.send(p.to, c.request(*p))
	case p.echoes > maxEchoes:
		c.emit(Answer{Token: p.token, Err: fmt.Errorf("%w: %s: what %s is asked comes too late there, again and again%s",
			grid.ErrUnavailable, p.wish.name(), c.nameOf(p.to), p.doubt())})
		c.requests = slices.Delete(c.requests, k, k+1)
	}
}

// notUnderstood ends what an older broker does not know how to do. It does not tell which request it is: none that it works at, which may be done.
func (c *relay) notUnderstood(from grid.PeerID, m wire.Error) {
	if m.Of != wire.KindRequest {
		return
	}
	c.requests = slices.DeleteFunc(c.requests, func(p passed) bool {
		if p.to != from || p.wish.old() || p.taken {
			return false
		}
		c.emit(Answer{Token: p.token, Err: fmt.Errorf("%w: %s: the broker of %s is older than this one and cannot be asked that from another site (%s): ask it there",
			grid.ErrInvalid, p.wish.name(), c.nameOf(from), m.Why)})
		return true
	})
}

// outcomes of what could not be done, by the kinds of grid.
var outcomes = []struct {
	outcome wire.Outcome
	kind    error
}{
	{wire.OutcomeForbidden, grid.ErrForbidden},
	{wire.OutcomeUnknown, grid.ErrNotFound},
	{wire.OutcomeLater, grid.ErrNotYet},
	{wire.OutcomeInvalid, grid.ErrInvalid},
	{wire.OutcomeUnavailable, grid.ErrUnavailable}, // also of what is none of these
}

// kindOf is the kind of error that an outcome tells.
func kindOf(o wire.Outcome) error {
	for _, k := range outcomes {
		if k.outcome == o {
			return k.kind
		}
	}
	return grid.ErrUnavailable
}

// refusalOf is an error as it is told.
func refusalOf(err error) (o wire.Outcome, why string) {
	for _, k := range outcomes {
		if o = k.outcome; errors.Is(err, k.kind) {
			break
		}
	}
	return o, strings.TrimPrefix(err.Error(), kindOf(o).Error()+": ")
}
