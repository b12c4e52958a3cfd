package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/wire"
)

// Overlay is a broker's place among the others. All methods may be called from any
// goroutine; those that need the network work while Run does.
type Overlay struct {
	config   Config
	self     peer.ID
	settings settings
	log      *zap.Logger
	gate     *gate
	traffic  *metrics.BandwidthCounter

	uplink *uplink

	ready   chan struct{}
	started atomic.Bool
	current atomic.Pointer[session] // while Run serves

	mu       sync.Mutex // changes of members and handlers, one at a time
	members  *roster
	relay    *Relay
	handlers map[string]func(from grid.PeerID, c net.Conn)
	far      map[string]func(from grid.PeerID, c net.Conn) // of lines
}

// New checks c and starts nothing.
func New(c Config) (*Overlay, error) {
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("the overlay's configuration: %w", err)
	}
	members, err := checkMembers(PeerIDOf(c.Key), c.Members)
	if err != nil {
		return nil, err
	}
	self, err := peer.IDFromPrivateKey(c.Key.private)
	if err != nil {
		return nil, fmt.Errorf("the identity key: %w", err)
	}
	s, err := c.Profile.settings()
	if err != nil {
		return nil, err
	}
	o := &Overlay{
		config: c, self: self, settings: s, log: c.Logger, relay: c.Relay, gate: &gate{ofAddress: maxGuestsOf}, traffic: metrics.NewBandwidthCounter(), members: members, uplink: newUplink(),
		ready: make(chan struct{}), handlers: map[string]func(grid.PeerID, net.Conn){}, far: map[string]func(grid.PeerID, net.Conn){},
	}
	o.gate.setMembers(members)
	o.gate.gridKey.Store(&c.GridKey)
	o.gate.invitations = c.Invitations
	return o, nil
}

// Traffic is how many bytes came from a peer and went to it, over all connections since New.
func (o *Overlay) Traffic(p grid.PeerID) (in, out int64) {
	id, err := peer.Decode(string(p))
	if err != nil {
		return 0, 0
	}
	sum := o.traffic.GetBandwidthForPeer(id)
	return sum.TotalIn, sum.TotalOut
}

// Run serves until ctx ends, then closes everything and waits for it. It can be
// called once.
func (o *Overlay) Run(ctx context.Context) error {
	if o.started.Swap(true) {
		return errors.New("the overlay has run before: make a new one")
	}
	routeLibraryLogs(o.log)
	s, err := newSession(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	o.mu.Lock()
	o.current.Store(s)
	for name, f := range o.handlers {
		s.handle(name, f)
	}
	s.setMembers(o.members)
	err = s.setRelay(o.relay)
	o.mu.Unlock()
	if err != nil {
		o.log.Error("nothing is relayed for members", zap.Error(err))
	}
	defer o.current.Store(nil)
	close(o.ready)
	o.log.Info("the overlay serves", zap.String("peer", s.self.String()), zap.Strings("addresses", dialable(s.host)))
	<-ctx.Done()
	return nil
}

// Ready is closed when Run serves.
func (o *Overlay) Ready() <-chan struct{} { return o.ready }

// Peer is this broker's own peer ID.
func (o *Overlay) Peer() grid.PeerID { return grid.PeerID(o.self.String()) }

// Addresses are the multiaddresses, without /p2p, at which other brokers can dial
// this one; none before Ready.
func (o *Overlay) Addresses() []string {
	s := o.current.Load()
	if s == nil {
		return nil
	}
	return dialable(s.host)
}

var errStopped = fmt.Errorf("the overlay is not running: %w", grid.ErrUnavailable)

// Send queues m for a member and never waits. An error says that it is dropped: no
// member, no connection, or a full queue. No error does not say that it arrives.
func (o *Overlay) Send(to grid.PeerID, m wire.Message) error {
	s := o.current.Load()
	if s == nil {
		return errStopped
	}
	n, err := s.member(to)
	if err != nil {
		return err
	}
	return s.send(n, m)
}

// Open opens a bulk stream over the connection that stands; what moves on it is
// held to the member's rate limit. The net.Conn is a [Conn].
func (o *Overlay) Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	s := o.current.Load()
	if s == nil {
		return nil, errStopped
	}
	return s.openBulk(ctx, to, protocol)
}

