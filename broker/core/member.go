package core

import (
	"cmp"
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

	foretold foretold  // what it told of starts
	offered  grid.Tick // when a job was last offered to it
}

// maxUnnamed bounds what is kept of peers that are no members.
const maxUnnamed = 1024

// hear notes what is known of a peer. Its line in the neighbours' file may come
// later than the first word of it.
func (c *kernel) hear(p grid.PeerID, note func(*member)) {
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
func (c *kernel) setMembers(members []grid.Member) {
	old := c.members
	c.members = make(map[grid.PeerID]*member, len(members))
	c.targets, c.peerIDs = nil, make([]grid.PeerID, 0, len(members))
	for _, m := range members {
		k := &member{Member: m, live: grid.Dead, link: assumedLink(m)}
		if o := old[m.Peer]; o != nil {
			k.live, k.site, k.link, k.heard, k.told, k.mine = o.live, o.site, o.link, o.heard, o.told, o.mine
			k.foretold, k.offered = o.foretold, o.offered
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
		if c.members[m.Peer] == nil {
			c.peerIDs = append(c.peerIDs, m.Peer)
		}
		c.members[m.Peer] = k
		if m.Send {
			c.targets = append(c.targets, m.Peer)
		}
	}
	slices.Sort(c.peerIDs)
	slices.SortFunc(c.targets, func(a, b grid.PeerID) int {
		return cmp.Compare(c.members[a].Name, c.members[b].Name)
	})
}

// neighbours are all members, in a fixed order.
func (c *kernel) neighbours() []grid.PeerID { return c.peerIDs }

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

func (c *kernel) siteName(p grid.PeerID) grid.SiteName {
	if p == c.cfg.Self {
		return c.cfg.Site.Name
	}
	if m := c.members[p]; m != nil {
		return m.Name
	}
	return ""
}

// lives tells that a member is there. A forgotten home that is has a say again.
func (c *kernel) lives(p grid.PeerID) bool {
	return c.members[p] != nil && c.members[p].live == grid.Alive
}

// gone tells of one that is no member, or is known to be dead.
func (c *kernel) gone(p grid.PeerID) bool {
	return c.members[p] == nil || c.members[p].live == grid.Dead
}

// facts is what this broker says of its site.
func (c *kernel) facts() grid.Site {
	s := c.cfg.Site
	s.Draining = c.draining
	return s
}

// brief are the facts in an answer, without the cohorts: these are announced when they change.
func (c *kernel) brief() grid.Site {
	s := c.facts()
	s.Cohorts = nil
	return s
}
