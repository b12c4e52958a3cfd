package overlay

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
	"go.uber.org/zap"

	"gbroker/grid"
)

// keep holds one neighbour: it dials until there is a connection, asks for its
// gossip until memberlist has it alive and it has answered as to a member.
//
//	          no connection             connection, not heard
//	┌──────► dial, with pauses ───────► push/pull, with pauses ──────┐
//	│                                                                ▼
//	└───────────────── woken by any change ◄──────────────── wait, all is well
func (s *session) keep(ctx context.Context, n *neighbour) {
	dial, join := pause{s: s.settings}, pause{s: s.settings}
	attempt := 0
	// If both start at once, one of them dials first, so that there is one connection and not two.
	if n.id.String() < s.self.String() {
		dial.next = time.Now().Add(s.settings.retry / 2)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		connected, heard, since := n.connection()
		now := time.Now()
		wait := time.Hour
		switch {
		case !connected && now.Before(dial.next):
			wait = dial.next.Sub(now)
		case !connected:
			s.dial(ctx, n, attempt)
			attempt++
			wait = dial.after(time.Now())
		case n.useless(now):
			s.hangUp(n)
			wait = s.settings.retry
		case !(heard && n.isListed()) && now.Before(join.next):
			wait = join.next.Sub(now)
		case !(heard && n.isListed()):
			s.gossip.join(n)
			wait = join.after(time.Now())
		case now.Sub(since) < s.settings.settled:
			wait = s.settings.settled - now.Sub(since)
		default:
			dial, join, attempt = pause{s: s.settings}, pause{s: s.settings}, 0
		}
		timer.Reset(max(wait, time.Millisecond))
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-timer.C:
		}
	}
}

// pause grows from settings.retry to settings.retryMost, with a quarter of jitter.
type pause struct {
	s    settings
	last time.Duration
	next time.Time
}

func (p *pause) after(now time.Time) time.Duration {
	p.last = min(max(p.s.retry, p.last*3/2), p.s.retryMost)
	wait := p.last*3/4 + rand.N(p.last/2)
	p.next = now.Add(wait)
	return wait
}

// dial tries to connect: first at the addresses of the member file, then at
// whatever else is known. It ends early when the member has connected by itself.
// That it worked is heard from the host.
func (s *session) dial(ctx context.Context, n *neighbour, attempt int) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.dialTimeout+s.settings.lookup)
	defer cancel()
	n.mu.Lock()
	n.stopDial = cancel
	connected := n.connected
	n.mu.Unlock()
	if connected {
		return
	}
	addresses := s.addressesOf(ctx, n, attempt)
	if len(addresses) == 0 {
		return
	}
	ctx, cancel = context.WithTimeout(ctx, s.settings.dialTimeout)
	defer cancel()
	if w, ok := s.host.Network().(*swarm.Swarm); ok {
		w.Backoff().Clear(n.id) // the keeper has pauses of its own
	}
	if err := s.host.Connect(ctx, peer.AddrInfo{ID: n.id, Addrs: addresses}); err != nil {
		s.dialFailed(n, err)
	}
}

// hangUp closes all connections to n; the host tells of it.
func (s *session) hangUp(n *neighbour) {
	s.lanes.hangUp(func(p peer.ID) bool { return p == n.id })
	if err := s.host.Network().ClosePeer(n.id); err != nil {
		s.log.Debug("closing a connection", zap.String("peer", string(n.peer)), zap.Error(err))
	}
}

// addressesOf lists where n may be found. Every fourth attempt in vain asks the DHT.
func (s *session) addressesOf(ctx context.Context, n *neighbour, attempt int) []ma.Multiaddr {
	n.mu.Lock()
	found := slices.Clone(n.member.Addresses)
	n.mu.Unlock()
	if attempt > 0 || len(found) == 0 {
		found = append(found, s.memory.addresses(n.peer)...)
	}
	over := s.circuitTo(n)
	if over == nil && (attempt%4 == 3 || len(found) == 0) {
		if r, err := s.findSite(ctx, string(n.peer)); err == nil {
			found = append(found, usable(r.Addresses)...)
		}
	}
	slices.Sort(found)
	var addresses []ma.Multiaddr
	for _, a := range slices.Compact(found) {
		if m, err := ma.NewMultiaddr(a); err == nil {
			addresses = append(addresses, m)
		}
	}
	if over != nil {
		addresses = append(addresses, over)
	}
	return addresses
}

// watch reports n's liveness whenever it changed, until ctx ends; a member that was
// removed ends as dead.
func (s *session) watch(ctx context.Context, n *neighbour) {
	told := grid.Dead
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		n.mu.Lock()
		now := time.Now()
		l, left := n.liveness(now), n.grace-now.Sub(n.verdict)
		removed := n.removed
		n.mu.Unlock()
		if l != told && (removed || ctx.Err() == nil) {
			told = l
			if l == grid.Alive {
				poke(s.arrived) // the record of this site names it from now on
			}
			s.log.Info("a member's liveness changed", zap.String("peer", string(n.peer)), zap.Stringer("liveness", l))
			if s.config.PeerChanged != nil {
				s.config.PeerChanged(n.peer, l)
			}
		}
		if ctx.Err() != nil {
			return
		}
		if left > 0 {
			timer.Reset(left)
		} else {
			timer.Reset(time.Hour)
		}
		select {
		case <-ctx.Done():
		case <-n.look:
		case <-timer.C:
		}
	}
}
