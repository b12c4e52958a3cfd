package overlay

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Protocols of memberlist.
const (
	gossipProtocol = protocol.ID("/gbroker/gossip/1")
	syncProtocol   = protocol.ID("/gbroker/sync/1")
)

const (
	// everywhere is the address all brokers give memberlist: names lead, not
	// addresses. It is one that memberlist takes for private.
	everywhere     = "127.0.0.1:1"
	maxPacket      = 4096            // bytes; memberlist keeps its own to 1400
	maxPacketAge   = 2 * time.Second // an older one tells of a past
	packetDeadline = 2 * time.Second
)

var everywhereAddress = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

// links is memberlist's transport: packets over one stream per direction and
// member, lossy when it is slow; push/pull and pings over streams of their own.
type links struct {
	s       *session
	packets chan *memberlist.Packet
	streams chan net.Conn
	done    chan struct{}

	mu     sync.Mutex
	closed bool
	open   map[network.Stream]struct{} // of the sync protocol, to be reset at the end
}

var _ memberlist.NodeAwareTransport = (*links)(nil)

func newLinks(s *session) *links {
	return &links{
		s:       s,
		packets: make(chan *memberlist.Packet, 2*maxPackets),
		streams: make(chan net.Conn),
		done:    make(chan struct{}),
		open:    map[network.Stream]struct{}{},
	}
}

// errUnreachable makes memberlist go on to indirect probes at once; any error of
// another type would end the probe without a suspicion.
func errUnreachable(why error) error {
	return &net.OpError{Op: "write", Net: "udp", Addr: everywhereAddress, Err: why}
}

var (
	errNoMember   = errors.New("no member here")
	errNoWay      = errors.New("not connected")
	errNamesLead  = errors.New("brokers are addressed by name only")
	errLinkClosed = errors.New("the overlay is stopping")
)

// WriteToAddress queues a packet. One for a member that does not keep up is
// dropped, as a network would.
func (l *links) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	now := time.Now()
	id, err := peer.Decode(to.Name)
	if err != nil {
		return now, errUnreachable(errNamesLead)
	}
	n := l.s.neighbour(id)
	if n == nil {
		return now, errUnreachable(errNoMember)
	}
	if connected, _, _ := n.connection(); !connected {
		return now, errUnreachable(errNoWay)
	}
	select {
	case n.packets <- packet{now, b}:
	default:
	}
	return now, nil
}

// DialAddressTimeout opens a stream over the connection that stands.
func (l *links) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	id, err := peer.Decode(to.Name)
	if err != nil {
		return nil, errUnreachable(errNamesLead)
	}
	n := l.s.neighbour(id)
	if n == nil { // removed, while memberlist has not yet given it up: it is at most a guest
		return nil, errUnreachable(errNoMember)
	}
	ctx, cancel := context.WithTimeout(l.s.ctx, timeout)
	defer cancel()
	stream, err := l.s.open(ctx, id, syncProtocol)
	if err != nil {
		return nil, errUnreachable(err)
	}
	c, err := l.track(stream)
	if err != nil {
		return nil, err
	}
	c.refused = func() { l.s.turnedAway(n, stream.Conn()) }
	return c, nil
}

// track keeps a stream to be reset at the end, so that nobody waits on it then.
func (l *links) track(stream network.Stream) (*syncConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		stream.Reset()
		return nil, errUnreachable(errLinkClosed)
	}
	l.open[stream] = struct{}{}
	return &syncConn{streamConn: streamConn{Stream: stream}, done: func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, stream)
	}}, nil
}

// accept takes a stream of the sync protocol.
func (l *links) accept(stream network.Stream) {
	conn, err := l.track(stream)
	if err != nil {
		return
	}
	select {
	case l.streams <- conn:
	case <-l.done:
		conn.Close()
	}
}

// receive reads packets off a stream until it ends.
func (l *links) receive(stream network.Stream) {
	defer stream.Reset()
	n := l.s.neighbour(stream.Conn().RemotePeer())
	r := bufio.NewReaderSize(stream, maxPacket)
	for {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint16(head[:]))
		if size == 0 || size > maxPacket {
			return
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			return
		}
		if n != nil && !stream.Conn().IsClosed() {
			l.s.met(n)
		}
		select {
		case l.packets <- &memberlist.Packet{Buf: b, From: everywhereAddress, Timestamp: time.Now()}:
		case <-l.done:
			return
		default: // memberlist does not keep up
		}
	}
}

// send writes n's packets until ctx ends. The stream is opened when there is
// something to send, and again after an error.
func (l *links) send(ctx context.Context, n *neighbour) {
	var stream network.Stream
	defer func() {
		if stream != nil {
			stream.Reset()
		}
	}()
	var frame []byte
	for {
		var p packet
		select {
		case <-ctx.Done():
			return
		case p = <-n.packets:
		}
		if time.Since(p.at) > maxPacketAge || len(p.b) > maxPacket {
			continue
		}
		if stream == nil || stream.Conn().IsClosed() {
			opening, cancel := context.WithTimeout(ctx, packetDeadline)
			opened, err := l.s.open(opening, n.id, gossipProtocol)
			cancel()
			if err != nil {
				stream = nil
				continue
			}
			stream = opened
		}
		frame = binary.BigEndian.AppendUint16(frame[:0], uint16(len(p.b)))
		frame = append(frame, p.b...)
		err := stream.SetWriteDeadline(time.Now().Add(packetDeadline))
		if err == nil {
			_, err = stream.Write(frame)
		}
		if err != nil {
			stream.Reset()
			stream = nil
		}
	}
}

// Shutdown resets what is open; the streams of packets end with their neighbours.
func (l *links) Shutdown() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.done)
	for stream := range l.open {
		stream.Reset()
	}
	return nil
}

func (l *links) PacketCh() <-chan *memberlist.Packet { return l.packets }
func (l *links) StreamCh() <-chan net.Conn           { return l.streams }

// FinalAdvertiseAddr is the same for all brokers, so that no two ever conflict.
func (l *links) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return everywhereAddress.IP, everywhereAddress.Port, nil
}

// WriteTo and DialTimeout are what memberlist would call without names.
func (l *links) WriteTo([]byte, string) (time.Time, error) {
	return time.Now(), errUnreachable(errNamesLead)
}

func (l *links) DialTimeout(addr string, _ time.Duration) (net.Conn, error) {
	return nil, fmt.Errorf("dialling %s: %w", addr, errNamesLead)
}
