package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// holdings are the reservations that users here hold, at this site and at others. For a user a reservation
// is asked for and confirmed in one go:
//
//	ReserveRequest ─► Reserve … Reserved TENTATIVE ─► Confirm … Reserved CONFIRMED ─► Answer
//	                       └► refused, or no answer in time: Release, and Answer with why
//
// What was heard of those at other sites is kept, so that it can be listed and the site's words are
// acknowledged by what is on disk. Until the user has the answer nothing is promised: after a crash
// the tentative one vanishes by itself, and a confirmed one of which no answer was given is given up.
type holdings struct {
	*kernel
	all  map[grid.ReservationID]*grid.Reservation // at other sites
	asks map[grid.ReservationID]*holdingAsk

	reservations interface {
		get(id grid.ReservationID) (grid.Reservation, bool)
	}
}

// holdingAsk is a user's wish under way.
type holdingAsk struct {
	token Token
	to    grid.PeerID
	m     wire.Message // repeated until it is answered
	again grid.Tick
	until grid.Tick
	last  *grid.Refusal // why it is not done yet
	check bool          // no user's: whether its site still has it
}

// ReserveRequest asks a site for a reservation of a user here.
type ReserveRequest struct {
	Token   Token
	To      grid.PeerID
	Reserve wire.Reserve
}

// ReleaseRequest gives one up, already authorised.
type ReleaseRequest struct {
	Token Token
	ID    grid.ReservationID
	By    string
}

func (ReserveRequest) event()         {}
func (ReleaseRequest) event()         {}
func (e ReserveRequest) token() Token { return e.Token }
func (e ReleaseRequest) token() Token { return e.Token }

const (
	// holdingLimit bounds the wait of a user for a site; maxHoldingAsks those under way.
	holdingLimit   = grid.Minute
	maxHoldingAsks = 256
	// keepHolding is how long one that is over is listed.
	keepHolding = grid.Day
	// maxHeldAt bounds what is kept of one site that this journal has not asked for.
	maxHeldAt = 10_000
)

func newHoldings(k *kernel) *holdings {
	return &holdings{kernel: k, all: map[grid.ReservationID]*grid.Reservation{}, asks: map[grid.ReservationID]*holdingAsk{}}
}

func (c *holdings) take(list []grid.Reservation) {
	for i := range list {
		if r := list[i]; r.Site != c.cfg.Self {
			c.all[r.ID] = &r
		}
	}
}

func (c *holdings) routes(r *routes) {
	onEvent(r, c.boot)
	onEvent(r, c.reserve)
	onEvent(r, c.release)
	onEvent(r, c.change)
	onMessage(r, c.reserved)
	onMessage(r, c.word)
	onMessage(r, c.recounted)
	onGeneral(r, holdingsDue, c.due)
}

// boot gives up what was asked for by the last life and not confirmed: nobody had an answer.
func (c *holdings) boot(Boot) {
	for _, id := range slices.Sorted(maps.Keys(c.all)) {
		if r := c.all[id]; r.State == grid.Tentative {
			c.giveUp(r.Site, r.ID, "its broker ended before it was confirmed")
		}
	}
	c.armGeneral(holdingsDue, grid.Second)
}

func (c *holdings) reserve(e ReserveRequest) {
	id := e.Reserve.ID
	switch {
	case e.To != c.cfg.Self && c.members[e.To] == nil:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: that site is no member", grid.ErrNotFound)})
	case e.To != c.cfg.Self && !c.lives(e.To):
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: %s is not alive, as far as this broker hears: `gclient sites` says how it stands", grid.ErrUnavailable, c.nameOf(e.To))})
	case len(c.asks) >= maxHoldingAsks:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: %d reservations are being asked for", grid.ErrUnavailable, len(c.asks))})
	case c.asks[id] != nil || c.all[id] != nil:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: there is a reservation %s", grid.ErrInvalid, id)})
	default:
		m := e.Reserve
		m.Holder.Home, m.Sent = c.cfg.Self, c.now
		c.askFor(id, &holdingAsk{token: e.Token, to: e.To, m: m})
	}
}

