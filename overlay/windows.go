package overlay

import (
	"context"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	tptu "github.com/libp2p/go-libp2p/p2p/net/upgrader"
)

// What one stream may have on its way, in bytes: at first, and at most, which is 80 MB/s at 50 ms. The library begins with 256 KiB and
// doubles that each round trip: slower than TCP opens, so that a file of a few megabytes was over before the window was open. A lane
// carries one stream and begins with all. Who is no member has what the library gives.
const (
	memberWindow = 1 << 20
	laneWindow   = maxWindow
	maxWindow    = 4 << 20
)

// windows is yamux, with the windows that a connection is worth.
type windows struct {
	gate                *gate
	guest, member, lane yamux.Transport
}

func newWindows(g *gate, keepAlive time.Duration) *windows {
	w := &windows{gate: g, guest: *yamux.DefaultTransport}
	w.guest.KeepAliveInterval = keepAlive
	w.guest.MaxStreamWindowSize = maxWindow
	w.member, w.lane = w.guest, w.guest
	w.member.InitialStreamWindowSize = memberWindow
	w.lane.InitialStreamWindowSize = laneWindow
	return w
}

// NewConn makes the streams of a connection.
func (w *windows) NewConn(c net.Conn, server bool, scope network.PeerScope) (network.MuxedConn, error) {
	mux := &w.guest
	if scope != nil && w.gate.has(scope.Peer()) {
		mux = &w.member
		if _, ok := c.(laneConn); ok {
			mux = &w.lane
		}
	}
	return mux.NewConn(c, server, scope)
}

// laneConn is the secured connection of a lane.
type laneConn struct{ sec.SecureConn }

// laneTLS is TLS as libp2p has it, which marks its connections as those of lanes.
type laneTLS struct{ *transportTLS }

func newLaneTLS(id protocol.ID, key crypto.PrivKey, muxers []tptu.StreamMuxer) (laneTLS, error) {
	t, err := newTLS(id, key, muxers)
	return laneTLS{t}, err
}

// SecureInbound secures a lane that came in.
func (t laneTLS) SecureInbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	return marked(t.transportTLS.SecureInbound(ctx, insecure, p))
}

// SecureOutbound secures a lane that was dialled.
func (t laneTLS) SecureOutbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	return marked(t.transportTLS.SecureOutbound(ctx, insecure, p))
}

func marked(c sec.SecureConn, err error) (sec.SecureConn, error) {
	if err != nil {
		return nil, err
	}
	return laneConn{c}, nil
}
