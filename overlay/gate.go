package overlay

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"gbroker/grid"
)

// roster is one version of the member list; it never changes.
type roster struct {
	byPeer map[peer.ID]grid.Member
	byName map[grid.SiteName]peer.ID
	at     map[netip.Prefix]bool // where the file says that members are
}

// checkMembers verifies a member list and indexes it.
func checkMembers(self grid.PeerID, members []grid.Member) (*roster, error) {
	r := &roster{byPeer: map[peer.ID]grid.Member{}, byName: map[grid.SiteName]peer.ID{}, at: map[netip.Prefix]bool{}}
	var errs []error
	if len(members) > maxMembers {
		return nil, fmt.Errorf("there are %d members: at most %d", len(members), maxMembers)
	}
	for _, m := range members {
		id, err := checkMember(self, m)
		if err == nil {
			if other, ok := r.byPeer[id]; ok {
				err = fmt.Errorf("has the peer ID of member %s: remove one of them", other.Name)
			} else if _, ok := r.byName[m.Name]; ok {
				err = errors.New("is there twice: give one of them another name")
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("member %s: %w", m.Name, err))
			continue
		}
		r.byPeer[id], r.byName[m.Name] = m, id
		for _, a := range m.Addresses {
			if address, err := ma.NewMultiaddr(a); err == nil && neighbourhood(address).IsValid() {
				r.at[neighbourhood(address)] = true
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

func checkMember(self grid.PeerID, m grid.Member) (peer.ID, error) {
	if err := grid.CheckName(string(m.Name)); err != nil {
		return "", err
	}
	if m.Peer == self {
		return "", errors.New("has the peer ID of this broker itself: remove it")
	}
	if m.RateLimit < 0 || m.DefaultBandwidth < 0 {
		return "", errors.New("has a negative rate: write bytes per second, or leave it out")
	}
	if len(m.Addresses) > maxAddresses {
		return "", fmt.Errorf("has %d addresses: at most %d", len(m.Addresses), maxAddresses)
	}
	for _, a := range m.Addresses {
		if err := checkAddress(a); err != nil {
			return "", err
		}
	}
	return decodePeer(m.Peer)
}

// gate lets members in, guests for the DHT alone, and nobody else. libp2p asks it
// before every dial and after every handshake.
type gate struct {
	members atomic.Pointer[roster]
	gridKey atomic.Pointer[GridKey]

	invitations func() []GridKey // secrets of those that stand; may be nil
	ofAddress   int              // guests of one address at once

	mu     sync.Mutex
	seen   map[peer.ID]netip.Prefix                  // where members were last connected from or to
	apart  map[peer.ID]bool                          // members that were asked for the grid key; true: they have another than this broker, or none
	asked  chan struct{}                             // closed, and replaced, when one more is in apart; nil: nobody waits
	proven map[peer.ID]shown                         // of those that are not members
	told   func(p peer.ID, c network.ConnMultiaddrs) // of who has come in and is refused
}

// tell says who is to be told of those that are refused.
func (g *gate) tell(f func(p peer.ID, c network.ConnMultiaddrs)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = f
}

func (g *gate) has(p peer.ID) bool {
	_, ok := g.members.Load().byPeer[p]
	return ok
}

// setMembers replaces the members.
func (g *gate) setMembers(r *roster) {
	g.members.Store(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.seen, func(p peer.ID, _ netip.Prefix) bool { return !g.has(p) })
	maps.DeleteFunc(g.apart, func(p peer.ID, _ bool) bool { return !g.has(p) })
}

// knows tells that a member is known to be at an address: by the member file, or as it was
// connected there.
func (g *gate) knows(at netip.Prefix) bool {
	if g.members.Load().at[at] {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, seen := range g.seen {
		if seen == at {
			return true
		}
	}
	return false
}

func (g *gate) InterceptPeerDial(p peer.ID) bool { return g.mayDial(p) }
func (g *gate) InterceptAddrDial(p peer.ID, a ma.Multiaddr) bool {
	return g.mayDial(p) && g.leads(p, a)
}

// InterceptAccept lets in who is not known yet.
func (g *gate) InterceptAccept(c network.ConnMultiaddrs) bool { return g.relays(c.RemoteMultiaddr()) }

// InterceptSecured decides when the handshake has shown who it is.
func (g *gate) InterceptSecured(d network.Direction, p peer.ID, c network.ConnMultiaddrs) bool {
	switch {
	case !g.leads(p, c.RemoteMultiaddr()):
		return false
	case g.has(p):
		g.mu.Lock()
		if g.seen == nil {
			g.seen = map[peer.ID]netip.Prefix{}
		}
		g.seen[p] = neighbourhood(c.RemoteMultiaddr())
		g.mu.Unlock()
	case g.lets(p):
		if !g.seat(p, neighbourhood(c.RemoteMultiaddr()), d == network.DirInbound) {
			return false
		}
	default:
		g.mu.Lock()
		told := g.told
		g.mu.Unlock()
		if d == network.DirInbound && told != nil {
			told(p, c)
		}
		return false
	}
	if waiting, ok := c.(*caller); ok {
		waiting.leave()
	}
	return true
}

// InterceptUpgraded asks again: the list may have changed during the handshake.
func (g *gate) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	return g.lets(c.RemotePeer()), 0
}
