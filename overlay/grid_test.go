package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"

	"gbroker/grid"
)

// graph starts brokers of one grid, each of which has the members that edges give it.
func graph(t *testing.T, n int, edges [][2]int, change func(*Config)) []*broker {
	t.Helper()
	key := NewGridKey()
	all := several(t, n)
	for _, b := range all {
		c := b.config()
		c.GridKey = key
		if change != nil {
			change(&c)
		}
		b.run(c)
	}
	join(t, all, edges)
	return all
}

func join(t *testing.T, all []*broker, edges [][2]int) {
	t.Helper()
	introduce(t, all, edges)
	for _, e := range edges {
		all[e[0]].sees(all[e[1]], grid.Alive)
		all[e[1]].sees(all[e[0]], grid.Alive)
	}
}

// introduce gives brokers the members that edges join them with.
func introduce(t *testing.T, all []*broker, edges [][2]int) {
	t.Helper()
	members := make([][]grid.Member, len(all))
	for _, e := range edges {
		members[e[0]] = append(members[e[0]], all[e[1]].as())
		members[e[1]] = append(members[e[1]], all[e[0]].as())
	}
	for i, b := range all {
		if err := b.over.SetMembers(members[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func chain(n int) (edges [][2]int) {
	for i := range n - 1 {
		edges = append(edges, [2]int{i, i + 1})
	}
	return edges
}

// Over a chain, a ring and a random graph of twelve brokers: all sites are found from any, with what they say of themselves,
// and the owner of a job by who is farthest, at which a line ends.
func TestLargeGrid(t *testing.T) {
	t.Parallel()
	for name, edges := range map[string][][2]int{
		"chain of 8": chain(8), "ring": append(chain(12), [2]int{0, 11}), "random": randomGraph(rand.New(rand.NewPCG(rand.Uint64(), 0)), 12),
	} {
		t.Run(name, func(t *testing.T) { // one after the other: thirty brokers side by side take each other's time
			begun := time.Now().Truncate(time.Second)
			n := 0
			for _, e := range edges {
				n = max(n, e[0]+1, e[1]+1)
			}
			all := graph(t, n, edges, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience) // more than all waits below together
			defer cancel()
			for _, b := range all {
				b.over.HandleFar("/test/echo/1", func(from grid.PeerID, c net.Conn) {
					fmt.Fprintf(c, "%s hears %s", b.name, from)
				})
			}
			first, last := all[0], all[len(all)/2]
			if name == "chain of 8" {
				last = all[len(all)-1]
			}
			eventually(t, "all sites are known", func() bool {
				found, err := first.over.Sites(ctx)
				return err == nil && len(found) == n-1
			})
			found, _ := first.over.Sites(ctx)
			for _, r := range found {
				if r.Cores != 4 || r.Speed != 1 || r.Made().Before(begun) {
					t.Errorf("a site is known as %+v", r)
				}
			}
			eventually(t, "the owner is told", func() bool { return last.over.PublishOwner(ctx, someJob, grid.Epoch{Term: 1}) == nil })
			var owner OwnerRecord
			eventually(t, "the owner is found", func() (found bool) {
				var err error
				owner, err = first.over.FindOwner(ctx, someJob)
				return err == nil && owner.Owner == last.peer()
			})
			var c net.Conn
			eventually(t, "a line reaches the owner", func() bool { // where a member is doubted for a moment, there is none
				var err error
				c, err = first.over.Reach(ctx, owner.Owner, "/test/echo/1")
				return err == nil
			})
			defer c.Close()
			text, err := io.ReadAll(c)
			if want := fmt.Sprintf("%s hears %s", last.name, first.peer()); string(text) != want {
				t.Errorf("the end of the line says %q, %v; want %q", text, err, want)
			}
		})
	}
}

// Who has no key, or another, is a stranger; who has it may speak the DHT and nothing else; without a key here nobody may.
func TestGuest(t *testing.T) {
	t.Parallel()
	key := NewGridKey()
	start := func(name string, k GridKey) *broker {
		b := newBroker(t, name)
		c := b.config()
		c.GridKey = k
		b.run(c)
		return b
	}
	host := start("host", key)
	host.serve("/test/bulk/1", func(grid.PeerID, net.Conn) { t.Error("a guest was served files") })
	try := func(b *broker) bool { return speaksRecords(t, b, host) }
	for _, c := range []struct {
		name string
		key  GridKey
		in   bool
	}{{"guest", key, true}, {"without", GridKey{}, false}, {"other", NewGridKey(), false}} {
		b := start(c.name, c.key)
		if got := try(b); got != c.in {
			t.Errorf("%s: may speak the DHT: %v", c.name, got)
		}
		if !c.in {
			continue
		}
		s := b.over.current.Load()
		id, _ := peer.Decode(string(host.peer()))
		speaksNothingElse(t, b, host, "/test/bulk/1")
		if lane, err := s.lanes.dial(t.Context(), id, []multiaddr.Multiaddr{multiaddr.StringCast(host.where[0])}, "/test/bulk/1"); err == nil {
			lane.SetDeadline(time.Now().Add(patience))
			if _, err := lane.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a guest has a lane: %v", err)
			}
			lane.Reset()
		}
		if got := host.over.Liveness(b.peer()); got != grid.Dead {
			t.Errorf("a guest is %v", got)
		}
		host.over.SetGridKey(NewGridKey())
		eventually(t, "the guest is cut off when the key changes", func() bool {
			return len(s.host.Network().ConnsToPeer(id)) == 0
		})
		if try(b) {
			t.Error("a guest with the key of before is let in")
		}
		host.over.SetGridKey(key)
	}
}

// speaksRecords tells whether b is answered by the DHT of host.
func speaksRecords(t *testing.T, b, host *broker) bool {
	t.Helper()
	s := b.over.current.Load()
	id, err := peer.Decode(string(host.peer()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, a := range host.where {
		s.host.Peerstore().AddAddr(id, multiaddr.StringCast(a), time.Hour)
	}
	return s.dht.Ping(ctx, id) == nil
}

// speaksNothingElse tries all that members alone may speak with host.
func speaksNothingElse(t *testing.T, b, host *broker, more ...string) {
	t.Helper()
	id, err := peer.Decode(string(host.peer()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(more, string(messageProtocol), string(gossipProtocol), string(syncProtocol), string(reachProtocol), string(sameKeyProtocol)) {
		stream, err := b.over.current.Load().open(t.Context(), id, protocol.ID(p))
		if err != nil {
			continue
		}
		stream.SetDeadline(time.Now().Add(patience))
		stream.Write([]byte("x"))
		if _, err := stream.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s speaks %s: %v", b.name, p, err)
		}
		stream.Reset()
	}
}

// The way is one of the shortest, of at most maxHops, and none through a closed step.
func TestRoute(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 300 {
		n := 2 + rand.IntN(22)
		edges := randomGraph(r, n)
		if rand.IntN(3) == 0 {
			edges = chain(n)
		}
		members := map[grid.PeerID][]grid.PeerID{}
		name := func(i int) grid.PeerID { return grid.PeerID(fmt.Sprintf("p%d", i)) }
		for _, e := range edges {
			a, b := name(e[0]), name(e[1])
			members[a], members[b] = append(members[a], b), append(members[b], a)
		}
		closed := map[[2]grid.PeerID]bool{}
		for range rand.IntN(3) {
			closed[[2]grid.PeerID{name(rand.IntN(n)), name(rand.IntN(n))}] = true
		}
		far := map[grid.PeerID]int{name(0): 0} // by Bellman and Ford
		for range n {
			for a, list := range members {
				for _, b := range list {
					d, ok := far[a]
					from := a
					if a == name(0) {
						from = ""
					}
					if old, known := far[b]; ok && !closed[[2]grid.PeerID{from, b}] && (!known || d+1 < old) {
						far[b] = d + 1
					}
				}
			}
		}
		to := name(1 + rand.IntN(n-1))
		way := route(members[name(0)], func(p grid.PeerID) []grid.PeerID { return members[p] }, to, closed)
		want, ok := far[to]
		switch {
		case !ok || want > maxHops:
			if way != nil {
				t.Fatalf("a way where there is none: %v", way)
			}
		case len(way) != want || way[len(way)-1] != to:
			t.Fatalf("the way %v to %s has not %d steps", way, to, want)
		}
		before := grid.PeerID("")
		for _, p := range way {
			if closed[[2]grid.PeerID{before, p}] || before != "" && !slices.Contains(members[before], p) {
				t.Fatalf("the way %v goes where none is", way)
			}
			before = p
		}
	}
}

// No grid, no lines: without a key nothing is passed on.
func TestNoLineWithoutKey(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if _, err := a.over.Reach(t.Context(), b.peer(), "/test/echo/1"); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a line without a key: %v", err)
	}
	if _, err := a.over.Sites(t.Context()); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("sites without a key: %v", err)
	}
}

// Who comes with many identities drops no guest that is in, and takes no more than the places of one address.
func TestManyGuestsOfOne(t *testing.T) {
	t.Parallel()
	key := NewGridKey()
	g := &gate{ofAddress: maxGuestsOf}
	g.members.Store(&roster{})
	g.gridKey.Store(&key)
	at := func(host string) netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(host), 32) }
	g.prove("guest", key)
	if !g.seat("guest", at("192.0.2.1"), true) {
		t.Fatal("the first guest is not let in")
	}
	in := 0
	for i := range 3 * maxStrangers {
		p := peer.ID(fmt.Sprint("identity ", i))
		g.prove(p, key)
		if g.seat(p, at("192.0.2.2"), true) {
			in++
		}
	}
	if !g.lets("guest") {
		t.Error("a guest was dropped by others that came")
	}
	if in != maxGuestsOf || len(g.proven) > maxGuests+maxStrangers {
		t.Errorf("%d of one address are in, and %d proofs are kept", in, len(g.proven))
	}
	g.prove("late", key)
	if !g.lets("late") || !g.seat("late", at("192.0.2.3"), true) {
		t.Error("there is no place for a guest of another address")
	}
	for i := range 2 * maxGuests {
		p := peer.ID(fmt.Sprint("far ", i))
		g.prove(p, key)
		g.seat(p, at(fmt.Sprintf("198.51.%d.%d", i/250, i%250)), true)
	}
	if g.prove("last", key); g.seat("last", at("192.0.2.4"), true) || !g.seat("last", at("192.0.2.4"), false) {
		t.Error("where all places are taken one who comes is let in, or one who is dialled is not")
	}
	g.unseat(map[peer.ID]bool{"guest": true})
	if g.prove("soon", key); g.seat("soon", at("192.0.2.4"), true) {
		t.Error("who was seated while connections were listed has lost its place to another")
	}
	g.unseat(map[peer.ID]bool{"guest": true})
	if g.prove("again", key); !g.seat("again", at("192.0.2.4"), true) {
		t.Error("the places of those that left are not free")
	}
}

// A way that comes by a broker twice is passed on by nobody: one line would take many places.
func TestCrookedWay(t *testing.T) {
	t.Parallel()
	all := graph(t, 3, chain(3), nil)
	a, b, c := all[0], all[1], all[2]
	s := a.over.current.Load()
	for _, way := range [][]grid.PeerID{
		{b.peer(), a.peer()}, {b.peer(), c.peer(), b.peer()}, {b.peer(), b.peer()}, {b.peer(), c.peer(), c.peer()},
		{b.peer(), c.peer(), b.peer(), a.peer(), b.peer(), c.peer()},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		line, _, err := s.step(ctx, reach{way, "/test/echo/1"})
		cancel()
		if err == nil {
			line.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("the way %v: %v", way, err)
		}
	}
}
