package overlay

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	circuitproto "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/util"
	"github.com/multiformats/go-multiaddr"

	"gbroker/grid"
	"gbroker/wire"
)

// outward starts a broker that nobody can dial, with the hub as a member and another that it meets through the hub.
func outward(b, hub, other *broker) {
	c := b.config(hub.as(), grid.Member{Name: other.name, Peer: other.peer(), Send: true, Via: hub.name})
	c.Listen = nil
	b.run(c)
}

// Two sites that can only dial out meet through a member that relays: they are alive to each other, messages and files pass, at the
// rate that it gives, and it has no part in them. Where it ends relaying they are cut off, and find each other when it begins again.
func TestRelay(t *testing.T) {
	t.Parallel()
	hub, a, b := newBroker(t, "hub"), newBroker(t, "a"), newBroker(t, "b")
	hub.start()
	if err := hub.over.SetMembers([]grid.Member{a.as(), b.as()}); err != nil {
		t.Fatal(err)
	}
	outward(a, hub, b)
	outward(b, hub, a)
	for _, x := range []*broker{a, b} {
		x.sees(hub, grid.Alive)
	}
	if a.over.Liveness(b.peer()) == grid.Alive {
		t.Error("they meet where nothing is relayed")
	}
	const perSecond = 4 << 20
	if err := hub.over.SetRelay(&Relay{Rate: perSecond, AtMost: 2}); err != nil {
		t.Fatal(err)
	}
	a.sees(b, grid.Alive)
	b.sees(a, grid.Alive)
	eventually(t, "a message passes", func() bool {
		a.over.Send(b.peer(), wire.EstimateRequest{Round: 7})
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.got) > 0 && b.got[0].from == a.peer()
	})
	data := make([]byte, 2*perSecond)
	rand.Read(data)
	b.serve("/test/bulk/1", func(from grid.PeerID, c net.Conn) {
		if from == a.peer() {
			io.Copy(c, bytes.NewReader(data))
		}
	})
	began := time.Now()
	c, err := a.over.OpenApart(t.Context(), b.peer(), "/test/bulk/1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d of %d bytes came, %v", len(got), len(data), err)
	}
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("2 s of what is relayed took %v", took)
	}
	if err := hub.over.SetRelay(nil); err != nil {
		t.Fatal(err)
	}
	a.until("the relay is gone", func() bool { return a.over.Liveness(b.peer()) != grid.Alive })
	if err := hub.over.SetRelay(&Relay{AtMost: 2}); err != nil {
		t.Fatal(err)
	}
	a.sees(b, grid.Alive)
}

