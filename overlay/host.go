package overlay

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	xrate "github.com/libp2p/go-libp2p/x/rate"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// loopbackUnlimited lets any number of connections a second in from this machine.
var loopbackUnlimited = []xrate.PrefixLimit{
	{Prefix: netip.MustParsePrefix("127.0.0.0/8")},
	{Prefix: netip.MustParsePrefix("::1/128")},
}

// newHost makes the one libp2p host: TCP, TLS and yamux, and none of libp2p's
// helpers against NAT, which are dead weight behind a site's fixed firewall.
func newHost(key Key, listen []string, g *gate, d *door, l *lanes, s settings) (host.Host, error) {
	limits, err := newLimits(g)
	if err != nil {
		return nil, err
	}
	mux := newWindows(g, s.keepAlive)
	options := []libp2p.Option{
		libp2p.Identity(key.private),
		// Dialling from the listening port would let two brokers share a port by mistake.
		libp2p.Transport(func(u transport.Upgrader, m network.ResourceManager) (transport.Transport, error) {
			t, err := tcp.NewTCPTransport(u, m, nil, tcp.DisableReuseport(), tcp.WithConnectionTimeout(s.dialTimeout))
			return &guarded{t, u, d, l}, errors.Join(err, l.equip(key, mux, m, g, s.dialTimeout))
		}),
		libp2p.Security(string(gridSecurity), newSecurity(g)),
		libp2p.Security(libp2ptls.ID, newTLS), // for brokers that know no grid keys
		libp2p.Security(string(laneSecurity), newLaneTLS),
		libp2p.Muxer(yamux.ID, mux),
		libp2p.ConnectionGater(g),
		libp2p.BandwidthReporter(l.traffic),
		libp2p.ResourceManager(limits),
		libp2p.ConnectionManager(connmgr.NullConnMgr{}),
		libp2p.WithDialTimeout(s.dialTimeout),
		libp2p.UserAgent("gbroker"),
		libp2p.EnableRelay(), // its client alone; the gate lets no circuit pass but those that the members file names
		libp2p.DisableMetrics(),
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.Ping(false),
		libp2p.NoListenAddrs, // not yet: where that fails, all of the host is closed again
	}
	h, err := libp2p.New(options...)
	if err != nil {
		limits.Close()
		return nil, fmt.Errorf("making the broker's host: %w", err)
	}
	for _, a := range listen {
		if err := listenAt(h, a); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// listenAt opens one port. The library's error tells its whole construction; what
// matters is this.
func listenAt(h host.Host, address string) error {
	m, err := ma.NewMultiaddr(address)
	if err == nil {
		err = h.Network().Listen(m)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE) || strings.Contains(err.Error(), "address already in use"):
		return fmt.Errorf("opening the broker's port on %s: the address is in use by another program: choose another (listen in gbroker.yaml, or --listen)", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL) || strings.Contains(err.Error(), "cannot assign requested address"):
		return fmt.Errorf("opening the broker's port on %s: this machine does not have that address: write one that it has, or 0.0.0.0 for all of them (listen in gbroker.yaml, or --listen)", address)
	}
	return fmt.Errorf("opening the broker's port on %s: %w", address, err)
}

// newLimits bounds what all peers, one peer and those still unknown may hold.
func newLimits(g *gate) (network.ResourceManager, error) {
	all := rcmgr.ResourceLimits{
		Streams: 32768, StreamsInbound: 16384, StreamsOutbound: 16384,
		Conns: 4096, ConnsInbound: 2048, ConnsOutbound: 2048, FD: 4096,
		Memory: 512 << 20,
	}
	unknown := rcmgr.ResourceLimits{ // before the handshake
		Streams: 2048, StreamsInbound: 1024, StreamsOutbound: 1024,
		Conns: 512, ConnsInbound: 256, ConnsOutbound: 256, FD: 512,
		Memory: 64 << 20,
	}
	one := rcmgr.ResourceLimits{ // a member that reads nothing fills a window of each stream, of which 256 KiB count as memory
		Streams: 1024, StreamsInbound: 128, StreamsOutbound: 512,
		Conns: 2 * (4 + maxLanes), ConnsInbound: 4 + maxLanes, ConnsOutbound: 4 + maxLanes, FD: 2 * (4 + maxLanes),
		Memory: 128 << 20,
	}
	lookups := rcmgr.ResourceLimits{Streams: 2 * maxLookups, StreamsInbound: maxLookups, StreamsOutbound: maxLookups}
	config := rcmgr.PartialLimitConfig{
		System: all, Transient: unknown, PeerDefault: one,
		ProtocolPeer: map[protocol.ID]rcmgr.ResourceLimits{recordsProtocol: lookups},
	}
	// Sites may stand behind one address; strangers are bounded by the door.
	// The limit of new connections a second holds per address and over all.
	manager, err := rcmgr.NewResourceManager(
		&limiter{rcmgr.NewFixedLimiter(config.Build(rcmgr.InfiniteLimits)), g, guestLimits},
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: 256}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 64, ConnCount: 256}}),
		rcmgr.WithConnRateLimiters(&xrate.Limiter{
			GlobalLimit: xrate.Limit{RPS: 500, Burst: 1000},
			SubnetRateLimiter: xrate.SubnetLimiter{
				IPv4SubnetLimits: []xrate.SubnetLimit{{PrefixLength: 32, Limit: xrate.Limit{RPS: 50, Burst: 200}}},
				IPv6SubnetLimits: []xrate.SubnetLimit{{PrefixLength: 64, Limit: xrate.Limit{RPS: 50, Burst: 200}}},
			},
			NetworkPrefixLimits: loopbackUnlimited,
		}),
		rcmgr.WithMetricsDisabled(),
	)
	if err != nil {
		return nil, fmt.Errorf("setting the limits of the overlay: %w", err)
	}
	return manager, nil
}

