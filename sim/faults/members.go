package faults

import (
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// unknow removes a member from a site's file: neither hears the other any more.
func (s *site) unknow(m grid.Member) {
	s.members = slices.DeleteFunc(slices.Clone(s.members), func(o grid.Member) bool { return o.Peer == m.Peer })
	s.w.tell(s, "its administrator removes %s from the neighbours", m.Name)
	s.dropped[m.Peer] = s.w.now
	s.w.truth.membersOf(s)
	delete(s.host.lives, m.Peer)
	delete(s.host.met, m.Peer)
	s.changed(m.Peer)
}

// know puts it back.
func (s *site) know(m grid.Member) {
	if !s.knows(m.Peer) {
		s.w.tell(s, "its administrator adds %s to the neighbours again", m.Name)
		s.members = append(slices.Clone(s.members), m)
		s.dropped[m.Peer] = s.w.now
		s.w.truth.membersOf(s)
		s.changed(m.Peer)
	}
}

// changed has the broker read its file, and both find out whether they reach each other.
func (s *site) changed(p grid.PeerID) {
	h, o := &s.host, s.w.byPeer[p]
	if h.up {
		h.soon(func() {
			if h.up {
				h.post(core.MembersChanged{Members: slices.Clone(s.members)})
			}
		})
	}
	for _, pair := range [][2]*site{{s, o}, {o, s}} {
		s.w.after(between(s.w.rnd.net, 200, 8*grid.Second), func() { s.w.observe(pair[0], pair[1]) })
	}
}