// A broker takes a way over a relay only for the members that its file names for it, and relays for members alone.
func TestRelayIsForThoseThatAreNamed(t *testing.T) {
	t.Parallel()
	hub, a, b := newBroker(t, "hub"), newBroker(t, "a"), newBroker(t, "b")
	c := hub.config()
	c.Relay = &Relay{AtMost: 3} // room for a stranger
	hub.run(c)
	hub.over.SetMembers([]grid.Member{a.as(), b.as()})
	outward(a, hub, b)
	direct := b.config(hub.as(), grid.Member{Name: a.name, Peer: a.peer()})
	direct.Listen = nil
	b.run(direct) // b lists a, and does not say that it is met through hub
	b.sees(hub, grid.Alive)
	a.sees(hub, grid.Alive)
	s := a.over.current.Load()
	n, err := s.member(b.peer())
	if err != nil {
		t.Fatal(err)
	}
	hubID, err := decodePeer(hub.peer())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Reserve(t.Context(), b.over.current.Load().host, peer.AddrInfo{ID: hubID}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.host.Connect(ctx, peer.AddrInfo{ID: n.id, Addrs: []multiaddr.Multiaddr{s.circuitTo(n)}}); err == nil {
		t.Error("a way over a relay was taken that the file does not name")
	}
	hub.over.current.Load().relayMu.Lock()
	l := hub.over.current.Load().relaying.host.places
	hub.over.current.Load().relayMu.Unlock()
	if l.AllowReserve("stranger", nil) || l.AllowConnect(n.id, nil, "stranger") || l.AllowConnect("stranger", nil, n.id) || !l.AllowConnect(s.host.ID(), nil, n.id) {
		t.Error("it relays for strangers")
	}
}

// A member has few circuits to another, and none without a place of its own: so none fills up what others need.
func TestCircuitsAreBounded(t *testing.T) {
	t.Parallel()
	hub, a, b := newBroker(t, "hub"), newBroker(t, "a"), newBroker(t, "b")
	c := hub.config()
	c.Relay = &Relay{AtMost: 2}
	hub.run(c)
	hub.over.SetMembers([]grid.Member{a.as(), b.as()})
	outward(a, hub, b)
	b.start(hub.as())
	a.sees(hub, grid.Alive)
	b.sees(hub, grid.Alive)
	host, to := b.over.current.Load().host, a.over.current.Load().self
	hubID := hub.over.current.Load().self
	circuits := func(n int) (taken int) {
		for range n {
			s, err := host.NewStream(t.Context(), hubID, circuitproto.ProtoIDv2Hop)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Reset()
			s.SetDeadline(time.Now().Add(patience))
			m := &pb.HopMessage{Type: pb.HopMessage_CONNECT.Enum(), Peer: util.PeerInfoToPeerV2(peer.AddrInfo{ID: to})}
			r := util.NewDelimitedReader(s, maxHop)
			if util.NewDelimitedWriter(s).WriteMsg(m) == nil && r.ReadMsg(m) == nil && m.GetStatus() == pb.Status_OK {
				taken++
			}
			r.Close()
		}
		return taken
	}
	eventually(t, "a has a place", func() bool { // and b none
		s := hub.over.current.Load()
		s.relayMu.Lock()
		defer s.relayMu.Unlock()
		l := s.relaying.host.places
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.holds(to)
	})
	if n := circuits(1); n != 0 {
		t.Error("a circuit was given to one who has no place")
	}
	if _, err := client.Reserve(t.Context(), host, peer.AddrInfo{ID: hubID}); err != nil {
		t.Fatal(err)
	}
	if n := circuits(circuitsOfPair + 3); n != circuitsOfPair {
		t.Errorf("%d circuits to one member were given", n)
	}
	eventually(t, "what was closed counts no more", func() bool { return circuits(1) == 1 })
}

// A way over a relay ends when the file names it no more.
func TestViaIsRemoved(t *testing.T) {
	t.Parallel()
	hub, a, b := newBroker(t, "hub"), newBroker(t, "a"), newBroker(t, "b")
	c := hub.config()
	c.Relay = &Relay{AtMost: 2}
	hub.run(c)
	hub.over.SetMembers([]grid.Member{a.as(), b.as()})
	outward(a, hub, b)
	outward(b, hub, a)
	a.sees(b, grid.Alive)
	if err := a.over.SetMembers([]grid.Member{hub.as(), {Name: b.name, Peer: b.peer(), Send: true}}); err != nil {
		t.Fatal(err)
	}
	if s := a.over.current.Load(); len(s.host.Network().ConnsToPeer(b.over.current.Load().self)) > 0 {
		t.Error("the way that is named no more goes on")
	}
	a.until("b is not alive", func() bool { return a.over.Liveness(b.peer()) != grid.Alive })
}

// The list of members says for whom a relay may be, and with what mistake.
func TestViaMistakes(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	name := func(i int, via grid.SiteName) grid.Member {
		m := all[i].as()
		m.Via = via
		return m
	}
	for want, list := range map[string][]grid.Member{
		"is no member":   {name(1, "else")},
		"names itself":   {name(1, all[1].name)},
		"is met through": {name(1, all[2].name), name(2, all[1].name)},
	} {
		if err := CheckVias(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	a := all[0]
	a.start()
	for _, r := range []Relay{{AtMost: 0}, {AtMost: maxMembers + 1}, {AtMost: 1, Rate: -1}} {
		if err := a.over.SetRelay(&r); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}
