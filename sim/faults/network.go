package faults

import (
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// encodeOne in so many messages travels as bytes, so that what the codec does not
// carry, or refuses, shows.
const encodeOne = 32

// send carries a message, or loses it, or carries it twice, or late.
func (w *world) send(from *site, to grid.PeerID, m wire.Message) {
	member := w.byPeer[to]
	if member == nil || !from.knows(to) {
		w.tell(from, "cannot send %s to %s: no member", kindOf(m), to)
		return
	}
	there := member.facing(from)
	if from.facing(there) != from {
		return // it is connected to our duplicate
	}
	if m = w.travels(from, m); m != nil {
		w.carry(from, there, m)
	}
}

// carry takes a message to a site.
func (w *world) carry(from, there *site, m wire.Message) {
	r, copies := w.rnd.net, 1
	if w.strikes(Loss, r) {
		w.tell(from, "message lost: %s to %s", kindOf(m), there.name())
		w.releaseLate(from, there, m, w.now)
		copies = 0
	} else if w.strikes(Duplicate, r) {
		copies = 2
	}
	for range copies {
		d := w.lag[from.i][there.i] + between(r, 0, 20)
		if w.strikes(Delay, r) {
			d += between(r, grid.Second, 3*grid.Minute)
			w.releaseLate(from, there, m, w.now+d)
		}
		if w.rates[VeryLate] > 0 && w.strikes(VeryLate, r) { // but all have come when the faults are mended
			d += min(between(r, grid.Minute, 15*grid.Minute), genesis+stormLength+faultLength-w.now-grid.Minute)
		}
		w.after(d, func() { w.deliver(from, there, m) })
	}
}

// releaseLate notes that the word that a reservation is given up does not come at once.
func (w *world) releaseLate(from, to *site, m wire.Message, until grid.Tick) {
	if _, is := m.(wire.Release); is {
		w.unheard[from.i][to.i] = max(w.unheard[from.i][to.i], until)
	}
}

// travels is a message as it comes to the other side; nil where it cannot.
func (w *world) travels(from *site, m wire.Message) wire.Message {
	if w.rnd.net.IntN(encodeOne) == 0 {
		return w.recode(from, m)
	}
	return m
}

// recode sends a message through the codec; nil where that is a violation.
func (w *world) recode(from *site, m wire.Message) wire.Message {
	frame, err := wire.Encode(m)
	if err == nil {
		var out wire.Message
		if out, err = wire.Decode(frame); err == nil {
			return out
		}
	}
	w.violate("S6", jobOf(m), "%s sends a %s that the codec refuses: %v", from.name(), kindOf(m), err)
	return nil
}

func (w *world) deliver(from, to *site, m wire.Message) {
	h := &to.host
	if w.cut[from.i][to.i] > 0 || to.gone || !h.up || !to.knows(from.peer) || !joined(from, to) {
		return
	}
	life := h.life
	h.soon(func() {
		if h.life != life {
			return
		}
		if w.tracing() {
			w.tell(to, "<- %s %s", from.name(), say(m))
		}
		h.post(core.Message{From: from.peer, Message: m})
	})
}

func (s *site) knows(p grid.PeerID) bool {
	for _, m := range s.members {
		if m.Peer == p {
			return true
		}
	}
	return false
}

// hears tells that, in truth, both can reach each other.
func (w *world) hears(a, b *site) bool {
	return joined(a, b) && a.knows(b.peer) && b.knows(a.peer) && a.host.up && b.host.up && !a.host.frozen && !b.host.frozen && w.cut[a.i][b.i] == 0 && w.cut[b.i][a.i] == 0
}

// notice has everybody who knows s find out, sooner or later, whether it lives; and s
// whether they do.
func (w *world) notice(s *site) {
	for _, m := range s.members {
		o := w.byPeer[m.Peer]
		w.after(between(w.rnd.net, 200, 8*grid.Second), func() { w.observe(o, s) })
		w.after(between(w.rnd.net, 200, 8*grid.Second), func() { w.observe(s, o) })
	}
}

// burial is after how long a peer that is not heard counts as dead.
const burial = 30 * grid.Second

// observe is what a's overlay makes of b now: as the membership protocol has it, a
// peer is doubtful before it is dead.
func (w *world) observe(a, b *site) {
	h := &a.host
	if b = b.facing(a); !h.up || !a.knows(b.peer) {
		return
	}
	if w.hears(a, b) {
		if h.met[b.peer] != b.host.nonce || h.lives[b.peer] != grid.Alive { // a new connection: Hello
			first := h.met[b.peer] == 0
			h.met[b.peer] = b.host.nonce
			site := b.facts
			site.Draining = b.disk.state.Draining
			h.post(core.PeerSite{Peer: b.peer, Site: site})
			if first && h.up {
				h.post(core.LinkChanged{Peer: b.peer, Link: a.links[b.peer]})
			}
			if h.up {
				a.hearsOf(b)
				h.post(core.PeerJournal{Peer: b.peer, Journal: b.disk.id(), Boot: b.host.nonce})
			}
		}
		if h.up {
			h.live(b.peer, grid.Alive)
		}
		return
	}
	if h.lives[b.peer] != grid.Alive {
		return
	}
	h.live(b.peer, grid.Doubtful)
	w.after(burial, func() {
		if h.up && h.lives[b.peer] == grid.Doubtful && !w.hears(a, b) {
			h.live(b.peer, grid.Dead)
		}
	})
}

// slander has a believe for a while that b does not live.
func (w *world) slander(a, b *site) {
	if !a.host.up || a.host.lives[b.peer] != grid.Alive || !w.happens(FalseWord) {
		return
	}
	a.host.live(b.peer, [...]grid.Liveness{grid.Doubtful, grid.Dead}[w.rnd.net.IntN(2)])
	w.after(between(w.rnd.net, grid.Second, 2*grid.Minute), func() { w.observe(a, b) })
}

// part cuts some sites off from the others, one way or both.
func (w *world) part(oneWay bool) {
	k := Partition
	if oneWay {
		k = OneWay
	}
	r := w.rnd.net
	side := make([]bool, len(w.sites))
	side[r.IntN(len(side))] = true
	for i := range side {
		side[i] = side[i] || r.IntN(3) == 0
	}
	span := between(r, grid.Second, 4*grid.Minute)
	if !w.happens(k) {
		return
	}
	w.split(side, oneWay, true)
	w.after(span, func() { w.split(side, oneWay, false) })
}

func (w *world) split(side []bool, oneWay, on bool) {
	word, by := "a partition heals", -1
	if on {
		word, by = "a partition", 1
		if oneWay {
			word = "a one-way partition"
		}
	}
	w.tell(nil, "%s: %s", word, sideNames(w, side))
	for i := range w.sites {
		for k := range w.sites {
			if side[i] && !side[k] {
				w.cut[i][k] += by
				if !oneWay {
					w.cut[k][i] += by
				}
			}
		}
	}
	for _, s := range w.sites {
		w.notice(s)
	}
}

func sideNames(w *world, side []bool) string {
	in, out := "", ""
	for i, s := range w.sites {
		if side[i] {
			in += " " + string(s.name())
		} else {
			out += " " + string(s.name())
		}
	}
	return in + " |" + out
}
