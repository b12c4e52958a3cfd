package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"

	"gbroker/grid"
	"gbroker/wire"
)

// Do messages arrive in order, after a hello, both ways?
func TestMessages(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const many = 500
	for i := range many {
		for _, way := range [][2]*broker{{a, b}, {b, a}} {
			m := wire.EstimateRequest{Round: uint64(i + 1)}
			if err := way[0].over.Send(way[1].peer(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []*broker{a, b} {
		x.until("all messages", func() bool { return len(x.got) == many })
		for i, r := range x.got {
			if ask, ok := r.m.(wire.EstimateRequest); !ok || ask.Round != uint64(i+1) {
				t.Fatalf("message %d is %v", i+1, r.m)
			}
		}
		if len(x.hello) == 0 {
			t.Error("messages came without a hello")
		}
	}
}

// Is a refused hello told to the other side, and nothing behind it heard?
func TestRefusedHello(t *testing.T) {
	t.Parallel()
	all := several(t, 2)
	all[0].refuse = errors.New("you are my duplicate")
	connect(t, all, mesh(2))
	all[1].until("the complaint", func() bool {
		return slices.ContainsFunc(all[1].got, func(r received) bool {
			e, ok := r.m.(wire.Error)
			return ok && e.Of == wire.KindHello && e.Why == "you are my duplicate"
		})
	})
	_ = all[1].over.Send(all[0].peer(), wire.EstimateRequest{Round: 1})
	all[0].until("another try", func() bool { return len(all[0].hello) > 0 })
	if len(all[0].got) != 0 {
		t.Error("a message was heard behind a refused hello")
	}
}

func TestSendErrors(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	if err := func() error {
		o, err := New(all[0].config())
		if err != nil {
			t.Fatal(err)
		}
		return o.Send(all[1].peer(), wire.EstimateRequest{})
	}(); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("before Run: %v", err)
	}
	all[0].start(all[1].as())
	if err := all[0].over.Send(all[1].peer(), wire.EstimateRequest{}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("to a member that is down: %v", err)
	}
	if err := all[0].over.Send(all[2].peer(), wire.EstimateRequest{}); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("to a stranger: %v", err)
	}
	if _, err := all[0].over.Open(context.Background(), all[1].peer(), "/gbroker/test/1"); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a bulk stream to a member that is down: %v", err)
	}
	for _, name := range []string{"/gbroker/msg/1", "/gbroker/gossip/1", "/gbroker/sync/1", "", "stage"} {
		if bulkProtocol(name) == nil {
			t.Errorf("the protocol %q was given away", name)
		}
	}
}

// A queue that nobody empties takes so many messages and then says no, at once.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	b.mu.Lock()
	b.onGet = func(grid.PeerID, wire.Message) { <-block }
	b.mu.Unlock()
	reason := string(make([]byte, 400))
	big := wire.Refuse{Handoff: wire.HandoffID{Job: "site0.01ARZ3NDEKTSV4RRFFQ69G5FAV", To: b.peer()}, Estimate: grid.Estimate{Refusal: &grid.Refusal{Reason: reason}}}
	begin := time.Now()
	for i := range 200_000 {
		if err := a.over.Send(b.peer(), big); err != nil {
			if !errors.Is(err, grid.ErrUnavailable) {
				t.Fatal(err)
			}
			t.Logf("refused after %d messages", i)
			return
		}
		if time.Since(begin) > patience {
			break
		}
	}
	t.Error("the queue has no end")
}