// guestLimits are those of one guest: what a few look-ups at a time need.
var guestLimits = &rcmgr.BaseLimit{
	Streams: 2 * maxLookups, StreamsInbound: maxLookups, StreamsOutbound: maxLookups,
	Conns: 4, ConnsInbound: 2, ConnsOutbound: 2, FD: 4, Memory: 4 << 20,
}

// limiter gives members the limits of members, and all others those of guests.
type limiter struct {
	rcmgr.Limiter
	gate  *gate
	guest rcmgr.Limit
}

// GetPeerLimits are limits that change when the peer becomes a member, or is one no more.
func (l *limiter) GetPeerLimits(p peer.ID) rcmgr.Limit {
	return &peerLimit{l, l.Limiter.GetPeerLimits(p), p}
}

type peerLimit struct {
	of     *limiter
	member rcmgr.Limit
	peer   peer.ID
}

func (l *peerLimit) now() rcmgr.Limit {
	if l.of.gate.has(l.peer) {
		return l.member
	}
	return l.of.guest
}

func (l *peerLimit) GetMemoryLimit() int64                  { return l.now().GetMemoryLimit() }
func (l *peerLimit) GetStreamLimit(d network.Direction) int { return l.now().GetStreamLimit(d) }
func (l *peerLimit) GetStreamTotalLimit() int               { return l.now().GetStreamTotalLimit() }
func (l *peerLimit) GetConnLimit(d network.Direction) int   { return l.now().GetConnLimit(d) }
func (l *peerLimit) GetConnTotalLimit() int                 { return l.now().GetConnTotalLimit() }
func (l *peerLimit) GetFDLimit() int                        { return l.now().GetFDLimit() }

// dialable are the addresses others can dial the host at: those of the interfaces
// where it listens on all, without loopback if there is anything else.
func dialable(h host.Host) []string {
	found, err := h.Network().InterfaceListenAddresses()
	if err != nil {
		found = h.Network().ListenAddresses()
	}
	found = slices.DeleteFunc(found, func(a ma.Multiaddr) bool { return circuitBy(a) != "" })
	outside := slices.DeleteFunc(slices.Clone(found), func(a ma.Multiaddr) bool {
		return manet.IsIPLoopback(a) || manet.IsIP6LinkLocal(a)
	})
	if len(outside) > 0 {
		found = outside
	}
	return usable(texts(found))
}

func texts(addresses []ma.Multiaddr) []string {
	var s []string
	for _, a := range addresses {
		s = append(s, a.String())
	}
	slices.Sort(s)
	return slices.Compact(s)
}
