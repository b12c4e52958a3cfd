package overlay

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	tptu "github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"go.uber.org/zap"

	"gbroker/grid"
)

// GridKey is what the brokers of one grid share: 32 random bytes. Who shows that it has the key is a guest: it
// may speak the DHT, and nothing else. The zero key is none.
type GridKey [32]byte

// NewGridKey makes a key.
func NewGridKey() (k GridKey) {
	rand.Read(k[:]) // never fails
	return k
}

// ParseGridKey reads the one line of a key's file.
func ParseGridKey(text string) (k GridKey, err error) {
	text = strings.TrimSpace(text)
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(k) {
		return k, fmt.Errorf("a grid key is %d hexadecimal digits, as `gbroker grid` writes them: %w", 2*len(k), grid.ErrInvalid)
	}
	if copy(k[:], b); k == (GridKey{}) {
		return k, fmt.Errorf("a grid key of zeros is none: make one with `gbroker grid`: %w", grid.ErrInvalid)
	}
	return k, nil
}

// Text is the key as its file has it.
func (k GridKey) Text() string { return hex.EncodeToString(k[:]) }

// hash is what the DHT sees of a job, whose identifier it is not to know.
func (k GridKey) hash(job grid.JobID) string {
	h := hmac.New(sha256.New, k[:])
	io.WriteString(h, "gbroker job "+string(job))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// gridSecurity is the protocol of connections between brokers that know of grid keys.
const gridSecurity = protocol.ID("/gbroker/tls/1")

// Bounds of guests.
const (
	maxGuests    = 256           // connected at once
	maxGuestsOf  = 64            // of them, at one address
	maxStrangers = 4 * maxGuests // proofs of those that are not connected
)

// shown is what a peer that is no member has shown, and where it is connected; not valid where it is not.
type shown struct {
	key  GridKey
	at   netip.Prefix
	gone bool // no connection of it was found when somebody last looked
	// joining tells that its invitation is being answered: its code is used by then.
	joining bool
}

// security is TLS as libp2p has it, after which each side shows what it knows of the grid key:
//
//	proof = HMAC-SHA256(key, "gbroker grid " + role + exported)
//
// role is "dials" or "listens", and exported 32 bytes of keying material of this very TLS session (RFC 5705), so that a
// proof is worth nothing on another. Who has no key sends 32 random bytes. Members need no proof; brokers of before,
// which do not know this protocol, are met by libp2p's own.
type security struct {
	*transportTLS
	gate *gate
}

func newSecurity(g *gate) func(protocol.ID, crypto.PrivKey, []tptu.StreamMuxer) (*security, error) {
	return func(id protocol.ID, key crypto.PrivKey, muxers []tptu.StreamMuxer) (*security, error) {
		t, err := newTLS(id, key, muxers)
		return &security{t, g}, err
	}
}

// SecureInbound secures a connection that came in.
func (s *security) SecureInbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	c, err := s.transportTLS.SecureInbound(ctx, insecure, p)
	if err != nil {
		return nil, err
	}
	return s.prove(ctx, c, "listens", "dials")
}

// SecureOutbound secures a connection that was dialled.
func (s *security) SecureOutbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	c, err := s.transportTLS.SecureOutbound(ctx, insecure, p)
	if err != nil {
		return nil, err
	}
	return s.prove(ctx, c, "dials", "listens")
}

// prove exchanges the proofs. The gate decides what follows of the other's.
func (s *security) prove(ctx context.Context, c sec.SecureConn, mine, theirs string) (_ sec.SecureConn, err error) {
	defer func() {
		if err != nil {
			c.Close()
			err = fmt.Errorf("showing that this is a broker of the grid: %w", err)
		}
	}()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	session, ok := c.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil, errors.New("the TLS session cannot be read")
	}
	state := session.ConnectionState()
	exported, err := state.ExportKeyingMaterial("EXPORTER-gbroker-grid", nil, sha256.Size)
	if err != nil {
		return nil, err
	}
	key := s.gate.key()
	if _, err := c.Write(proof(key, mine, exported)); err != nil {
		return nil, err
	}
	shown := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, shown); err != nil {
		return nil, err
	}
	for _, k := range s.gate.keys() {
		if hmac.Equal(shown, proof(k, theirs, exported)) {
			s.gate.prove(c.RemotePeer(), k)
			break
		}
	}
	return c, nil
}

func proof(key GridKey, role string, exported []byte) []byte {
	if key == (GridKey{}) {
		random := NewGridKey()
		return random[:]
	}
	h := hmac.New(sha256.New, key[:])
	io.WriteString(h, "gbroker grid "+role)
	h.Write(exported)
	return h.Sum(nil)
}

// key is the grid's; the zero key is none.
func (g *gate) key() GridKey {
	if k := g.gridKey.Load(); k != nil {
		return *k
	}
	return GridKey{}
}

// keys are all that may be shown here: the grid's, and the secrets of invitations.
func (g *gate) keys() (list []GridKey) {
	if k := g.key(); k != (GridKey{}) {
		list = append(list, k)
	}
	if g.invitations != nil {
		list = append(list, g.invitations()...)
	}
	return list
}

