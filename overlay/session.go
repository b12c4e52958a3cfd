package overlay

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"go.uber.org/zap"

	"gbroker/grid"
)

// complainEvery is how often the log tells the same of one peer.
const complainEvery = 10 * time.Minute

// session is all that lives while Run does.
type session struct {
	config   Config
	self     peer.ID
	settings settings
	log      *zap.Logger
	gate     *gate
	traffic  *metrics.BandwidthCounter
	uplink   *uplink
	door     *door
	lanes    *lanes
	memory   *memory

	ctx    context.Context // ends when the session is closed
	cancel context.CancelFunc
	host   host.Host
	gossip *gossip
	dht    *dht.IpfsDHT

	complaints  *sparing // lines about members
	strangers   *sparing // lines about each peer that is none
	strangersAt *sparing // lines about peers at each address

	arrived chan struct{} // a member came: publish the site record

	atlas      atlas
	through    through
	farHandler func(protocol string) func(grid.PeerID, net.Conn)

	sequenceMu sync.Mutex
	sequence   int64 // of the site record last made

	places   chan struct{} // a place at a relay may be lost, or wanted
	relayMu  sync.Mutex
	relaying *relaying // nil where nothing is relayed

	bulkMu sync.Mutex
	bulk   map[string]func(grid.PeerID, net.Conn) // who serves bulk streams

	mu         sync.RWMutex
	neighbours map[peer.ID]*neighbour
	stop       map[peer.ID]context.CancelFunc
	watched    map[peer.ID]chan struct{} // closed when the last watcher of a peer has ended

	taskMu sync.Mutex
	closed bool
	tasks  sync.WaitGroup
}

// newSession opens everything; on an error it closes what was open.
func newSession(ctx context.Context, o *Overlay) (*session, error) {
	s := &session{
		config: o.config, self: o.self, settings: o.settings, log: o.log, gate: o.gate, traffic: o.traffic, uplink: o.uplink,
		door: newDoor(o.settings.handshake, o.gate.knows), lanes: newLanes(o.traffic), bulk: map[string]func(grid.PeerID, net.Conn){},
		complaints: newSparing(complainEvery, 4*maxMembers), strangers: newSparing(complainEvery, 256), strangersAt: newSparing(complainEvery/10, 64),
		arrived: make(chan struct{}, 1), places: make(chan struct{}, 1),
		atlas: atlas{sites: map[grid.PeerID]charted{}}, through: through{of: map[grid.PeerID]int{}}, farHandler: o.farHandler,
		neighbours: map[peer.ID]*neighbour{}, stop: map[peer.ID]context.CancelFunc{},
		watched: map[peer.ID]chan struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.lanes.serve = s.serveLane
	var err error
	if s.memory, err = recall(o.config.StateDir); err != nil {
		s.log.Warn("starting without what was remembered", zap.Error(err))
	}
	if err := s.begin(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) begin() error {
	var err error
	if s.host, err = s.listen(); err != nil {
		return err
	}
	s.gate.tell(s.refuseStranger)
	s.rememberPorts()
	if err := s.memory.save(); err != nil {
		s.log.Warn("ports and addresses are not remembered", zap.Error(err))
	}
	if s.gossip, err = startGossip(s); err != nil {
		return err
	}
	if s.dht, err = startDirectory(s.ctx, s.host, s.gate, s.settings); err != nil {
		return err
	}
	identified, err := s.host.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted), eventbus.BufSize(256))
	if err != nil {
		return fmt.Errorf("listening for members: %w", err)
	}
	s.spawn(func() { s.learn(identified) })
	s.spawn(func() { s.announce(s.ctx) })
	s.spawn(func() { s.ripen(s.ctx) })
	s.spawn(func() { s.sweepGuests(s.ctx) })
	s.spawn(func() { s.holdPlaces(s.ctx) })
	s.host.SetStreamHandler(messageProtocol, s.serve(s.receive))
	s.host.SetStreamHandler(gossipProtocol, s.serve(s.gossip.links.receive))
	s.host.SetStreamHandler(syncProtocol, s.serve(s.gossip.links.accept))
	s.host.SetStreamHandler(sameKeyProtocol, s.serve(s.answerKey))
	s.handleWith(string(reachProtocol), s.passOn)
	s.host.SetStreamHandler(joinProtocol, func(stream network.Stream) {
		if !s.enter() {
			stream.Reset()
			return
		}
		defer s.tasks.Done()
		s.admit(stream)
	})
	s.host.Network().Notify(&network.NotifyBundle{
		ConnectedF:    func(_ network.Network, c network.Conn) { s.connection(c.RemotePeer()) },
		DisconnectedF: func(_ network.Network, c network.Conn) { s.disconnected(c) },
	})
	return nil
}

