package core

import (
	"maps"
	"math"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// What users of other brokers ask for at this one. The status and the cancel of a job are Core's own to give. All
// else is done as if its user had asked here, by [Serve], as it needs what lies outside Core (the
// journal's tables, files). It is done once as far as is known here: a request that comes again while it is
// under way is told so, and one that was answered gets its answer again. What is not known any more, after
// a restart, does no harm when it is done again:
//
//	alter       the record keeps the number of the last one of each broker: that one, and one before it, changes nothing
//	resubmit    under one key there is one job
//	cancel      stays
//	remove      what is removed stays so
//
// A request may also come late, when its user was told that nobody answers, and has done something else. So what changes something is
// served only once the asking broker has repeated an instant that it was told here a moment ago:
//
//	Request(no echo) ─► Response(working, echo) ─► Request(echo) ─► served ─► Response
//
// An alteration of a job is late too where that instant is before the last one that was made.

// maxServing bounds those under way, maxServingEach those for one member, maxAnswered the answers that are kept.
const (
	maxServing     = 256
	maxServingEach = 64
	maxAnswered    = 1024
	answeredFor    = grid.Minute
)

type servedKey struct {
	from   grid.PeerID
	number uint64
}

// served is a request that is or was served.
type served struct {
	wish   Wish
	since  grid.Tick
	answer *wire.Response // nil while it is under way
}

// onRequest decides for a user of another broker.
func (c *relay) onRequest(from grid.PeerID, m wire.Request) {
	w := c.wishOf(m)
	if w.old() {
		c.send(from, c.tell(from, &m, &w))
		return
	}
	answer := wire.Response{Number: m.Number, Job: m.Job, Group: m.Group}
	key := servedKey{from, m.Number}
	if s := c.served[key]; s != nil && s.answer != nil {
		c.send(from, *s.answer)
		return
	} else if s != nil {
		answer.Outcome = wire.OutcomeWorking
		c.send(from, answer)
		return
	}
	if answer.Outcome, answer.Why = c.mayWish(from, &w); answer.Outcome != wire.OutcomeDone {
		c.send(from, answer)
		return
	}
	if c.isLate(&w, m.Echo) {
		answer.Outcome, answer.Echo = wire.OutcomeWorking, uint64(c.now)
		c.send(from, answer)
		return
	}
	c.served[key] = &served{wish: w, since: c.now}
	c.emit(Serve{From: from, Number: m.Number, Wish: w})
}

// isLate: nobody may wait for that any more, and its user have been told so. Whoever still asks is told an instant of this clock, and repeats his
// request with that at once: it is served within the time that he waits after he has heard it. What an earlier life has told counts for nothing, as
// this one does not know what was altered since. A broker of before knows of no echo.
func (c *relay) isLate(w *Wish, echo uint64) bool {
	at := grid.Tick(min(echo, math.MaxInt64))
	return w.changes() && echo != 0 && (at > c.now || at < c.start || c.now-at > requestLimit || w.Ask == wire.WishAlter && at <= c.alteredAt(w.Job))
}

// alteredAt is when a job was altered last in this life; 0 is never. Who has asked another broker before that, which has gone silent since, may
// have asked for this change here instead.
func (c *relay) alteredAt(id grid.JobID) grid.Tick {
	if j := c.job(id); j != nil {
		return j.altered
	}
	return 0
}

// mayWish says whether a wish is served.
func (c *relay) mayWish(from grid.PeerID, w *Wish) (wire.Outcome, string) {
	user, known := c.userOf(w)
	switch {
	case !known && w.site() == c.cfg.Site.Name && c.gates.beforeDenying() != open:
		return wire.OutcomeLater, "its home has a new journal, and learns its jobs again as their sites report them"
	case !known:
		return wire.OutcomeUnknown, "it is not here, or was removed"
	case !c.mayAsk(from, w, user):
		return wire.OutcomeForbidden, "it belongs to another user"
	}
	return c.roomToServe(from)
}

// userOf is whose the job or the group is, if this is its home.
func (c *relay) userOf(w *Wish) (of grid.User, known bool) {
	if w.Group != "" {
		g := c.groups.all[w.Group]
		if g == nil || g.rec.Removed {
			return of, false
		}
		return g.rec.User, true
	}
	if j := c.job(w.Job); j != nil {
		return grid.User{Home: j.rec.Job.Home, Name: j.rec.Job.User.Name}, c.isHome(j) && !j.rec.Removed
	}
	r, known := c.groups.outline(w.Job)
	return r.Job.User, known
}

// roomToServe forgets what was answered long ago, and bounds the rest.
func (c *relay) roomToServe(from grid.PeerID) (wire.Outcome, string) {
	maps.DeleteFunc(c.served, func(_ servedKey, s *served) bool { return s.answer != nil && c.now-s.since > answeredFor })
	under, each, answered := 0, 0, 0
	for key, s := range c.served {
		switch {
		case s.answer != nil:
			answered++
		case key.from == from:
			each++
			fallthrough
		default:
			under++
		}
	}
	if under >= maxServing || each >= maxServingEach || answered >= maxAnswered {
		return wire.OutcomeUnavailable, "too much is asked of it at once: try again"
	}
	return wire.OutcomeDone, ""
}

// onServed answers what was asked.
func (c *relay) onServed(e Served) {
	key := servedKey{e.From, e.Number}
	s := c.served[key]
	if s == nil || s.answer != nil {
		return
	}
	m := wire.Response{Number: e.Number, Job: s.wish.Job, Group: s.wish.Group}
	if e.Err != nil {
		m.Outcome, m.Why = refusalOf(e.Err)
	} else {
		c.fill(&m, &s.wish, &e.Found)
	}
	c.send(e.From, m)
	if s.wish.changes() {
		s.answer, s.since = &m, c.now
	} else {
		delete(c.served, key) // to find it again does no harm
	}
}

// tell answers for the status, or the cancel, of a job, at its home or its owner.
func (c *relay) tell(from grid.PeerID, m *wire.Request, w *Wish) wire.Response {
	answer := wire.Response{Number: m.Number, Job: w.Job}
	j := c.job(w.Job)
	var r grid.Record
	known := j != nil
	if known {
		r = j.rec
	} else {
		r, known = c.groups.outline(w.Job)
	}
	cancel := w.Ask == wire.WishCancel
	if answer.Outcome, answer.Why = c.grant(from, w, &r, known); answer.Outcome != wire.OutcomeDone {
		return answer
	}
	switch {
	case c.isLate(w, m.Echo):
		answer.Outcome, answer.Echo = wire.OutcomeWorking, uint64(c.now)
		return answer
	case cancel && j != nil:
		c.home.wantGone(j, w.User+" at "+c.nameOf(from))
		r = j.rec
	case cancel:
		if err := c.groups.cancelOne(w.Job, w.User+" at "+c.nameOf(from)); err != nil {
			answer.Outcome, answer.Why = refusalOf(err)
			return answer
		}
		r, _ = c.groups.outline(w.Job)
	}
	s := c.statusOf(&r)
	answer.Status = &s
	return answer
}

func (c *relay) grant(from grid.PeerID, w *Wish, r *grid.Record, known bool) (wire.Outcome, string) {
	atHome := r.Job.Home == c.cfg.Self
	switch {
	case !known && w.Job.Site() == c.cfg.Site.Name && c.gates.beforeDenying() != open:
		return wire.OutcomeLater, "its home has a new journal, and learns its jobs again as their sites report them"
	case !known || r.Removed || !atHome && r.Role != grid.Owning && !r.Kept:
		return wire.OutcomeUnknown, "it is not here"
	case !c.mayAsk(from, w, grid.User{Home: r.Job.Home, Name: r.Job.User.Name}):
		return wire.OutcomeForbidden, "it belongs to another user"
	case w.Ask == wire.WishCancel && r.Role != grid.Owning && !atHome:
		return wire.OutcomeLater, "only its home can cancel it now"
	}
	return wire.OutcomeDone, ""
}

// mayAsk says whether a user of another broker is the one whose a job or a group is, as far as this site
// trusts that broker.
func (c *relay) mayAsk(from grid.PeerID, w *Wish, of grid.User) bool {
	same := func(p grid.PeerID) bool { m := c.members[p]; return m != nil && m.SameUsers }
	switch {
	case of.Home == from:
	case !same(from), of.Home != c.cfg.Self && !same(of.Home):
		return false
	}
	return w.Administrator || w.User == of.Name
}

// latest are the last n at most.
func latest[T any](list []T, n int) []T { return slices.Clone(list[max(0, len(list)-n):]) }
