package overlay

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Bounds on callers: connections that came in and have not yet proven who they are.
// Both are below what the resource manager lets in before the handshake, so that it
// turns nobody away.
const (
	maxCallers   = 192
	maxOfAddress = 64
)

// door lets callers in and sees to it that those who say nothing do not keep others
// out. None stays longer than limit. Where there is no room the newest is let in, and
// the one that waited longest goes: of its own address if that has its fill, else of
// the address with the most callers, and of one where no member is known to be as
// long as there is any.
type door struct {
	limit time.Duration // for the whole handshake
	known func(netip.Prefix) bool

	mu      sync.Mutex
	callers *list.List // of *caller, the newest in front
	from    map[netip.Prefix]int
}

func newDoor(limit time.Duration, known func(netip.Prefix) bool) *door {
	return &door{limit: limit, known: known, callers: list.New(), from: map[netip.Prefix]int{}}
}

// caller is a connection that came in; it waits at the door until it is a member's, or
// closed.
type caller struct {
	manet.Conn
	door  *door
	at    netip.Prefix
	known bool
	place *list.Element // nil once it waits no more; under door.mu
	late  *time.Timer
}

// enter takes a new connection in, and closes another where that needs room.
func (d *door) enter(conn manet.Conn) *caller {
	c := &caller{Conn: conn, door: d, at: neighbourhood(conn.RemoteMultiaddr())}
	c.known = d.known(c.at)
	d.mu.Lock()
	var out *caller
	switch {
	case d.from[c.at] >= maxOfAddress:
		out = d.longest(func(o *caller) bool { return o.at == c.at })
	case d.callers.Len() >= maxCallers:
		out = d.leastMissed()
	}
	c.place = d.callers.PushFront(c)
	d.from[c.at]++
	c.late = time.AfterFunc(d.limit, func() { c.Close() })
	d.mu.Unlock()
	if out != nil {
		out.Close()
	}
	return c
}

// leastMissed is who goes where all places are taken; d.mu is held.
func (d *door) leastMissed() *caller {
	stranger := d.longest(func(c *caller) bool { return !c.known }) != nil
	most := 0
	d.longest(func(c *caller) bool {
		if c.known != stranger {
			most = max(most, d.from[c.at])
		}
		return false
	})
	return d.longest(func(c *caller) bool { return c.known != stranger && d.from[c.at] == most })
}

// longest is the one of some that waited longest; d.mu is held.
func (d *door) longest(of func(*caller) bool) *caller {
	for e := d.callers.Back(); e != nil; e = e.Prev() {
		if c := e.Value.(*caller); of(c) {
			return c
		}
	}
	return nil
}

// leave frees the place of c, if it has one.
func (c *caller) leave() {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if c.place == nil {
		return
	}
	c.late.Stop()
	c.door.callers.Remove(c.place)
	c.place = nil
	if c.door.from[c.at]--; c.door.from[c.at] == 0 {
		delete(c.door.from, c.at)
	}
}

// Close also frees the place at the door.
func (c *caller) Close() error {
	c.leave()
	return c.Conn.Close()
}

// neighbourhood is what a connection counts for: its address of IPv4, or the network of
// one customer of IPv6. It is not valid for an address with a name.
func neighbourhood(a ma.Multiaddr) netip.Prefix {
	ip, err := manet.ToIP(a)
	if err != nil {
		return netip.Prefix{}
	}
	address, _ := netip.AddrFromSlice(ip)
	bits := 64
	if address = address.Unmap(); address.Is4() {
		bits = 32
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

// guarded is the transport over TCP with a door before its listeners, which lets lanes aside.
type guarded struct {
	*tcp.TcpTransport
	upgrader transport.Upgrader
	door     *door
	lanes    *lanes
}

// Listen listens as the transport would, without a port that is shared with dialling.
func (g *guarded) Listen(address ma.Multiaddr) (transport.Listener, error) {
	l, err := manet.Listen(address)
	if err != nil {
		return nil, err
	}
	return aside{g.upgrader.UpgradeGatedMaListener(g, &doorway{g.upgrader.GateMaListener(l), g.door}), g.lanes}, nil
}

// doorway is a listener behind which the door is. What the resource manager refuses,
// such as too many of one address in a second, does not come to it.
type doorway struct {
	transport.GatedMaListener
	door *door
}

func (w *doorway) Accept() (manet.Conn, network.ConnManagementScope, error) {
	conn, scope, err := w.GatedMaListener.Accept()
	if err != nil {
		return nil, nil, err
	}
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0) // what is closed leaves no socket behind that waits
	}
	return w.door.enter(conn), scope, nil
}
