package overlay

import (
	"testing"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// plainGuest is a host of the library that has the grid's key, and no rules of its own.
func plainGuest(t *testing.T, k GridKey) host.Host {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	g.members.Store(&roster{})
	g.gridKey.Store(&k)
	h, err := libp2p.New(libp2p.Identity(key.private), libp2p.NoListenAddrs, libp2p.DisableMetrics(), libp2p.Security(string(gridSecurity), newSecurity(g)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Does a guest over whose connection nothing goes lose it, and one that has a stream keep it for as long as that stands?
func TestIdleGuestsAreSweptOut(t *testing.T) {
	t.Parallel()
	key := NewGridKey()
	b := newBroker(t, "host")
	c := b.config()
	c.GridKey = key
	b.run(c)
	id, err := peer.Decode(string(b.peer()))
	if err != nil {
		t.Fatal(err)
	}
	at := peer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{ma.StringCast(b.where[0])}}
	busy, idle := plainGuest(t, key), plainGuest(t, key)
	connected := func(h host.Host) bool { return len(h.Network().ConnsToPeer(id)) > 0 }
	if err := busy.Connect(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	stream, err := busy.NewStream(t.Context(), id, recordsProtocol)
	if err == nil {
		_, err = stream.Write([]byte{16}) // the length of a message that does not come
	}
	if err != nil {
		t.Fatal(err)
	}
	held := func(h host.Host) (streams int) {
		for _, c := range b.over.current.Load().host.Network().ConnsToPeer(h.ID()) {
			streams += len(c.GetStreams())
		}
		return streams
	}
	eventually(t, "the stream is there", func() bool { return held(busy) > 0 })
	if err := idle.Connect(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	eventually(t, "who is idle is cut off", func() bool { return !connected(idle) })
	if !connected(busy) {
		t.Error("who has a stream was cut off before")
	}
	if err := stream.Reset(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "who was busy is cut off when its stream has ended", func() bool { return !connected(busy) })
	eventually(t, "their places are free", func() bool {
		g := b.over.gate
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, s := range g.proven {
			if s.at.IsValid() {
				return false
			}
		}
		return len(g.proven) == 2
	})
}