func (c *holdings) askFor(id grid.ReservationID, a *holdingAsk) {
	a.until = c.now + holdingLimit
	c.asks[id] = a
	c.repeat(a)
	c.armWithin(holdingsDue, c.cfg.Retry)
}

func (c *holdings) repeat(a *holdingAsk) {
	a.again = c.now + c.cfg.Retry
	c.send(a.to, a.m)
}

func (c *holdings) release(e ReleaseRequest) {
	site := c.cfg.Self
	if r := c.all[e.ID]; r != nil {
		site = r.Site
	} else if _, known := c.reservations.get(e.ID); !known {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s", grid.ErrNotFound, e.ID)})
		return
	}
	if c.isAsked(e.ID) {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s is being asked for", grid.ErrNotYet, e.ID)})
		return
	}
	c.askFor(e.ID, &holdingAsk{token: e.Token, to: site, m: wire.Release{ID: e.ID, Why: "given up by " + e.By}})
}

// reserved is the answer of a site.
func (c *holdings) reserved(from grid.PeerID, m wire.Reserved) {
	id := m.Reservation.ID
	a := c.asks[id]
	if a == nil || a.to != from || a.m.Kind() != m.Of {
		return
	}
	r := m.Reservation
	if is := c.all[id]; r.State == 0 && is != nil && is.Site == from {
		r = *is
		if r.State.Become(grid.Released, grid.TheSite) == nil {
			r.Reason = "its site does not know it"
		}
	}
	r.Site = from
	switch {
	case m.Of == wire.KindRelease:
		c.heard(from, r)
		c.done(id, Answer{Reservation: r})
	case m.Of == wire.KindChange && r.Holding == grid.Changing && m.Refusal != nil && m.Refusal.MayPass():
		a.last = m.Refusal // its batch system is asked again
	case m.Of == wire.KindChange:
		c.heard(from, r)
		c.done(id, c.changed(a, from, m))
	case m.Refusal != nil && m.Of == wire.KindConfirm && m.Refusal.MayPass():
		a.last = m.Refusal
	case m.Refusal != nil:
		c.heard(from, r)
		c.done(id, Answer{Err: c.refusedBy(from, m.Refusal)})
	case m.Of == wire.KindReserve && r.State == grid.Tentative:
		c.heard(from, r)
		a.m = wire.Confirm{ID: id, Sent: c.now}
		c.repeat(a)
	case r.State == grid.Confirmed || r.State == grid.Bound || r.State == grid.Active:
		c.heard(from, r)
		c.done(id, Answer{Reservation: r, Slack: m.Slack})
	default:
		c.heard(from, r)
		c.done(id, Answer{Err: fmt.Errorf("%w: it is %v%s", grid.ErrNotYet, r.State, because(r.Reason))})
	}
}

func (c *holdings) refusedBy(site grid.PeerID, why *grid.Refusal) error {
	kind := grid.ErrInvalid
	if why.MayPass() {
		kind = grid.ErrNotYet
	}
	return fmt.Errorf("%w: %s says: %s", kind, c.nameOf(site), words(why))
}

// words are those of a refusal, with its numbers.
func words(r *grid.Refusal) string {
	text := r.Reason
	if r.Asked != "" || r.Available != "" {
		text += " (asked " + cmp.Or(r.Asked, "-") + ", available " + cmp.Or(r.Available, "-") + ")"
	}
	if r.Again > 0 {
		text += ", perhaps " + r.Again.Duration().String() + " later"
	}
	return text
}

func (c *holdings) done(id grid.ReservationID, w Answer) {
	a := c.asks[id]
	delete(c.asks, id)
	if a.token != 0 {
		w.Token = a.token
		c.emit(w)
	}
}

