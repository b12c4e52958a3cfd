package overlay

import (
	"errors"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"go.uber.org/zap"

	"gbroker/grid"
)

// refusals is how many connections in a row a member must end at once, before
// anything was said on them, for it to be told that it refuses this broker: one alone
// may have broken.
const refusals = 2

// contact is what became of the attempts to reach a member; under neighbour.mu.
type contact struct {
	ever    bool      // it has spoken as to a member, as far as is remembered
	heard   time.Time // when it last did
	refused int       // connections since then that ended before, and questions that it has turned away
	other   peer.ID   // who answered instead at the last attempt
}

// met notes that n has spoken to this broker as to a member, and remembers it. A connection alone shows nothing: where
// there is a grid key, who does not list this broker lets it in as a guest.
func (s *session) met(n *neighbour) {
	n.mu.Lock()
	first, look := !n.contact.ever, !n.listed
	n.contact = contact{ever: true, heard: time.Now()}
	n.mu.Unlock()
	if first {
		s.memory.learn(n.peer, nil)
	}
	if look {
		n.ask(s.host)
	}
}

// turnedAway notes that n has reset a stream that every member is served.
func (s *session) turnedAway(n *neighbour, c network.Conn) {
	n.mu.Lock()
	counts := !n.removed && !n.listed && !c.IsClosed()
	if counts {
		n.contact.refused++
		n.contact.other = ""
	}
	refused := counts && n.contact.refused >= refusals
	n.mu.Unlock()
	if refused && s.ctx.Err() == nil {
		s.tellRefused(n, c)
	}
}

func (s *session) tellRefused(n *neighbour, c network.Conn) {
	s.sparingly(s.complaints, "refused "+string(n.peer), "a member refuses this broker: does it list it?",
		zap.String("site", n.name()), zap.String("peer", string(n.peer)), zap.Stringer("at", c.RemoteMultiaddr()))
}

// ended notes the end of a connection, and tells whether n now counts as refusing.
func (n *neighbour) ended(c network.Conn) (refused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.removed || c.Stat().Direction != network.DirOutbound || n.contact.heard.After(c.Stat().Opened) {
		return false
	}
	n.contact.refused++
	n.contact.other = ""
	return n.contact.refused >= refusals
}

// answered notes that another key than n's answered.
func (n *neighbour) answered(by peer.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.contact.other = by
}

func (n *neighbour) contactNow() grid.Contact {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.connected && n.listed && n.heard:
		return grid.Met
	case n.contact.refused >= refusals:
		return grid.Refused
	case n.contact.other != "":
		return grid.OtherKey
	case !n.contact.ever:
		return grid.NeverHeard
	}
	return grid.Met
}

// disconnected hears from the host of the end of a connection.
func (s *session) disconnected(c network.Conn) {
	n := s.neighbour(c.RemotePeer())
	if n == nil {
		return
	}
	if s.ctx.Err() == nil && n.ended(c) {
		s.tellRefused(n, c)
	}
	n.ask(s.host)
}

// dialFailed looks whether somebody else has answered.
func (s *session) dialFailed(n *neighbour, err error) {
	var other sec.ErrPeerIDMismatch
	if errors.As(err, &other) {
		n.answered(other.Actual)
		s.sparingly(s.complaints, "key "+string(n.peer), "another broker answers at a member's address: ask its administrator for what `gbroker id` prints there",
			zap.String("site", n.name()), zap.String("peer", string(n.peer)), zap.Stringer("answers", other.Actual))
	}
	s.log.Debug("dialling a member failed", zap.String("peer", string(n.peer)), zap.Error(err))
}

// refuseStranger tells the administrator of a peer that was not let in.
func (s *session) refuseStranger(p peer.ID, c network.ConnMultiaddrs) {
	if _, yes := s.strangersAt.due(neighbourhood(c.RemoteMultiaddr()).String(), time.Now()); !yes {
		return
	}
	s.sparingly(s.strangers, p.String(), "refused: no neighbour here; if it should be one: `gbroker neighbour add`",
		zap.Stringer("peer", p), zap.Stringer("from", c.RemoteMultiaddr()))
}

// sparingly warns of what others cause, within the bounds of one of s's sparings.
func (s *session) sparingly(by *sparing, subject, text string, fields ...zap.Field) {
	leftOut, yes := by.due(subject, time.Now())
	if !yes {
		return
	}
	if leftOut > 0 {
		fields = append(fields, zap.Int("left_out_since", leftOut))
	}
	s.log.Warn(text, fields...)
}
