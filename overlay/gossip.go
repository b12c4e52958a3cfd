package overlay

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/memberlist"
	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"
)

// gossip is the broker's memberlist: SWIM among the members, over their connections.
type gossip struct {
	s      *session
	list   *memberlist.Memberlist
	links  *links
	closed atomic.Bool
}

func startGossip(s *session) (*gossip, error) {
	g := &gossip{s: s, links: newLinks(s)}
	c := s.settings.gossip()
	c.Name = s.self.String()
	c.Transport = g.links
	c.Alive, c.Events = g, g
	c.LogOutput = gossipLog{s.log.Named("gossip")}
	list, err := memberlist.Create(c)
	if err != nil {
		g.links.Shutdown()
		return nil, fmt.Errorf("starting the failure detector: %w", err)
	}
	g.list = list
	return g, nil
}

// join exchanges the whole state with n, and so makes both sides refute what the
// other wrongly holds of them. Until a push/pull has brought the refutation back,
// n is not alive: the keeper calls again.
func (g *gossip) join(n *neighbour) {
	if _, err := g.list.Join([]string{n.id.String() + "/" + everywhere}); err != nil {
		g.s.log.Debug("exchanging gossip with a member failed", zap.String("peer", string(n.peer)), zap.Error(err))
		return
	}
	g.s.met(n)
	// A member that was removed and added again may be alive here already, without an event.
	if g.alive(n.id) {
		n.setHeard(true)
		if !g.alive(n.id) { // it died between the two
			n.setHeard(false)
		}
	}
}

func (g *gossip) alive(p peer.ID) bool {
	name := p.String()
	return slices.ContainsFunc(g.list.Members(), func(node *memberlist.Node) bool { return node.Name == name })
}

// close ends the detector. memberlist does not join its goroutines: after this one
// of them may still sleep to the end of a probe, a few probe intervals at most, and
// then ends without touching anything of ours.
func (g *gossip) close() {
	g.closed.Store(true)
	if err := g.list.Shutdown(); err != nil {
		g.s.log.Debug("stopping the failure detector", zap.Error(err))
	}
}

// NotifyAlive refuses word about strangers: gossip is relayed, and members have
// members that are none here.
func (g *gossip) NotifyAlive(node *memberlist.Node) error {
	if node.Name == g.s.self.String() {
		return nil
	}
	id, err := peer.Decode(node.Name)
	if err != nil {
		return fmt.Errorf("%.80q is no peer ID", node.Name)
	}
	if !g.s.gate.has(id) {
		return fmt.Errorf("%s is no member here", id)
	}
	return nil
}

// NotifyJoin and NotifyLeave are called with memberlist's lock held.
func (g *gossip) NotifyJoin(node *memberlist.Node)  { g.hear(node.Name, true) }
func (g *gossip) NotifyLeave(node *memberlist.Node) { g.hear(node.Name, false) }

// NotifyUpdate concerns metadata, of which there is none.
func (g *gossip) NotifyUpdate(*memberlist.Node) {}

func (g *gossip) hear(name string, alive bool) {
	if g.closed.Load() {
		return
	}
	id, err := peer.Decode(name)
	if err != nil {
		return
	}
	if n := g.s.neighbour(id); n != nil {
		n.setHeard(alive)
	}
}
