package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/routing"
	"go.uber.org/zap"

	"gbroker/grid"
)

// recordsProtocol is the protocol of the DHT.
const recordsProtocol = protocol.ID("/gbroker/kad/1.0.0")

// maxLookups is how many streams of the DHT one member may hold open here: each may
// carry one request of up to 4 MiB at a time. A member that behaves holds a few.
const maxLookups = 16

// asked is how many of those nearest to a key must have answered before a look-up ends: three, as the library has it, may all be new
// there.
const asked = 8

// recordAge is how long a record is kept that nobody writes again.
const recordAge = 48 * time.Hour

// startDirectory starts the DHT: it asks and answers members and guests.
func startDirectory(ctx context.Context, h host.Host, g *gate, s settings) (*dht.IpfsDHT, error) {
	d, err := dht.New(lookupHost{h, g, ctx.Done(), s.hello},
		dht.ProtocolPrefix("/gbroker"),
		dht.Mode(dht.ModeServer),
		dht.Validator(validators(g)),
		dht.Datastore(newShelf(maxShelf)),
		dht.DisableProviders(),
		dht.MaxRecordAge(recordAge),
		dht.ValueGCInterval(time.Hour),
		dht.BucketSize(s.replicas),
		dht.Resiliency(min(asked, s.replicas)),
		dht.QueryFilter(func(_ any, p peer.AddrInfo) bool { return g.mayDial(p.ID) && !g.isApart(p.ID) }),
		dht.RoutingTableFilter(func(_ any, p peer.ID) bool { return g.shares(p) }),
	)
	if err != nil {
		return nil, fmt.Errorf("starting the DHT: %w", err)
	}
	return d, nil
}

// lookupHost lets only members and guests speak the DHT, and no member that lacks the grid's key: who is invited may join, and no more.
type lookupHost struct {
	host.Host
	gate  *gate
	ended <-chan struct{}
	limit time.Duration // a member has for its answer
}

// SetStreamHandler stands before the handler of the DHT.
func (h lookupHost) SetStreamHandler(id protocol.ID, f network.StreamHandler) {
	h.Host.SetStreamHandler(id, func(stream network.Stream) {
		h.gate.awaitAnswer(stream.Conn().RemotePeer(), h.limit, h.ended)
		if !h.gate.shares(stream.Conn().RemotePeer()) {
			stream.Reset()
			return
		}
		f(stream)
	})
}

func (s *session) get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.lookup)
	defer cancel()
	value, err := s.dht.GetValue(ctx, key)
	switch {
	case errors.Is(err, routing.ErrNotFound):
		return nil, fmt.Errorf("looking up %s: %w", key, grid.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("looking up %s: %w", key, errors.Join(grid.ErrUnavailable, err))
	}
	return value, nil
}

// publishSite writes this site's record, under its peer ID and its name. Where a newer one of its own is about, as after its
// clock was set back, it goes on from there.
func (s *session) publishSite(ctx context.Context) error {
	site := s.config.Hello().Site
	r := &SiteRecord{
		Site: s.config.Site.Name, Peer: grid.PeerID(s.self.String()), Addresses: dialable(s.host),
		Cores: min(site.Processes, maxTellable), Speed: site.Speed, Busy: site.Load.Busy, Waiting: site.Load.Waiting, Draining: site.Draining,
	}
	if s.gate.key() != (GridKey{}) {
		r.Members = s.within(maxTold)
	}
	s.sequenceMu.Lock()
	defer s.sequenceMu.Unlock()
	write := func() error {
		s.sequence = max(time.Now().UnixMilli(), s.sequence+1)
		r.Sequence = s.sequence
		return errors.Join(
			s.put(ctx, siteKey(string(r.Peer)), r),
			s.put(ctx, siteKey(string(r.Site)), r))
	}
	err := write()
	if err == nil {
		return nil
	}
	if own, e := s.findSite(ctx, string(r.Peer)); e == nil && own.Sequence > s.sequence {
		s.sequence = own.Sequence
		return write()
	}
	return err
}

// within are some of the members that are connected now, in the order of their IDs.
func (s *session) within(most int) []grid.PeerID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []grid.PeerID
	for _, n := range s.neighbours {
		if n.livenessNow() == grid.Alive {
			list = append(list, n.peer)
		}
	}
	slices.Sort(list)
	return list[:min(len(list), most)]
}

// findSite looks a site up by its name or its peer ID.
func (s *session) findSite(ctx context.Context, subject string) (SiteRecord, error) {
	key := siteKey(subject)
	value, err := s.get(ctx, key)
	if err != nil {
		return SiteRecord{}, err
	}
	return judge{s.gate}.site(key, value)
}

func (s *session) publishOwner(ctx context.Context, job grid.JobID, epoch grid.Epoch) error {
	hash := s.gate.key().hash(job)
	return s.put(ctx, ownerKey(hash), &OwnerRecord{
		Subject: hash, Owner: grid.PeerID(s.self.String()),
		Term: epoch.Term, Hop: epoch.Hop, Sequence: time.Now().UnixMilli(),
	})
}

func (s *session) findOwner(ctx context.Context, job grid.JobID) (OwnerRecord, error) {
	key := ownerKey(s.gate.key().hash(job))
	value, err := s.get(ctx, key)
	if err != nil {
		return OwnerRecord{}, err
	}
	return judge{s.gate}.owner(key, value)
}

// announce publishes the site record when a member comes alive, when the addresses
// change, and at intervals. It also saves what was remembered.
func (s *session) announce(ctx context.Context) {
	var published []string
	var at time.Time
	calm := max(s.settings.republish/10, 200*time.Millisecond)
	timer := time.NewTimer(calm)
	defer timer.Stop()
	for {
		arrived := false
		select {
		case <-ctx.Done():
			return
		case <-s.arrived:
			arrived = true
		case <-timer.C:
		}
		timer.Reset(calm)
		if err := s.memory.save(); err != nil {
			s.log.Warn("ports and addresses are not remembered", zap.Error(err))
		}
		now := dialable(s.host)
		for _, p := range s.within(maxTold) {
			now = append(now, string(p))
		}
		if !arrived && slices.Equal(now, published) && time.Since(at) < s.settings.republish {
			continue
		}
		published = nil // until it is done
		if s.dht.RoutingTable().Size() == 0 {
			timer.Reset(min(calm, s.settings.retryMost)) // who has just come is not in it yet
			continue
		}
		if err := s.publishSite(ctx); err != nil {
			if ctx.Err() == nil {
				s.log.Debug("the site record was not published", zap.Error(err))
			}
			timer.Reset(min(calm, s.settings.retryMost))
			continue
		}
		published, at = now, time.Now()
	}
}
