package brokers

import (
	"gbroker/broker/core"
	"gbroker/grid"
)

// planAbsences has sites leave and return as the world says.
func (r *run) planAbsences(left func(site int, away bool)) {
	set := func(i int, away bool) func() {
		return func() {
			r.away[i] = away
			left(i, away)
		}
	}
	for i := range r.w.Sites {
		for _, a := range r.w.Sites[i].Away {
			r.at(epoch+a.From, set(i, true))
			r.at(epoch+a.To, set(i, false))
		}
	}
}

// left: the broker of a site is not to be reached any more, or again, which overlay tells on both sides.
func (n *neighbourhood) left(site int, away bool) {
	h := n.brokers[site]
	h.away = away
	for _, m := range h.hears() {
		o := n.brokers[m]
		if o.away {
			continue
		}
		h.sees(o, !away)
		o.sees(h, !away)
	}
}

// sees tells a broker whether another can be reached.
func (h *broker) sees(o *broker, alive bool) {
	if alive {
		h.Post(core.PeerJournal{Peer: o.peer, Journal: o.position(), Boot: uint64(o.site) + 1})
		h.post(core.PeerChanged{Peer: o.peer, Liveness: grid.Alive})
		return
	}
	h.post(core.PeerChanged{Peer: o.peer, Liveness: grid.Dead})
}