// close ends all that begin began, in the order in which things need each other,
// and waits for it.
func (s *session) close() {
	s.taskMu.Lock()
	s.closed = true
	s.taskMu.Unlock()
	s.cancel()
	s.lanes.close()
	if err := s.setRelay(nil); err != nil {
		s.log.Debug("ending the relay", zap.Error(err))
	}
	if s.gossip != nil {
		s.gossip.close()
	}
	if s.dht != nil {
		if err := s.dht.Close(); err != nil {
			s.log.Debug("stopping the DHT", zap.Error(err))
		}
	}
	if s.host != nil {
		if err := s.host.Close(); err != nil {
			s.log.Debug("closing the host", zap.Error(err))
		}
	}
	s.tasks.Wait()
	if err := s.memory.save(); err != nil {
		s.log.Warn("ports and addresses are not remembered", zap.Error(err))
	}
}

// enter counts a task that close waits for; false once the session closes. The
// caller calls tasks.Done.
func (s *session) enter() bool {
	s.taskMu.Lock()
	defer s.taskMu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Add(1)
	return true
}

func (s *session) spawn(f func()) {
	if !s.enter() {
		return
	}
	go func() {
		defer s.tasks.Done()
		f()
	}()
}

// listen opens the host, on the ports of the last run where any port will do.
func (s *session) listen() (host.Host, error) {
	again := make([]string, 0, len(s.config.Listen))
	same := true
	for _, a := range s.config.Listen {
		if last := s.memory.port(a); strings.HasSuffix(a, "/tcp/0") && checkAddress(last) == nil {
			a, same = last, false
		}
		again = append(again, a)
	}
	if !same {
		if h, err := newHost(s.config.Key, again, s.gate, s.door, s.lanes, s.settings); err == nil {
			return h, nil
		}
	}
	return newHost(s.config.Key, s.config.Listen, s.gate, s.door, s.lanes, s.settings)
}

// rememberPorts notes for each listen address which port it got.
func (s *session) rememberPorts() {
	ports := map[string]string{}
	for _, want := range s.config.Listen {
		base, any := strings.CutSuffix(want, "/tcp/0")
		if !any {
			continue
		}
		for _, got := range texts(s.host.Network().ListenAddresses()) {
			if strings.HasPrefix(got, base+"/tcp/") {
				ports[want] = got
			}
		}
	}
	s.memory.setPorts(ports)
}

// learn keeps the addresses that members say they listen on.
func (s *session) learn(identified event.Subscription) {
	defer identified.Close()
	for {
		select {
		case <-s.ctx.Done():
			return
		case e := <-identified.Out():
			i, ok := e.(event.EvtPeerIdentificationCompleted)
			if !ok {
				continue
			}
			if n := s.neighbour(i.Peer); n != nil {
				s.memory.learn(n.peer, texts(i.ListenAddrs))
				poke(s.arrived)
				s.spawn(func() { s.askKey(n, 0) })
			}
		}
	}
}

// connection looks again whether p is connected; the host says that it may have changed.
func (s *session) connection(p peer.ID) {
	if n := s.neighbour(p); n != nil {
		n.ask(s.host)
		poke(s.places)
	}
}

func (s *session) neighbour(p peer.ID) *neighbour {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.neighbours[p]
}

