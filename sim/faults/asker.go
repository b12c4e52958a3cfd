package faults

import (
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// Users who ask at another broker than the home of what they ask for, and what must hold of that:
//
//	S15  what is wished for at another broker is done once: a job whose user was told that it is released
//	     is not held again by a wish of before
//
// The properties of what is asked at home hold too. What a home has lost with its journal, or a duplicate of it was
// told, it cannot know.

// asker is the broker that a user of s asks: its home, or in one case of three a neighbour of that.
func (w *world) asker(s *site) *site {
	r := w.rnd.asker
	if n := len(s.members); n > 0 && r.IntN(3) == 0 {
		return w.byPeer[s.members[r.IntN(n)].Peer]
	}
	return s
}

// reaches tells that the broker of s takes requests.
func (s *site) reaches() bool {
	h := &s.host
	return h.up && h.Core() != nil && !h.frozen && !s.gone
}

// orHome is the broker that is asked, or the home, once that one is gone for ever.
func (at *site) orHome(s *site) *site {
	if at.gone {
		return s
	}
	return at
}

// ask asks for something at the broker at, which passes it on to the home.
func (s *site) ask(at *site, here func(core.Token) core.Request, wish core.Wish, answered func(core.Answer)) {
	at.host.request(func(t core.Token) core.Request {
		if at == s {
			return here(t)
		}
		return core.Forward{Token: t, To: s.peer, Wish: wish}
	}, answered)
}

// serve does what a user of another broker wishes, as daemon/serve.go does.
func (h *host) serve(key core.WorkKey, e core.Serve) {
	w := &e.Wish
	served := func(a core.Answer) {
		h.later(0, func() {
			h.post(core.Served{From: e.From, Number: e.Number, Found: core.Found{Record: a.Record, Group: a.Group}, Err: a.Err})
		})
	}
	h.do(key, &work{
		begin: func() grid.Tick { return between(h.s.w.rnd.asker, 1, 50) },
		end: func(bool) {
			h.s.w.tell(h.s, "serves wish %d of %s for %s%s", e.Number, w.User, w.Job, w.Group)
			h.request(func(t core.Token) core.Request {
				switch {
				case w.Ask == wire.WishAlter:
					return core.Alter{Token: t, Job: w.Job, To: w.Alter, By: w.User, Relayed: grid.Relayed{By: e.From, Number: e.Number}}
				case w.Group != "":
					return core.CancelGroup{Token: t, Group: w.Group, By: w.User}
				}
				return core.RemoveRequest{Token: t, Job: w.Job}
			}, served)
		},
	})
}

// releasedTold: its user hears that it is released, as he asked for at an instant. Its home may have lost that since, while the answer was on the way.
func (f *fact) releasedTold(asked grid.Tick) {
	lost := slices.ContainsFunc(f.home.lapses, func(l lapse) bool { return l.at >= asked })
	if !lost && !f.asked.released {
		f.asked.released, f.asked.releasedAt = true, f.home.w.now
	}
}

// releasedSaved checks S15 of what the home of a job has saved.
func (t *truth) releasedSaved(s *site, f *fact, r *grid.Record) {
	if f.asked.released && r.Job.Terms.Held && !f.byAnother() {
		s.w.violate("S15", f.id, "%s was told to be released, and is held again", f.id)
	}
}
