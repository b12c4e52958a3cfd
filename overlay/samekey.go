package overlay

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"go.uber.org/zap"

	"gbroker/grid"
)

// sameKeyProtocol is how a member is asked whether it has the same grid key, which neither can learn by it:
//
//	the one who asks    0, or 1 if it wants to be asked back, and 32 random bytes
//	            ◄──     1, and HMAC-SHA256(key, "gbroker grid answers" + SHA-256(those bytes, who asks, who answers)); or 0: it has no key
//
// A member needs no grid key, so that a wrong one would be seen by nobody: what is kept under it is not found.
const sameKeyProtocol = protocol.ID("/gbroker/key/1")

// askBack is how often a member is asked back at most.
const askBack = time.Second

// keyAnswer is what p answers to who asks.
func keyAnswer(k GridKey, question []byte, asks, answers peer.ID) []byte {
	h := sha256.New()
	h.Write(question)
	io.WriteString(h, string(asks))
	io.WriteString(h, string(answers))
	return proof(k, "answers", h.Sum(nil))
}

// answerKey serves one question.
func (s *session) answerKey(stream network.Stream) {
	defer stream.Close()
	n := s.neighbour(stream.Conn().RemotePeer())
	if n == nil || stream.SetDeadline(time.Now().Add(s.settings.hello)) != nil {
		return
	}
	question := make([]byte, 1+sha256.Size)
	if _, err := io.ReadFull(stream, question); err != nil {
		return
	}
	answer := []byte{0}
	if k := s.gate.key(); k != (GridKey{}) {
		answer = append([]byte{1}, keyAnswer(k, question[1:], n.id, s.self)...)
	}
	if _, err := stream.Write(answer); err != nil {
		return
	}
	if question[0] == 1 && !n.askedBefore(askBack) {
		s.spawn(func() { s.askKey(n, 0) })
	}
}

// askKey asks n whether it has the key, and to ask back if back is 1; it warns where n has another. A broker of before is not heard of, and believed,
// as is who does not answer in time.
func (s *session) askKey(n *neighbour, back byte) {
	k := s.gate.key()
	if !s.hearKey(n, k, back) && s.connected(n) && s.gate.believe(n.id, k) {
		s.takeIn(n)
	}
}

// hearKey is false where nothing was heard.
func (s *session) hearKey(n *neighbour, k GridKey, back byte) bool {
	if k == (GridKey{}) {
		n.setOtherKey(false)
		s.setApart(n, k, false)
		return true
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.settings.hello)
	defer cancel()
	stream, err := s.open(ctx, n.id, sameKeyProtocol)
	if err != nil {
		return false
	}
	defer stream.Reset()
	question, answer := make([]byte, 1+sha256.Size), make([]byte, 1+sha256.Size)
	rand.Read(question) // never fails
	question[0] = back
	if stream.SetDeadline(time.Now().Add(s.settings.hello)) != nil {
		return false
	}
	if _, err := stream.Write(question); err != nil {
		return false
	}
	if _, err := io.ReadFull(stream, answer[:1]); err != nil {
		return false
	}
	if answer[0] == 1 {
		if _, err := io.ReadFull(stream, answer[1:]); err != nil {
			return false
		}
	}
	same := answer[0] == 1 && hmac.Equal(answer[1:], keyAnswer(k, question[1:], s.self, n.id))
	if s.gate.key() != k {
		return true // it has changed meanwhile, and all are asked again
	}
	other := answer[0] == 1 && !same
	n.setOtherKey(other)
	s.setApart(n, k, !same)
	if other {
		s.sparingly(s.complaints, "grid key "+string(n.peer), "a member has another grid key: neither finds the other's sites and jobs beyond its neighbours; compare the files grid.key",
			zap.String("site", n.name()), zap.String("peer", string(n.peer)))
	}
	return true
}

// awaitAnswer waits until a member was asked for the key, no longer than limit.
func (g *gate) awaitAnswer(p peer.ID, limit time.Duration, ended <-chan struct{}) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for g.has(p) {
		g.mu.Lock()
		if g.asked == nil {
			g.asked = make(chan struct{})
		}
		asked := g.asked
		g.mu.Unlock()
		if _, known := g.answered(p); known {
			return
		}
		select {
		case <-asked:
		case <-end.C:
			return
		case <-ended:
			return
		}
	}
}

// believe takes a member that gave no answer for one that has the key, unless it has answered before; it tells whether that is news.
func (g *gate) believe(p peer.ID, k GridKey) bool {
	g.mu.Lock()
	_, known := g.apart[p]
	g.mu.Unlock()
	return !known && g.setApart(p, k, false)
}

// setApart keeps a member that lacks the key out of the directory, or takes one in again.
func (s *session) setApart(n *neighbour, k GridKey, apart bool) {
	if !s.gate.setApart(n.id, k, apart) {
		return
	}
	if !apart {
		s.takeIn(n)
		return
	}
	s.dht.RoutingTable().RemovePeer(n.id)
	for _, c := range s.host.Network().ConnsToPeer(n.id) {
		for _, stream := range c.GetStreams() {
			if stream.Protocol() == recordsProtocol {
				stream.Reset()
			}
		}
	}
}

func (s *session) connected(n *neighbour) bool {
	return s.host.Network().Connectedness(n.id) != network.NotConnected
}

// takeIn has a member in the directory, if it is connected.
func (s *session) takeIn(n *neighbour) {
	if s.connected(n) {
		if _, err := s.dht.RoutingTable().TryAddPeer(n.id, true, false); err != nil {
			s.log.Debug("a member is not yet in the directory", zap.String("peer", string(n.peer)), zap.Error(err))
		}
	}
	poke(s.arrived)
}

// askKeys asks all members, as the key here has changed.
func (s *session) askKeys() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, n := range s.neighbours {
		s.spawn(func() { s.askKey(n, 1) })
	}
}

// askedBefore tells that n was asked within some time; if not, it is now.
func (n *neighbour) askedBefore(within time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.askedKey) < within {
		return true
	}
	n.askedKey = time.Now()
	return false
}

func (n *neighbour) setOtherKey(other bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.otherKey = other
}

// OtherKey tells that a member has shown another grid key than the one here.
func (o *Overlay) OtherKey(p grid.PeerID) bool {
	s := o.current.Load()
	if s == nil {
		return false
	}
	n, err := s.member(p)
	if err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.otherKey
}
