package overlay

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"

	"gbroker/grid"
)

type scopeOf struct {
	network.NullScope
	peer peer.ID
}

func (s *scopeOf) Peer() peer.ID { return s.peer }

type unsecured struct {
	net.Conn
	network.ConnSecurity
}

// How much may be on its way to who reads nothing: of a member more than the library gives, on a lane most, and of others no more than it.
func TestWindows(t *testing.T) {
	g := &gate{}
	g.members.Store(&roster{byPeer: map[peer.ID]grid.Member{"member": {}}})
	for _, c := range []struct {
		name string
		peer peer.ID
		lane bool
		want int
	}{{"member", "member", false, memberWindow}, {"lane", "member", true, laneWindow}, {"guest", "guest", false, 256 << 10}, {"guest's lane", "guest", true, 256 << 10}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				var conn net.Conn = unsecured{far, nil}
				if c.lane {
					conn = laneConn{conn.(sec.SecureConn)}
				}
				served, err := newWindows(g, time.Minute).NewConn(conn, true, &scopeOf{peer: c.peer})
				if err != nil {
					t.Fatal(err)
				}
				defer served.Close()
				dialled, err := yamux.DefaultTransport.NewConn(near, false, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer dialled.Close()
				out, err := dialled.OpenStream(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := served.AcceptStream(); err != nil {
					t.Fatal(err)
				}
				out.SetDeadline(time.Now().Add(time.Second))
				n, err := out.Write(make([]byte, maxWindow+1))
				if n != c.want || err == nil {
					t.Errorf("%d bytes are on their way to %s, %v; want %d", n, c.name, err, c.want)
				}
			})
		})
	}
}
