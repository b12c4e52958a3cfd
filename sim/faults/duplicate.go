package faults

import (
	"maps"

	"gbroker/broker/core"
	"gbroker/grid"
)

// A duplicate is a second broker under one name: the journal of a site was copied to another
// machine of it and started there. Both see the same batch system and the same control
// directories, as those lie where all nodes see them. Each member is connected to one of
// the two at a time, now to this and now to that; users know the first one only. After a
// while an administrator stops one of them, and says so to the other.

// principal is the site that a duplicate stands for.
func (s *site) principal() *site {
	if s.of != nil {
		return s.of
	}
	return s
}

// facing is the one of the brokers under the name of s that o is connected to.
func (s *site) facing(o *site) *site {
	p := s.principal()
	if p.duplicate != nil && p.with[o.i] {
		return p.duplicate
	}
	return p
}

// joined tells that a and b are connected to each other, and not to a duplicate.
func joined(a, b *site) bool { return a.facing(b) == a && b.facing(a) == b }

// startDuplicate starts the duplicate of a site.
func (s *site) startDuplicate(span grid.Tick) {
	w := s.w
	w.tell(s, "its journal is copied, and a second broker started with it, for %v s", span.Seconds())
	t := &site{
		w: w, i: s.i, peer: s.peer, facts: s.facts, nodes: s.nodes, members: s.members, links: s.links,
		clock: s.clock, disk: s.disk, batch: s.batch, of: s, forgot: s.forgot, fenced: s.fenced, dropped: s.dropped,
	}
	d := &t.disk
	d.groups, d.beside = maps.Clone(d.groups), maps.Clone(d.beside)
	d.records, d.peers, d.pending, d.backup, d.snapshot, d.undo = maps.Clone(d.records), maps.Clone(d.peers), nil, nil, nil, nil
	d.witness = d.witness.clone()
	d.full, d.slow, d.unreadable = false, false, false
	t.host = host{s: t}
	s.duplicate, s.copied, s.with = t, w.now, make([]bool, len(w.sites))
	t.host.boot()
	s.mingle(t)
	w.after(span, func() {
		if s.duplicate == t {
			s.single()
		}
	})
}

// mingle has some members connect to the other one of the two.
func (s *site) mingle(t *site) {
	w := s.w
	if s.duplicate != t {
		return
	}
	for _, m := range s.members {
		if o := w.byPeer[m.Peer]; w.rnd.net.IntN(2) == 0 {
			s.with[o.i] = !s.with[o.i]
			s.meet(o)
		}
	}
	w.after(between(w.rnd.net, 5*grid.Second, 40*grid.Second), func() { s.mingle(t) })
}

// meet has all find out whom they are connected to.
func (s *site) meet(o *site) {
	w := s.w
	for _, mine := range []*site{s, s.duplicate} {
		if mine != nil {
			w.after(between(w.rnd.net, 50, 2*grid.Second), func() { w.observe(o, mine) })
			w.after(between(w.rnd.net, 50, 2*grid.Second), func() { w.observe(mine, o) })
		}
	}
}

// single ends it: one of the two is stopped for ever, and what is left is one site.
func (s *site) single() {
	w, t := s.w, s.duplicate
	keep := w.rnd.disk.IntN(2) == 0
	w.tell(s, "an administrator keeps the first one: %v", keep)
	t.gone = true
	t.host.crash(0, "stopped by an administrator")
	s.duplicate = nil
	if !keep {
		s.host.crash(between(w.rnd.disk, 50, grid.Minute), "stopped by an administrator, who keeps its duplicate")
		was := s.disk
		s.disk = t.disk
		s.disk.full, s.disk.slow, s.disk.unreadable, s.disk.backup = was.full, was.slow, was.unreadable, nil
	}
	w.truth.setBack(s, lapse{since: s.copied, words: true, second: true}) // what the other one has done
	for _, m := range s.members {
		s.meet(w.byPeer[m.Peer])
	}
	s.resume()
}

// relieve: an administrator reads that the broker has a duplicate, and knows that it has none any more.
func (s *site) relieve() {
	if s.of == nil && s.duplicate == nil {
		s.resume()
	}
}

// resume is an administrator's word that the broker has no duplicate any more, or, where none has stopped it, that it had
// one; it is repeated until it is taken.
func (s *site) resume() {
	h, answered := &s.host, false
	if h.up && h.Core() != nil && !h.frozen {
		h.request(func(t core.Token) core.Request {
			if h.halted {
				return core.Resume{Token: t}
			}
			s.relearns = s.w.now
			return core.HadDuplicate{Token: t}
		}, func(a core.Answer) { answered = a.Err == nil })
	}
	s.w.after(5*grid.Second, func() {
		if !answered && !s.gone && s.duplicate == nil {
			s.resume()
		}
	})
}