// member finds the neighbour that a caller names.
func (s *session) member(p grid.PeerID) (*neighbour, error) {
	id, err := peer.Decode(string(p))
	if err != nil {
		return nil, fmt.Errorf("%.80q is no peer ID: %w", p, grid.ErrInvalid)
	}
	n := s.neighbour(id)
	if n == nil {
		return nil, fmt.Errorf("%s is no member: %w", p, grid.ErrForbidden)
	}
	return n, nil
}

// setMembers starts neighbours that are new, changes those that stay and cuts off
// those that are gone. The gate has the new list already.
func (s *session) setMembers(r *roster) {
	s.mu.Lock()
	var gone []*neighbour
	for id, n := range s.neighbours {
		if _, stays := r.byPeer[id]; !stays {
			gone = append(gone, n)
			n.remove()
			s.stop[id]()
			delete(s.neighbours, id)
			delete(s.stop, id)
		}
	}
	var came []*neighbour
	for id, m := range r.byPeer {
		if n := s.neighbours[id]; n != nil {
			n.setMember(m)
			continue
		}
		n := newNeighbour(id, m, s.settings, s.uplink)
		n.contact.ever = s.memory.knows(n.peer)
		s.neighbours[id] = n
		s.start(n)
		came = append(came, n)
	}
	s.mu.Unlock()
	for _, n := range gone {
		s.hangUp(n)
		s.host.Peerstore().ClearAddrs(n.id)
	}
	s.leave()
	for _, n := range came {
		n.ask(s.host)
		if s.connected(n) { // as a guest, or invited: nobody has asked it
			s.spawn(func() { s.askKey(n, 0) })
		}
	}
	poke(s.places)
	s.memory.forget(func(p grid.PeerID) bool {
		id, err := peer.Decode(string(p))
		_, stays := r.byPeer[id]
		return err == nil && stays
	})
}

// start starts the goroutines of one neighbour; they end with its context.
func (s *session) start(n *neighbour) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.stop[n.id] = cancel
	s.spawn(func() { s.keep(ctx, n) })
	before, ended := s.watched[n.id], make(chan struct{})
	s.watched[n.id] = ended
	s.spawn(func() {
		defer close(ended)
		if before != nil { // its last word comes first, where a member was removed and added again
			<-before
		}
		s.watch(ctx, n)
	})
	s.spawn(func() { s.deliver(ctx, n) })
	s.spawn(func() { s.gossip.links.send(ctx, n) })
}

// open opens a stream over the connection that stands; it never dials.
func (s *session) open(ctx context.Context, p peer.ID, name protocol.ID) (network.Stream, error) {
	return s.host.NewStream(network.WithNoDial(ctx, "the keeper dials"), p, name)
}

func (s *session) openBulk(ctx context.Context, to grid.PeerID, name string) (net.Conn, error) {
	if err := bulkProtocol(name); err != nil {
		return nil, err
	}
	n, err := s.member(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.dialTimeout)
	defer cancel()
	stream, err := s.open(ctx, n.id, protocol.ID(name))
	if err != nil {
		return nil, fmt.Errorf("opening %s to %s: %w: %w", name, to, grid.ErrUnavailable, err)
	}
	return newBulkConn(s.ctx, streamConn{stream}, n), nil
}

func (s *session) handle(name string, f func(from grid.PeerID, c net.Conn)) {
	s.bulkMu.Lock()
	s.bulk[name] = f
	s.bulkMu.Unlock()
	s.handleWith(name, func(n *neighbour, c *bulkConn) { f(n.peer, c) })
}

// handleWith serves the streams that members open for a protocol.
func (s *session) handleWith(name string, f func(*neighbour, *bulkConn)) {
	s.host.SetStreamHandler(protocol.ID(name), s.serve(func(stream network.Stream) {
		n := s.neighbour(stream.Conn().RemotePeer())
		if n == nil {
			stream.Reset()
			return
		}
		c := newBulkConn(s.ctx, streamConn{stream}, n)
		defer c.Close()
		f(n, c)
	}))
}