// prove notes that p has shown that it has the key. What is kept of those that are not connected is bounded, and costs
// nobody who is.
func (g *gate) prove(p peer.ID, k GridKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.proven == nil {
		g.proven = map[peer.ID]shown{}
	}
	if len(g.proven) >= maxGuests+maxStrangers {
		for o, s := range g.proven {
			if !s.at.IsValid() {
				delete(g.proven, o)
				break
			}
		}
	}
	s := g.proven[p]
	s.key = k
	g.proven[p] = s
}

// seat takes a guest in at an address, unless he came by himself and too many are in: of all, or of that address.
func (g *gate) seat(p peer.ID, at netip.Prefix, came bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, of := 0, 0
	for o, s := range g.proven {
		if o == p || !s.at.IsValid() {
			continue
		}
		if all++; s.at == at {
			of++
		}
	}
	if came && (all >= maxGuests || of >= g.ofAddress) {
		return false
	}
	s := g.proven[p]
	s.at, s.gone = at, false
	g.proven[p] = s
	return true
}

// unseat frees the places of guests that were found not to be connected twice running: one that was seated while somebody looked is not yet among the
// connections, and keeps its place.
func (g *gate) unseat(connected map[peer.ID]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, s := range g.proven {
		switch {
		case !s.at.IsValid():
		case connected[p]:
			s.gone = false
			g.proven[p] = s
		case s.gone:
			s.at, s.gone = netip.Prefix{}, false
			g.proven[p] = s
		default:
			s.gone = true
			g.proven[p] = s
		}
	}
}

// guest tells that p may speak the DHT though it is no member.
func (g *gate) guest(p peer.ID) bool {
	k := g.key()
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.proven[p]
	return ok && k != (GridKey{}) && s.key == k
}

// shares tells that p may speak the DHT: a guest, or a member that was asked for the key, where there is one, and has not shown that it lacks it.
func (g *gate) shares(p peer.ID) bool {
	if g.has(p) {
		apart, known := g.answered(p)
		return !apart && known
	}
	return g.guest(p)
}

// answered tells whether p is apart, and whether that is known: without a key here it need not be asked, and a guest has shown his.
func (g *gate) answered(p peer.ID) (apart, known bool) {
	g.mu.Lock()
	apart, known = g.apart[p]
	g.mu.Unlock()
	return apart, known || g.key() == GridKey{} || g.guest(p)
}

func (g *gate) isApart(p peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.apart[p]
}

// setKey replaces the grid's key. What members have answered was about the one before: it is forgotten.
func (g *gate) setKey(k GridKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gridKey.Store(&k)
	clear(g.apart)
}

// setApart notes what a member has answered about a key, and tells whether that is news. Of who is no member any more, and of a key
// that is not the grid's any more, nothing is kept.
func (g *gate) setApart(p peer.ID, k GridKey, apart bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was, known := g.apart[p]
	if known && was == apart || !g.has(p) || g.key() != k {
		return false
	}
	if g.apart == nil {
		g.apart = map[peer.ID]bool{}
	}
	g.apart[p] = apart
	if g.asked != nil {
		close(g.asked)
		g.asked = nil
	}
	return true
}

// lets tells that p may be connected at all.
func (g *gate) lets(p peer.ID) bool {
	if g.has(p) || g.guest(p) || g.joining(p) {
		return true
	}
	_, invited := g.invited(p)
	return invited
}

// mayDial tells that p may be asked who it is.
func (g *gate) mayDial(p peer.ID) bool { return g.has(p) || g.key() != GridKey{} }

// SetGridKey replaces the grid's key; the zero key is none. Guests that have shown another are cut off.
func (o *Overlay) SetGridKey(k GridKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gate.key() == k {
		return
	}
	o.gate.setKey(k)
	if s := o.current.Load(); s != nil {
		s.dropGuests(func(network.Conn) bool { return true })
		poke(s.arrived)
		s.askKeys()
	}
}

// Grid tells that there is a grid key.
func (o *Overlay) Grid() bool { return o.gate.key() != GridKey{} }

// dropGuests closes the connections of guests that some rule names, and keeps the places of the others.
func (s *session) dropGuests(which func(network.Conn) bool) {
	left := map[peer.ID]bool{}
	for _, c := range s.host.Network().Conns() {
		p := c.RemotePeer()
		if s.gate.has(p) {
			continue
		}
		if which(c) || !s.gate.lets(p) {
			if err := c.Close(); err != nil {
				s.log.Debug("closing a guest's connection", zap.Error(err))
			}
			continue
		}
		left[p] = true
	}
	s.gate.unseat(left)
}

// sweepGuests closes connections with guests over which nothing has gone for a while.
func (s *session) sweepGuests(ctx context.Context) {
	tick := time.NewTicker(s.settings.guestIdle)
	defer tick.Stop()
	idle := map[network.Conn]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := idle
		idle = map[network.Conn]bool{}
		s.dropGuests(func(c network.Conn) bool {
			if len(c.GetStreams()) > 0 {
				return false
			}
			idle[c] = true
			return before[c]
		})
	}
}
