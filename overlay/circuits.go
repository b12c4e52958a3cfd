package overlay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/util"
	ma "github.com/multiformats/go-multiaddr"
	"golang.org/x/time/rate"
)

const (
	circuitsOfPair = 4       // of two members at once: each dials the other, and what has broken may not show for a while
	maxHop         = 4 << 10 // bytes of what is asked of a relay, as libp2p has it
)

// places are those that members have at this broker, and the circuits between them. Who has none meets nobody, and none may have so
// many circuits to another that a third finds no room.
type places struct {
	gate   *gate
	net    network.Network
	atMost int

	mu       sync.Mutex
	until    map[peer.ID]time.Time
	circuits map[two]int
}

// two are members that meet, in either order.
type two [2]peer.ID

func twoOf(a, b peer.ID) two { return two{min(a, b), max(a, b)} }

func newPlaces(g *gate, n network.Network, atMost int) *places {
	return &places{gate: g, net: n, atMost: atMost, until: map[peer.ID]time.Time{}, circuits: map[two]int{}}
}

// AllowReserve gives a place to a member, where there is one.
func (l *places) AllowReserve(p peer.ID, _ ma.Multiaddr) bool {
	if !l.gate.has(p) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.until, func(p peer.ID, _ time.Time) bool { return !l.holds(p) })
	if _, again := l.until[p]; !again && len(l.until) >= l.atMost {
		return false
	}
	l.until[p] = time.Now().Add(placeFor)
	return true
}

// AllowConnect lets members meet that have a place both.
func (l *places) AllowConnect(from peer.ID, _ ma.Multiaddr, to peer.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return from != to && l.holds(from) && l.holds(to)
}

// holds tells that a member has a place: it ends with its connection. Call with mu held.
func (l *places) holds(p peer.ID) bool {
	return l.gate.has(p) && l.until[p].After(time.Now()) && l.net.Connectedness(p) == network.Connected
}

// enter counts a circuit; false if there are enough of these two.
func (l *places) enter(p two) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.circuits[p] >= circuitsOfPair {
		return false
	}
	l.circuits[p]++
	return true
}

func (l *places) leave(p two) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.circuits[p]--; l.circuits[p] == 0 {
		delete(l.circuits, p)
	}
}

// relayHost is the host as the service sees it: all its streams share one rate, and end with it.
type relayHost struct {
	host.Host
	ctx    context.Context
	end    context.CancelFunc
	rate   *rate.Limiter
	places *places
}

func newRelayHost(s *session, r Relay) *relayHost {
	ctx, end := context.WithCancel(s.ctx)
	l := rate.NewLimiter(rate.Inf, 0)
	setRate(l, r.Rate)
	return &relayHost{s.host, ctx, end, l, newPlaces(s.gate, s.host.Network(), r.AtMost)}
}

// SetStreamHandler has what is asked for looked at before the service sees it: no two members may have more than a few circuits.
func (h *relayHost) SetStreamHandler(id protocol.ID, f network.StreamHandler) {
	h.Host.SetStreamHandler(id, func(s network.Stream) {
		said, to, err := wanted(s)
		if err != nil {
			s.Reset()
			return
		}
		p := twoOf(s.Conn().RemotePeer(), to)
		if to != "" && !h.places.enter(p) {
			s.Reset()
			return
		}
		paced := h.paced(s)
		if stop := paced.stop; to != "" {
			paced.stop = sync.OnceFunc(func() { stop(); h.places.leave(p) })
		}
		paced.said = said
		f(paced)
	})
}

// wanted is to whom a circuit is asked for, "" if something else is asked for, and all that was read to know it.
func wanted(s network.Stream) (said []byte, to peer.ID, err error) {
	if err := s.SetReadDeadline(time.Now().Add(placeLimit)); err != nil {
		return nil, "", err
	}
	var read bytes.Buffer
	var m pb.HopMessage
	r := util.NewDelimitedReader(io.TeeReader(s, &read), maxHop)
	defer r.Close()
	if err := r.ReadMsg(&m); err != nil {
		return nil, "", fmt.Errorf("reading what is asked of the relay: %w", err)
	}
	if m.GetType() == pb.HopMessage_CONNECT {
		to = peer.ID(m.GetPeer().GetId())
	}
	return read.Bytes(), to, nil
}

func (h *relayHost) NewStream(ctx context.Context, p peer.ID, ids ...protocol.ID) (network.Stream, error) {
	s, err := h.Host.NewStream(ctx, p, ids...)
	if err != nil {
		return nil, err
	}
	return h.paced(s), nil
}

// paced is a stream at the rate of all; it is reset when the service ends.
func (h *relayHost) paced(s network.Stream) *pacedStream {
	stop := context.AfterFunc(h.ctx, func() { s.Reset() })
	return &pacedStream{Stream: s, host: h, stop: sync.OnceFunc(func() { stop() })}
}

type pacedStream struct {
	network.Stream
	host *relayHost
	stop func()
	said []byte // was read already, and is read again
}

func (s *pacedStream) Read(b []byte) (int, error) {
	if len(s.said) > 0 {
		n := copy(b, s.said)
		s.said = s.said[n:]
		return n, nil
	}
	return s.Stream.Read(b)
}

func (s *pacedStream) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		piece := b[written:]
		if s.host.rate.Limit() != rate.Inf {
			piece = piece[:min(len(piece), s.host.rate.Burst())]
			if err := s.host.rate.WaitN(s.host.ctx, len(piece)); err != nil {
				return written, err
			}
		}
		n, err := s.Stream.Write(piece)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (s *pacedStream) Close() error {
	s.stop()
	return s.Stream.Close()
}

func (s *pacedStream) Reset() error {
	s.stop()
	return s.Stream.Reset()
}
