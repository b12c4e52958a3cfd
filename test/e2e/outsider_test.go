package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	ma "github.com/multiformats/go-multiaddr"

	"gbroker/netmon"
	"gbroker/overlay"
	"gbroker/stage"
	"gbroker/wire"
)

// services are all that a broker serves to its members.
var services = []protocol.ID{
	wire.Protocol, stage.Protocol, netmon.Protocol,
	"/gbroker/gossip/1", "/gbroker/sync/1", "/gbroker/kad/1.0.0", "/ipfs/id/1.0.0",
}

// outsider is a bare libp2p host with the identity in a key file.
type outsider struct {
	host.Host
	t *testing.T
}

// newKey makes an identity that nobody knows.
func newKey(t *testing.T, dir, name string) (file string) {
	t.Helper()
	file = filepath.Join(dir, name)
	_, err := overlay.CreateKey(file)
	must(t, err)
	return file
}

func newOutsider(t *testing.T, keyFile string) outsider {
	t.Helper()
	text, err := os.ReadFile(keyFile)
	must(t, err)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	must(t, err)
	key, err := crypto.UnmarshalPrivateKey(raw)
	must(t, err)
	h, err := libp2p.New(libp2p.Identity(key), libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"),
		libp2p.Security(libp2ptls.ID, libp2ptls.New), libp2p.DisableRelay(), libp2p.Ping(false))
	must(t, err)
	t.Cleanup(func() { h.Close() })
	return outsider{h, t}
}

// line is how a neighbours' file knows the outsider.
func (o outsider) line(name string) string {
	return fmt.Sprintf("%s %s %s", name, o.ID(), o.Addrs()[0])
}

// open connects to a site and opens a stream of a protocol, negotiated to the end.
func (o outsider) open(to site, p protocol.ID) (network.Stream, error) {
	r, err := to.Ready()
	must(o.t, err)
	id, err := peer.Decode(r.Peer)
	must(o.t, err)
	address, err := ma.NewMultiaddr(r.Addresses[0])
	must(o.t, err)
	ctx, cancel := context.WithTimeout(o.t.Context(), 5*time.Second)
	defer cancel()
	if err := o.Connect(ctx, peer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{address}}); err != nil {
		return nil, err
	}
	// What identify told is forgotten, so that the protocol is really negotiated now.
	if err := o.Peerstore().SetProtocols(id); err != nil {
		return nil, err
	}
	return o.NewStream(ctx, id, p)
}

// says sends bytes on a new stream of messages and gives it. A site that has not ended the streams before it yet may refuse one more for a moment.
func (o outsider) says(to site, frames ...[]byte) (s network.Stream) {
	o.t.Helper()
	eventually(o.t, "a stream of messages is refused", func() (taken bool) {
		var err error
		s, err = o.open(to, wire.Protocol)
		return err == nil
	})
	for _, f := range frames {
		if _, err := s.Write(f); err != nil {
			break // it may be cut off amid what it says
		}
	}
	return s
}

// frame is a message as it travels.
func frame(t *testing.T, m wire.Message) []byte {
	t.Helper()
	var b strings.Builder
	must(t, wire.WriteFrame(&b, m))
	return []byte(b.String())
}
