package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gbroker/grid"
)

// laneSecurity is what a lane is told from other connections by, when its security is chosen: TLS as libp2p has it. A lane is a
// connection for one bulk stream alone, since one connection goes no faster over a long way than its losses allow, and several go
// several times as fast. It carries, from who dialled it:
//
//	length of the protocol's name (1 byte), the name, then the bulk stream, both ways
//
// Who has dialled it closes it. Nothing of libp2p runs over it, and no word of life depends on it.
const laneSecurity = protocol.ID("/gbroker/lane/1")

// Bounds of lanes.
const (
	maxLanes   = 12              // with one member, each way: they leave room for the connections that count
	laneDial   = 5 * time.Second // for a lane to stand
	laneVain   = 5 * time.Minute // none is tried for so long after one that did not stand
	laneLinger = 10 * time.Second
)

// lanes are those of one host.
type lanes struct {
	traffic metrics.Reporter
	serve   func(transport.CapableConn) // takes one that came in

	mu      sync.Mutex
	closed  bool
	closing sync.WaitGroup // of lanes whose other side reads to the end
	dialler *tcp.TcpTransport
	open    map[transport.CapableConn]laneOf
	vain    map[peer.ID]time.Time
}

// laneOf is whose a lane is, and who dialled it.
type laneOf struct {
	peer peer.ID
	came bool
}

func newLanes(t metrics.Reporter) *lanes {
	return &lanes{traffic: t, open: map[transport.CapableConn]laneOf{}, vain: map[peer.ID]time.Time{}}
}

// equip makes what dials lanes, of the parts of the host.
func (l *lanes) equip(key Key, mux network.Multiplexer, m network.ResourceManager, g connmgr.ConnectionGater, limit time.Duration) error {
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: mux}}
	security, err := newLaneTLS(laneSecurity, key.private, muxers)
	if err != nil {
		return err
	}
	u, err := upgrader.New([]sec.SecureTransport{security}, muxers, nil, m, g)
	if err != nil {
		return err
	}
	d, err := tcp.NewTCPTransport(u, m, nil, tcp.DisableReuseport(), tcp.WithConnectionTimeout(limit))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialler = d
	return nil
}

var errNoLane = errors.New("no connection of its own")

// dial opens a lane for a protocol at the first address that answers.
func (l *lanes) dial(ctx context.Context, p peer.ID, at []ma.Multiaddr, name string) (*lane, error) {
	l.mu.Lock()
	d, wait := l.dialler, time.Until(l.vain[p])
	l.mu.Unlock()
	if wait > 0 || d == nil || len(at) == 0 {
		return nil, errNoLane
	}
	within, cancel := context.WithTimeout(ctx, laneDial)
	defer cancel()
	for _, a := range at {
		c, err := d.Dial(within, a, p)
		if errors.Is(err, network.ErrResourceLimitExceeded) || err != nil && ctx.Err() != nil {
			return nil, errors.Join(errNoLane, err) // that says nothing of the address
		}
		if err != nil {
			continue
		}
		if !l.keep(c, laneOf{p, false}) {
			return nil, errors.Join(errNoLane, c.Close())
		}
		stream, err := c.OpenStream(within)
		if err == nil {
			_, err = stream.Write(append([]byte{byte(len(name))}, name...))
		}
		if err != nil {
			return nil, errors.Join(errNoLane, err, l.drop(c))
		}
		return &lane{stream, c, l, protocol.ID(name), false}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vain[p] = time.Now().Add(laneVain)
	return nil, errNoLane
}

// keep notes a lane, if there is room for it.
func (l *lanes) keep(c transport.CapableConn, of laneOf) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, o := range l.open {
		if o == of {
			n++
		}
	}
	if l.closed || n >= maxLanes {
		return false
	}
	l.open[c] = of
	return true
}

// drop closes a lane.
func (l *lanes) drop(c transport.CapableConn) error {
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
	return c.Close()
}

// hangUp closes the lanes of some peers.
func (l *lanes) hangUp(which func(peer.ID) bool) {
	l.mu.Lock()
	var gone []transport.CapableConn
	for c, of := range l.open {
		if which(of.peer) {
			gone = append(gone, c)
		}
	}
	l.mu.Unlock()
	for _, c := range gone {
		_ = l.drop(c) // it is of no more use either way
	}
}

// close closes all of them, and those to come, and waits for those that others close.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.hangUp(func(peer.ID) bool { return true })
	l.closing.Wait()
}

// end closes a lane that was dialled here when the other side has read to the end, or after a while.
func (l *lanes) end(c *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closing.Go(func() {
		_, _ = c.MuxedStream.Read(make([]byte, 1)) // anything but the end is past every rate, and nobody wants it
		_ = l.drop(c.conn)
	})
}

// lane is the bulk stream of one, at either end.
type lane struct {
	network.MuxedStream
	conn transport.CapableConn
	of   *lanes
	name protocol.ID
	came bool
}

func (c *lane) LocalAddr() net.Addr  { return peerAddress(c.conn.LocalPeer().String()) }
func (c *lane) RemoteAddr() net.Addr { return peerAddress(c.conn.RemotePeer().String()) }