// bareHost is a host of libp2p alone that knows where b is.
func bareHost(t *testing.T, key Key, b *broker) (h host.Host, to peer.ID) {
	t.Helper()
	h, err := libp2p.New(libp2p.Identity(key.private), libp2p.NoListenAddrs, libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	address, err := ma.NewMultiaddr(b.over.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	if to, err = peer.Decode(string(b.peer())); err != nil {
		t.Fatal(err)
	}
	h.Peerstore().AddAddr(to, address, peerstore.PermanentAddrTTL)
	return h, to
}

// Is one that is no member served on any protocol?
func TestStranger(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	h, id := bareHost(t, key, a)
	for _, p := range []protocol.ID{messageProtocol, gossipProtocol, syncProtocol, recordsProtocol, "/ipfs/id/1.0.0", "/ipfs/id/push/1.0.0", "/ipfs/ping/1.0.0", "/libp2p/autonat/1.0.0", "/libp2p/circuit/relay/0.2.0/hop"} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := h.Connect(ctx, peer.AddrInfo{ID: id})
		if err == nil {
			var stream network.Stream
			if stream, err = h.NewStream(ctx, id, p); err == nil {
				stream.SetDeadline(time.Now().Add(3 * time.Second))
				stream.Write([]byte("hello"))
				_, err = stream.Read(make([]byte, 1))
				stream.Reset()
			}
		}
		cancel()
		if err == nil {
			t.Errorf("a stranger was answered on %s", p)
		}
	}
	if got, err := h.Peerstore().GetProtocols(id); err == nil && len(got) > 0 {
		t.Errorf("a stranger learned the protocols %v", got)
	}
	if conns := a.over.current.Load().host.Network().ConnsToPeer(h.ID()); len(conns) > 0 {
		t.Errorf("a stranger has %d connections", len(conns))
	}
}

// A member that is removed is cut off at once, may come back, and the others stay.
func TestSetMembers(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	connect(t, all, mesh(3))
	a, b, c := all[0], all[1], all[2]
	bad := b.as()
	bad.Addresses = []string{"/ip4/127.0.0.1/udp/1/quic-v1"}
	if err := a.over.SetMembers([]grid.Member{bad}); err == nil {
		t.Fatal("a list with a mistake was taken")
	}
	if a.over.Liveness(c.peer()) != grid.Alive {
		t.Fatal("a refused list changed something")
	}
	mark := a.count()
	stream, served := make(chan error, 1), make(chan struct{})
	a.serve("/gbroker/test/1", func(_ grid.PeerID, conn net.Conn) {
		close(served)
		_, err := io.ReadAll(conn)
		stream <- err
	})
	open, err := b.over.Open(context.Background(), a.peer(), "/gbroker/test/1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-served
	if err := a.over.SetMembers([]grid.Member{c.as()}); err != nil {
		t.Fatal(err)
	}
	a.until("the removed one is dead", func() bool { return a.last(b.peer()) == grid.Dead })
	select {
	case err := <-stream:
		if err == nil {
			t.Error("a bulk stream of a removed member ended well")
		}
	case <-time.After(patience):
		t.Error("a bulk stream of a removed member goes on")
	}
	b.until("it is cut off", func() bool { return b.last(a.peer()) != grid.Alive })
	if err := a.over.Send(b.peer(), wire.EstimateRequest{}); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("sending to a removed member: %v", err)
	}
	if err := a.over.SetMembers([]grid.Member{b.as(), c.as()}); err != nil {
		t.Fatal(err)
	}
	a.sees(b, grid.Alive)
	b.sees(a, grid.Alive)
	for _, m := range a.movesSince(mark) {
		if m.peer == c.peer() {
			t.Errorf("%s became %v when another was removed", c.name, m.l)
		}
	}
}

// Does a bulk stream keep to the rate, in both directions, over several streams,
// and does a change of the rate reach a stream that is open?
func TestRateLimit(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	b.serve("/gbroker/echo/1", func(_ grid.PeerID, c net.Conn) {
		n, _ := io.Copy(io.Discard, io.LimitReader(c, 256<<10))
		c.Write(make([]byte, n))
	})
	limited := func(rate int64) grid.Member {
		m := b.as()
		m.RateLimit = rate
		return m
	}
	move := func(streams int) time.Duration {
		t.Helper()
		begin := time.Now()
		done := make(chan error, streams)
		for range streams {
			go func() { done <- exchange(a, b, 256<<10/streams) }()
		}
		for range streams {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(begin)
	}
	// A busy machine makes one try slow, and none fast.
	fastest := func(streams int, enough time.Duration) time.Duration {
		t.Helper()
		best := move(streams)
		for range 9 {
			if best > enough {
				best = min(best, move(streams))
			}
		}
		return best
	}
	const least, most = 400 * time.Millisecond, 1200 * time.Millisecond
	free := fastest(1, least)
	// 256 KiB there and back, less the burst of 16 KiB each way, at 1 MB/s.
	if err := a.over.SetMembers([]grid.Member{limited(1_000_000)}); err != nil {
		t.Fatal(err)
	}
	one, four := fastest(1, most), fastest(4, most)
	t.Logf("free %v, one stream %v, four streams %v", free, one, four)
	if one < least || one > most || four < 200*time.Millisecond || four > most {
		t.Errorf("512 KiB at 1 MB/s took %v, and over four streams %v", one, four)
	}
	if free > least {
		t.Errorf("without a limit it took %v", free)
	}
	if err := a.over.SetMembers([]grid.Member{limited(0)}); err != nil {
		t.Fatal(err)
	}
	if again := fastest(1, least); again > least {
		t.Errorf("after the limit was taken away it took %v", again)
	}
}

// exchange sends n bytes and reads as many.
func exchange(a, b *broker, n int) error {
	c, err := a.over.Open(context.Background(), b.peer(), "/gbroker/echo/1")
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(make([]byte, n)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := c.(Conn).CloseWrite(); err != nil {
		return err
	}
	back, err := io.ReadAll(c)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if len(back) != n {
		return fmt.Errorf("sent %d bytes, got %d back", n, len(back))
	}
	return nil
}

// A deadline is kept while the rate makes a stream wait, and Close ends the wait.
func TestLimitedStreamCanBeStopped(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	b.serve("/gbroker/sink/1", func(_ grid.PeerID, c net.Conn) { io.Copy(io.Discard, c) })
	m := b.as()
	m.RateLimit = 1000
	if err := a.over.SetMembers([]grid.Member{m}); err != nil {
		t.Fatal(err)
	}
	c, err := a.over.Open(context.Background(), b.peer(), "/gbroker/sink/1")
	if err != nil {
		t.Fatal(err)
	}
	c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := c.Write(make([]byte, 1<<20)); err == nil {
		t.Error("1 MiB went at 1 kB/s within 50 ms")
	} else if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("the deadline ended with %v", err)
	}
	c.SetWriteDeadline(time.Time{})
	done := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, 1<<20))
		done <- err
	}()
	c.Close()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a closed stream took 1 MiB")
		}
	case <-time.After(patience):
		t.Error("Close does not end a Write that waits")
	}
}
