package overlay

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	tptu "github.com/libp2p/go-libp2p/p2p/net/upgrader"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
)

// transportTLS is TLS as libp2p has it, but for the time in its certificate. That of the library is good from an hour before it was made, so that a
// broker whose clock was further ahead when it started, as where a machine takes its hardware clock for another zone's, was let in by nobody. Who
// it is says the key, and nothing else: the certificate is good at all times.
type transportTLS struct {
	id       protocol.ID
	self     peer.ID
	identity *libp2ptls.Identity
	muxers   []string
}

var _ sec.SecureTransport = (*transportTLS)(nil)

func newTLS(id protocol.ID, key crypto.PrivKey, muxers []tptu.StreamMuxer) (*transportTLS, error) {
	self, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, err
	}
	identity, err := libp2ptls.NewIdentity(key, libp2ptls.WithCertTemplate(&x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())[:8]),
		Subject:      pkix.Name{SerialNumber: rand.Text()},
		NotBefore:    time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // none, by RFC 5280
	}))
	if err != nil {
		return nil, fmt.Errorf("making the certificate of this broker: %w", err)
	}
	t := &transportTLS{id: id, self: self, identity: identity}
	for _, m := range muxers {
		t.muxers = append(t.muxers, string(m.ID))
	}
	return t, nil
}

func (t *transportTLS) ID() protocol.ID { return t.id }

// SecureInbound is the handshake of who was dialled; an empty p takes anybody.
func (t *transportTLS) SecureInbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	config, key := t.identity.ConfigForPeer(p)
	config.NextProtos = slices.Concat(t.muxers, config.NextProtos)
	return t.handshake(ctx, tls.Server(insecure, config), key)
}

// SecureOutbound is the handshake of who dials. That the other side refuses the certificate shows at the first read.
func (t *transportTLS) SecureOutbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	config, key := t.identity.ConfigForPeer(p)
	config.NextProtos = slices.Concat(t.muxers, config.NextProtos)
	return t.handshake(ctx, tls.Client(insecure, config), key)
}

func (t *transportTLS) handshake(ctx context.Context, c *tls.Conn, key <-chan crypto.PubKey) (_ sec.SecureConn, err error) {
	defer func() {
		if err != nil {
			c.NetConn().Close()
		}
	}()
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	s := &tlsConn{Conn: c, self: t.self}
	select {
	case s.key = <-key:
	default:
		return nil, errors.New("the handshake has shown no key")
	}
	if s.peer, err = peer.IDFromPublicKey(s.key); err != nil {
		return nil, err
	}
	return s, nil
}

// tlsConn is a connection after its handshake.
type tlsConn struct {
	*tls.Conn
	self, peer peer.ID
	key        crypto.PubKey
}

func (c *tlsConn) LocalPeer() peer.ID             { return c.self }
func (c *tlsConn) RemotePeer() peer.ID            { return c.peer }
func (c *tlsConn) RemotePublicKey() crypto.PubKey { return c.key }

// ConnState tells which muxer the two have agreed on in the handshake, if they have.
func (c *tlsConn) ConnState() network.ConnectionState {
	muxer := c.ConnectionState().NegotiatedProtocol
	if muxer == "libp2p" { // of one that agrees on it later
		muxer = ""
	}
	return network.ConnectionState{StreamMultiplexer: protocol.ID(muxer), UsedEarlyMuxerNegotiation: muxer != ""}
}
