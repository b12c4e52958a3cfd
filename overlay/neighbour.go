package overlay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/time/rate"

	"gbroker/grid"
	"gbroker/wire"
)

// Sizes of the queues of one neighbour.
const (
	maxMessages = 1024
	maxPackets  = 128
)

// neighbour is one member while it is one.
type neighbour struct {
	id    peer.ID
	peer  grid.PeerID
	grace time.Duration

	wake     chan struct{} // the keeper looks again
	look     chan struct{} // the watcher looks again
	greet    chan struct{} // a connection stands: the stream of messages may be opened
	messages chan message
	packets  chan packet

	read, write *rate.Limiter // of all bulk streams together
	uplink      *uplink       // of all neighbours

	inbound sync.Mutex // held by the one stream of messages that is read

	mu        sync.Mutex
	member    grid.Member
	removed   bool
	connected bool
	listed    bool               // it has shown, over what stands now, that it lists this broker
	since     time.Time          // when connected last changed
	heard     bool               // memberlist has it alive
	verdict   time.Time          // when memberlist last said that it is dead
	incoming  network.Stream     // that inbound is held for
	stopDial  context.CancelFunc // while the keeper dials
	contact   contact
	askedKey  time.Time // when it was last asked for its grid key because it had asked itself
	otherKey  bool      // it has shown another grid key
}

type message struct {
	at time.Time
	m  wire.Message
}

type packet struct {
	at time.Time
	b  []byte
}

func newNeighbour(id peer.ID, m grid.Member, s settings, u *uplink) *neighbour {
	n := &neighbour{
		id: id, peer: m.Peer, grace: s.grace, member: m,
		wake: make(chan struct{}, 1), look: make(chan struct{}, 1), greet: make(chan struct{}, 1),
		messages: make(chan message, maxMessages), packets: make(chan packet, maxPackets),
		read: rate.NewLimiter(rate.Inf, 0), write: rate.NewLimiter(rate.Inf, 0), uplink: u,
	}
	n.setMember(m)
	return n
}

func (n *neighbour) setMember(m grid.Member) {
	n.mu.Lock()
	n.member = m
	n.mu.Unlock()
	setRate(n.read, m.RateLimit)
	setRate(n.write, m.RateLimit)
	n.stir()
}

// name is what the member file calls n.
func (n *neighbour) name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return string(n.member.Name)
}

// liveness follows the table of the package comment. Call with n.mu held.
func (n *neighbour) liveness(now time.Time) grid.Liveness {
	switch {
	case n.removed:
		return grid.Dead
	case n.connected && n.listed && n.heard:
		return grid.Alive
	case n.heard:
		return grid.Doubtful
	case n.connected && now.Sub(n.verdict) < n.grace:
		return grid.Doubtful
	}
	return grid.Dead
}

func (n *neighbour) livenessNow() grid.Liveness {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.liveness(time.Now())
}

// remove makes n dead for good.
func (n *neighbour) remove() {
	n.mu.Lock()
	n.removed = true
	n.mu.Unlock()
}

func (n *neighbour) connection() (connected, heard bool, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.connected, n.heard, n.since
}

// isListed tells that n has shown that it lists this broker.
func (n *neighbour) isListed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listed
}

// ask asks the host whether there is a connection, and whether one that stood when n last spoke as to a member still stands: who
// removes a member closes all of them, and those that come after may be those of a guest. It does so under n.mu, so that
// the last answer is the one that counts.
func (n *neighbour) ask(h host.Host) {
	n.mu.Lock()
	connected := h.Network().Connectedness(n.id) == network.Connected
	listed := connected && slices.ContainsFunc(h.Network().ConnsToPeer(n.id), func(c network.Conn) bool {
		return !c.Stat().Opened.After(n.contact.heard)
	})
	changed := n.connected != connected || n.listed != listed
	if n.connected != connected {
		n.connected, n.since = connected, time.Now()
	}
	n.listed = listed
	if connected && n.stopDial != nil {
		n.stopDial()
	}
	n.mu.Unlock()
	if connected {
		poke(n.greet)
	}
	if changed {
		n.stir()
	}
}

// setHeard takes word of memberlist. It must not block: memberlist holds its lock.
func (n *neighbour) setHeard(alive bool) {
	n.mu.Lock()
	n.heard = alive
	if !alive {
		n.verdict = time.Now()
	}
	n.mu.Unlock()
	n.stir()
}

func (n *neighbour) stir() {
	poke(n.wake)
	poke(n.look)
}

// useless tells that the connection is older than word of the member's death, which
// was not refuted over it in the time of grace: another one may do better.
func (n *neighbour) useless(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.connected && !n.heard && n.since.Before(n.verdict) && now.Sub(n.verdict) > n.grace
}

// poke wakes whoever waits on c, now or when it next looks.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
