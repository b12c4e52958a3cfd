package core

import (
	"cmp"
	"maps"
	"slices"

	"gbroker/grid"
)

// member is a line of the neighbourhood and what is known of the peer.
type member struct {
	grid.Member
	live  grid.Liveness
	mine  uint64    // the sequence of this journal that it was last told
	told  bool      // it has said what it saw of this broker
	heard bool      // the overlay has said whether it lives
	site  grid.Site // zero until its Hello
	link  grid.Link
}

// maxUnnamed bounds what is kept of peers that are no members.
const maxUnnamed = 1024

// hear notes what is known of a peer. Its line in the neighbours' file may come
// later than the first word of it.
func (c *Core) hear(p grid.PeerID, note func(*member)) {
	if m := c.members[p]; m != nil {
		note(m)
		return
	}
	m, known := c.unnamed[p]
	if known || len(c.unnamed) < maxUnnamed {
		note(&m)
		c.unnamed[p] = m
	}
}

// setMembers replaces the neighbourhood; what is known of a peer that stays is kept.
func (c *Core) setMembers(members []grid.Member) {
	old := c.members
	c.members = make(map[grid.PeerID]*member, len(members))
	c.targets = nil
	for _, m := range members {
		k := &member{Member: m, live: grid.Dead, link: assumedLink(m)}
		if o := old[m.Peer]; o != nil {
			k.live, k.site, k.link, k.heard, k.told, k.mine = o.live, o.site, o.link, o.heard, o.told, o.mine
		} else if o, ok := c.unnamed[m.Peer]; ok {
			k.site, k.heard = o.site, o.heard
			if o.heard {
				k.live = o.live
			}
			if len(o.link.Rates) > 0 {
				k.link = o.link
			}
			delete(c.unnamed, m.Peer)
		}
		c.members[m.Peer] = k
		if m.Send {
			c.targets = append(c.targets, m.Peer)
		}
	}
	slices.SortFunc(c.targets, func(a, b grid.PeerID) int {
		return cmp.Compare(c.members[a].Name, c.members[b].Name)
	})
}

// neighbours are all members, in a fixed order.
func (c *Core) neighbours() []grid.PeerID { return slices.Sorted(maps.Keys(c.members)) }

func assumedLink(m grid.Member) grid.Link {
	b := m.DefaultBandwidth
	if b <= 0 {
		b = grid.DefaultBandwidth
	}
	if m.RateLimit > 0 {
		b = min(b, m.RateLimit)
	}
	return grid.Link{Rates: []grid.Rate{{Size: 1 << 10, BytesPerSecond: float64(b)}}}
}

// joined asks those that were no members before, where this journal was rolled back: they may have been
// removed in the part that is lost, and know of it.
func (c *Core) joined(before map[grid.PeerID]*member) {
	if c.rolled == nil {
		return
	}
	for p := range c.members {
		if before[p] == nil {
			c.rolled.waiting[p] = true
			c.rolled.unheard = slices.DeleteFunc(c.rolled.unheard, func(o grid.PeerID) bool { return o == p })
		}
	}
	c.recount()
}

// removed lets go of what hung on members that are none any more.
func (c *Core) removed() {
	for _, id := range slices.Sorted(maps.Keys(c.accepted)) {
		if c.members[c.accepted[id].from] == nil {
			c.release(c.accepted[id])
		}
	}
	if c.rolled != nil {
		for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
			if c.members[p] == nil {
				c.notAwaited(p, false)
			}
		}
	}
	c.offers = slices.DeleteFunc(c.offers, func(o pendingOffer) bool { return c.members[o.from] == nil })
	for _, j := range c.sorted() {
		c.declineRemoved(j)
		if h := j.rec.Handoff; h.Phase == grid.Offering && c.members[h.To] == nil {
			c.dropOffer(j, "the candidate was removed from the neighbours")
		}
	}
}

func (c *Core) siteName(p grid.PeerID) grid.SiteName {
	if p == c.cfg.Self {
		return c.cfg.Site.Name
	}
	if m := c.members[p]; m != nil {
		return m.Name
	}
	return ""
}
