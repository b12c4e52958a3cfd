package overlay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	circuit "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	ma "github.com/multiformats/go-multiaddr"
	"go.uber.org/zap"

	"gbroker/grid"
)

// Relay is what a broker does for members that can both only dial out: they meet through it (circuit v2 of libp2p). Their TLS is
// between the two ends: who relays reads and changes nothing.
type Relay struct {
	Rate   int64 // bytes per second of all that is relayed, both ways together
	AtMost int   // members that may have a place here, without which none meets another
}

const (
	relayBuffer  = 16 << 10
	placeLimit   = 10 * time.Second
	placeFor     = time.Hour
	placeRenewed = 10 * time.Minute // before it would end
)

// circuitBy is who relays what an address leads over; "" where it is direct.
func circuitBy(a ma.Multiaddr) peer.ID {
	if _, err := a.ValueForProtocol(ma.P_CIRCUIT); err != nil {
		return ""
	}
	text, err := a.ValueForProtocol(ma.P_P2P)
	if err != nil {
		return "nobody"
	}
	p, err := peer.Decode(text)
	if err != nil {
		return "nobody"
	}
	return p
}

// viaOf is the member through which another is met; "" is none.
func (r *roster) viaOf(p peer.ID) peer.ID { return r.byName[r.byPeer[p].Via] }

// leads tells that a way to p, or from it, may be used: each direct one, and that through its relay.
func (g *gate) leads(p peer.ID, a ma.Multiaddr) bool {
	by := circuitBy(a)
	return by == "" || by == g.members.Load().viaOf(p)
}

// relays tells that a way may come in of which it is not known yet who uses it.
func (g *gate) relays(a ma.Multiaddr) bool {
	by, r := circuitBy(a), g.members.Load()
	if by == "" {
		return true
	}
	for p := range r.byPeer {
		if r.viaOf(p) == by {
			return true
		}
	}
	return false
}

// relaying is the service while it runs.
type relaying struct {
	is      Relay
	service *circuit.Relay
	host    *relayHost
}

// setRelay begins, changes or ends what is done for others; nil ends it, and what is under way.
func (s *session) setRelay(r *Relay) error {
	s.relayMu.Lock()
	defer s.relayMu.Unlock()
	if old := s.relaying; old != nil {
		if r != nil && *r == old.is {
			return nil
		}
		s.relaying = nil
		old.host.end()
		if err := old.service.Close(); err != nil {
			s.log.Debug("ending the relay", zap.Error(err))
		}
	}
	if r == nil {
		return nil
	}
	h := newRelayHost(s, *r)
	service, err := circuit.New(h, circuit.WithACL(h.places), circuit.WithResources(circuit.Resources{
		ReservationTTL: placeFor, MaxReservations: r.AtMost, MaxCircuits: circuitsOfPair * r.AtMost, BufferSize: relayBuffer,
		MaxReservationsPerPeer: 1, MaxReservationsPerIP: r.AtMost, MaxReservationsPerASN: r.AtMost,
	}))
	if err != nil {
		h.end()
		return fmt.Errorf("beginning to relay: %w", err)
	}
	s.relaying = &relaying{*r, service, h}
	return nil
}

// holdPlaces keeps a place at each member through which others are met, so that they can reach this broker there.
func (s *session) holdPlaces(ctx context.Context) {
	held := map[peer.ID]place{}
	tick := time.NewTicker(s.settings.retryMost)
	defer tick.Stop()
	for {
		for p, n := range s.vias() {
			connected, _, since := n.connection()
			h := held[p]
			lost := time.Since(h.asked) > 4*s.settings.retryMost && s.misses(p) // it may have begun to relay anew
			if !connected || h.since.Equal(since) && time.Until(h.until) > placeRenewed && !lost {
				continue
			}
			asking, cancel := context.WithTimeout(network.WithNoDial(ctx, "the keeper dials"), placeLimit)
			r, err := client.Reserve(asking, s.host, peer.AddrInfo{ID: p})
			cancel()
			if err != nil {
				delete(held, p)
				if _, due := s.complaints.due(string(n.peer)+" place", time.Now()); due && ctx.Err() == nil {
					s.log.Warn("no place at a member through which others are to be met: does its neighbours.yaml say relay?", zap.String("member", n.name()), zap.Error(err))
				}
				continue
			}
			held[p] = place{since, time.Now(), r.Expiration}
			for _, o := range s.metThrough(p) {
				poke(o.wake)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.places:
		}
	}
}

// place is one that this broker holds at a member.
type place struct {
	since time.Time // of the connection over which it was asked for
	asked time.Time
	until time.Time
}

// vias are the members through which others are met.
func (s *session) vias() map[peer.ID]*neighbour {
	r := s.gate.members.Load()
	found := map[peer.ID]*neighbour{}
	for p := range r.byPeer {
		if via := r.viaOf(p); via != "" {
			if n := s.neighbour(via); n != nil {
				found[via] = n
			}
		}
	}
	return found
}

// metThrough are the members that are met through one.
func (s *session) metThrough(via peer.ID) (list []*neighbour) {
	r := s.gate.members.Load()
	for p := range r.byPeer {
		if r.viaOf(p) == via {
			if n := s.neighbour(p); n != nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// misses tells that one who is met through a member is not connected.
func (s *session) misses(via peer.ID) bool {
	return slices.ContainsFunc(s.metThrough(via), func(n *neighbour) bool {
		connected, _, _ := n.connection()
		return !connected
	})
}

// leave closes connections over ways that the list of members does not name any more.
func (s *session) leave() {
	for _, c := range s.host.Network().Conns() {
		if !s.gate.leads(c.RemotePeer(), c.RemoteMultiaddr()) {
			c.Close()
		}
	}
}

// circuitTo is the address of n over its relay; nil if it has none that is connected.
func (s *session) circuitTo(n *neighbour) ma.Multiaddr {
	via := s.gate.members.Load().viaOf(n.id)
	if via == "" {
		return nil
	}
	if hub := s.neighbour(via); hub == nil {
		return nil
	} else if connected, _, _ := hub.connection(); !connected {
		return nil
	}
	return ma.StringCast("/p2p/" + via.String() + "/p2p-circuit")
}

// CheckVias holds the relays that members name against the list.
func CheckVias(members []grid.Member) error {
	byName := map[grid.SiteName]grid.Member{}
	for _, m := range members {
		byName[m.Name] = m
	}
	for _, m := range members {
		by, ok := byName[m.Via]
		switch {
		case m.Via == "":
		case !ok:
			return fmt.Errorf("via of %s names %s, which is no member: write the name of one", m.Name, m.Via)
		case m.Via == m.Name:
			return fmt.Errorf("via of %s names itself: write the name of a member that both can dial", m.Name)
		case by.Via != "":
			return fmt.Errorf("via of %s names %s, which is met through %s itself: write the name of one that is dialled", m.Name, m.Via, by.Via)
		}
	}
	return nil
}

// SetRelay says what is done for members that meet through here; nil is nothing.
func (o *Overlay) SetRelay(r *Relay) error {
	if r != nil && (r.Rate < 0 || r.AtMost < 1 || r.AtMost > maxMembers) {
		return fmt.Errorf("%w: a relay for %d members at %d bytes per second: from 1 to %d members", grid.ErrInvalid, r.AtMost, r.Rate, maxMembers)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.relay = r
	if s := o.current.Load(); s != nil {
		return s.setRelay(r)
	}
	return nil
}