// heard keeps what a site said of a reservation there. Its end is the last word, also of a site whose journal, and with it the number
// of its words, was put back. One that takes it for less than users were told is asked to confirm it again.
func (c *holdings) heard(from grid.PeerID, r grid.Reservation) {
	if from == c.cfg.Self || r.State == 0 {
		return
	}
	was := grid.Reservation{Site: from, Made: c.now}
	if is := c.all[r.ID]; is != nil {
		was = *is
	}
	if was.Site != from || was.State.Over() || r.Seq <= was.Seq && was.State != 0 && !r.State.Over() {
		return
	}
	if was.State.Become(r.State, grid.TheSite) != nil {
		c.holdOn(r.ID, from)
		return
	}
	r.Made = was.Made
	r.Site, r.Holding = from, grid.NotPlaced // that is its site's
	if r.State.Over() {
		r.Ended = c.now
	}
	c.all[r.ID] = &r
	saved := r
	c.emit(Save{grid.Saved(&saved, grid.Event{At: c.now, Site: c.siteName(from), Why: r.State.String() + because(r.Reason)})})
}

// word is what a reservation has become. One for a job over several sites is left to whoever holds it for that. Of others that nobody here knows
// what was never confirmed is given up.
func (c *holdings) word(from grid.PeerID, m wire.ReservationWord) {
	r := m.Reservation
	if r.Holder.Home != c.cfg.Self {
		return
	}
	switch {
	case from == c.cfg.Self && r.For == "", c.asks[r.ID] != nil && c.asks[r.ID].to == from:
		c.heard(from, r)
	case c.all[r.ID] != nil && c.all[r.ID].Site == from && c.all[r.ID].State.Over() && !r.State.Over(): // it was told otherwise, and has forgotten it
		c.send(from, wire.Release{ID: r.ID, Why: "it was over"})
		return // that may be lost: it is acknowledged when it is over there
	case c.all[r.ID] != nil && c.all[r.ID].Site == from:
		c.heard(from, r)
	case c.wholes != nil && c.wholes.holds(from, r.ID): // which has heard it in this step
	case r.For.PartNumber() > 0 && !r.State.Over():
		return
	case r.State > grid.Tentative && !r.State.Over() && c.heldAt(from) < maxHeldAt:
		c.heard(from, r) // its user was told of it, in a part of this journal that is lost
	case !r.State.Over():
		c.send(from, wire.Release{ID: r.ID, Why: "its holder does not know it"})
		return
	}
	c.send(from, wire.ReservationAck{ID: r.ID, Seq: r.Seq})
}

// heldAt is how many of a site are kept here.
func (c *holdings) heldAt(site grid.PeerID) (n int) {
	for _, r := range c.all {
		if r.Site == site {
			n++
		}
	}
	return n
}

// due repeats what was not answered, and forgets what is long over.
func (c *holdings) due() {
	for _, id := range slices.Sorted(maps.Keys(c.asks)) {
		a := c.asks[id]
		switch {
		case c.now >= a.until:
			if k := a.m.Kind(); !a.check && (k == wire.KindReserve || k == wire.KindConfirm) {
				c.giveUp(a.to, id, "its user has waited too long")
			}
			said, why := "did not answer", ""
			if a.last != nil {
				said, why = "has not done it", because(a.last.Reason)
			}
			c.done(id, Answer{Err: fmt.Errorf("%w: %s %s in %s%s", grid.ErrUnavailable, c.nameOf(a.to), said, holdingLimit.Duration(), why)})
		case c.now >= a.again:
			c.repeat(a)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.all)) {
		r := c.all[id]
		if c.now > r.End+grid.Hour {
			c.over(r, "its time is over, and its site is silent")
		}
		if r.State.Over() && c.now >= r.Ended+keepHolding {
			delete(c.all, id)
			c.emit(Save{grid.Deleted(grid.KindReservation, string(id))})
		}
	}
	if len(c.asks) > 0 {
		c.armGeneral(holdingsDue, c.cfg.Retry)
	} else if len(c.all) > 0 {
		c.armGeneral(holdingsDue, 10*grid.Minute)
	}
}

// get is what the book here has.
func (c *reservations) get(id grid.ReservationID) (grid.Reservation, bool) { return c.book.Get(id) }