func (c *lane) Read(b []byte) (int, error) {
	n, err := c.MuxedStream.Read(b)
	c.of.traffic.LogRecvMessageStream(int64(n), c.name, c.conn.RemotePeer())
	return n, err
}

func (c *lane) Write(b []byte) (int, error) {
	n, err := c.MuxedStream.Write(b)
	c.of.traffic.LogSentMessageStream(int64(n), c.name, c.conn.RemotePeer())
	return n, err
}

// Close lets the other side read to the end, for a while. Who has dialled the lane closes its connection then.
func (c *lane) Close() error {
	err := errors.Join(c.MuxedStream.CloseWrite(), c.MuxedStream.SetReadDeadline(time.Now().Add(laneLinger)))
	if !c.came {
		c.of.end(c)
	}
	return err
}

// Reset ends the stream and its connection at once.
func (c *lane) Reset() error { return errors.Join(c.MuxedStream.Reset(), c.of.drop(c.conn)) }

// openApart opens a bulk stream over a lane where the member can be dialled, and else over the connection that stands.
func (s *session) openApart(ctx context.Context, to grid.PeerID, name string) (net.Conn, error) {
	n, err := s.member(to)
	if err != nil {
		return nil, err
	}
	if err := bulkProtocol(name); err != nil {
		return nil, err
	}
	if connected, _, _ := n.connection(); connected {
		if c, err := s.lanes.dial(ctx, n.id, s.lanesTo(n), name); err == nil {
			if s.neighbour(n.id) != n {
				return nil, errors.Join(grid.ErrNotFound, s.lanes.drop(c.conn))
			}
			return newBulkConn(s.ctx, c, n), nil
		}
	}
	return s.openBulk(ctx, to, name)
}

// lanesTo lists where a member that is connected may be dialled once more: where it was dialled, or, if it has dialled, at the host
// that it came from.
func (s *session) lanesTo(n *neighbour) (list []ma.Multiaddr) {
	for _, c := range s.host.Network().ConnsToPeer(n.id) {
		if c.Stat().Direction == network.DirOutbound && circuitBy(c.RemoteMultiaddr()) == "" {
			return []ma.Multiaddr{c.RemoteMultiaddr()}
		}
	}
	for _, c := range s.host.Network().ConnsToPeer(n.id) {
		from, err := manet.ToIP(c.RemoteMultiaddr())
		if err != nil || circuitBy(c.RemoteMultiaddr()) != "" {
			continue
		}
		for _, a := range s.memory.addresses(n.peer) {
			m, err := ma.NewMultiaddr(a)
			if err != nil {
				continue
			}
			if ip, err := manet.ToIP(m); err == nil && ip.Equal(from) {
				list = append(list, m)
			}
		}
	}
	return list
}

// serveLane serves a lane that came in, until it is closed.
func (s *session) serveLane(c transport.CapableConn) {
	if !s.enter() {
		_ = c.Close()
		return
	}
	defer s.tasks.Done()
	n := s.neighbour(c.RemotePeer())
	if n == nil || !s.lanes.keep(c, laneOf{c.RemotePeer(), true}) {
		_ = c.Close()
		return
	}
	defer s.lanes.drop(c)
	if s.neighbour(c.RemotePeer()) != n {
		return // removed meanwhile: whose lanes were hung up before this was one
	}
	late := time.AfterFunc(s.settings.handshake, func() { _ = c.Close() })
	stream, f, name, err := s.laneOpened(c)
	if !late.Stop() || err != nil {
		return
	}
	s.met(n)
	over := newBulkConn(s.ctx, &lane{stream, c, s.lanes, name, true}, n)
	f(n.peer, over)
	_ = over.Close()
	late = time.AfterFunc(laneLinger, func() { _ = c.Close() })
	defer late.Stop()
	_, _ = c.AcceptStream() // there is no second one: it ends when the lane is closed
}

// laneOpened takes the one stream of a lane, and finds who serves its protocol.
func (s *session) laneOpened(c transport.CapableConn) (stream network.MuxedStream, f func(grid.PeerID, net.Conn), name protocol.ID, err error) {
	if stream, err = c.AcceptStream(); err != nil {
		return nil, nil, "", err
	}
	head := make([]byte, 1, 1+100)
	if _, err := io.ReadFull(stream, head); err != nil {
		return nil, nil, "", err
	}
	text := make([]byte, head[0])
	if _, err := io.ReadFull(stream, text); err != nil {
		return nil, nil, "", err
	}
	s.bulkMu.Lock()
	defer s.bulkMu.Unlock()
	if f = s.bulk[string(text)]; f == nil {
		return nil, nil, "", fmt.Errorf("nobody serves %.100q", text)
	}
	return stream, f, protocol.ID(text), nil
}

// aside is a listener that gives lanes to who serves them, and all else to the host.
type aside struct {
	transport.Listener
	lanes *lanes
}

func (a aside) Accept() (transport.CapableConn, error) {
	for {
		c, err := a.Listener.Accept()
		if err != nil || c.ConnState().Security != laneSecurity {
			return c, err
		}
		if a.lanes.serve == nil {
			_ = c.Close()
			continue
		}
		go a.lanes.serve(c)
	}
}