// OpenApart opens a bulk stream over a connection of its own where the member can be dialled, and over the one that stands where
// not: for the second stream of a transfer and those after it.
func (o *Overlay) OpenApart(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	s := o.current.Load()
	if s == nil {
		return nil, errStopped
	}
	return s.openApart(ctx, to, protocol)
}

// Handle serves the bulk streams that members open for a protocol, such as
// /gbroker/stage/1. f runs in a goroutine of its own for each, which Run waits for:
// it must end when its net.Conn (a [Conn]) fails. The stream is closed when f returns.
//
// It may be called before Run and while it serves. The error says that the name is
// no protocol, or one of the overlay's own.
func (o *Overlay) Handle(protocol string, f func(from grid.PeerID, c net.Conn)) error {
	if err := bulkProtocol(protocol); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers[protocol] = f
	if s := o.current.Load(); s != nil {
		s.handle(protocol, f)
	}
	return nil
}

// SetMembers replaces the members. A list with a mistake changes nothing. Those
// that are gone are cut off at once and end as dead.
func (o *Overlay) SetMembers(members []grid.Member) error {
	r, err := checkMembers(o.Peer(), members)
	if err != nil {
		return fmt.Errorf("the members stay as they were: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.members = r
	o.gate.setMembers(r)
	if s := o.current.Load(); s != nil {
		s.setMembers(r)
	}
	return nil
}

// Share gives the bulk streams with each of some peers a rate, in bytes per second each way, and those with all others the rest;
// a rest of 0 is no limit.
func (o *Overlay) Share(reserved map[grid.PeerID]int64, rest int64) { o.uplink.share(reserved, rest) }

// HangUp closes the connections with all members, in the background; they are dialled anew, and each side says Hello again. A broker that a
// duplicate has stopped does so: members that are connected to both have answered it alone, and the other hears of it then.
func (o *Overlay) HangUp() {
	s := o.current.Load()
	if s == nil {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, n := range s.neighbours {
		s.spawn(func() { s.hangUp(n) })
	}
}

// Liveness is what is known of a peer now; Dead for one that is no member.
func (o *Overlay) Liveness(p grid.PeerID) grid.Liveness {
	s := o.current.Load()
	if s == nil {
		return grid.Dead
	}
	n, err := s.member(p)
	if err != nil {
		return grid.Dead
	}
	return n.livenessNow()
}

// Contact says more of a member that is not alive.
func (o *Overlay) Contact(p grid.PeerID) grid.Contact {
	s := o.current.Load()
	if s == nil {
		return grid.Met
	}
	n, err := s.member(p)
	if err != nil {
		return grid.Met
	}
	return n.contactNow()
}

// PublishSite writes this site's record to the DHT now. Run does so by itself, when
// a member arrives, when the addresses change and at intervals.
func (o *Overlay) PublishSite(ctx context.Context) error {
	s := o.current.Load()
	if s == nil {
		return errStopped
	}
	return s.publishSite(ctx)
}

// FindSite looks up the record of a site by the name its broker uses for itself.
// A name in the member file gives that member's record or none.
func (o *Overlay) FindSite(ctx context.Context, name grid.SiteName) (SiteRecord, error) {
	s := o.current.Load()
	if s == nil {
		return SiteRecord{}, errStopped
	}
	if err := grid.CheckName(string(name)); err != nil {
		return SiteRecord{}, err
	}
	return s.findSite(ctx, string(name))
}

// PublishOwner tells the DHT that this broker owns job at epoch. It takes some
// round trips: call it aside, and not for every step of a job.
func (o *Overlay) PublishOwner(ctx context.Context, job grid.JobID, epoch grid.Epoch) error {
	s := o.current.Load()
	if s == nil {
		return errStopped
	}
	if _, err := grid.ParseJobID(string(job)); err != nil {
		return err
	}
	return s.publishOwner(ctx, job, epoch)
}

// FindOwner looks up who said last that it owns job. It is a hint.
func (o *Overlay) FindOwner(ctx context.Context, job grid.JobID) (OwnerRecord, error) {
	s := o.current.Load()
	if s == nil {
		return OwnerRecord{}, errStopped
	}
	if _, err := grid.ParseJobID(string(job)); err != nil {
		return OwnerRecord{}, err
	}
	return s.findOwner(ctx, job)
}
