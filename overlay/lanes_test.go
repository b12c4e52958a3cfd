package overlay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"net"
	"testing"
	"time"

	"gbroker/grid"
)

// lanesOf counts the lanes of a broker.
func lanesOf(b *broker) int {
	l := b.over.current.Load().lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// A stream that is opened apart has a connection of its own, whoever of the two has dialled the one that stands; what it carries comes
// whole, is counted, and held to the rate limit; it ends with the membership. Where the other cannot be dialled the connection that
// stands has to do.
func TestLanes(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for _, way := range [][2]*broker{{a, b}, {b, a}} {
		from, to := way[0], way[1]
		eventually(t, "addresses are learned", func() bool {
			s := from.over.current.Load()
			n, err := s.member(to.peer())
			return err == nil && len(s.lanesTo(n)) > 0
		})
		sum := make(chan [32]byte, 1)
		to.serve("/test/apart/1", func(_ grid.PeerID, c net.Conn) {
			h := sha256.New()
			io.Copy(h, c)
			sum <- [32]byte(h.Sum(nil))
			io.WriteString(c, "done")
		})
		data := make([]byte, 3<<20)
		rand.Read(data)
		c, err := from.over.OpenApart(t.Context(), to.peer(), "/test/apart/1")
		if err != nil {
			t.Fatal(err)
		}
		if _, own := c.(*bulkConn).Conn.(*lane); !own || lanesOf(from) != 1 {
			t.Fatalf("%s opens apart %T: %d lanes", from.name, c.(*bulkConn).Conn, lanesOf(from))
		}
		_, before := from.over.Traffic(to.peer())
		c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Write(data); err != nil {
			t.Fatal(err)
		}
		c.(Conn).CloseWrite()
		if text, err := io.ReadAll(c); string(text) != "done" || <-sum != sha256.Sum256(data) {
			t.Fatalf("what came was other than what was sent: %q, %v", text, err)
		}
		c.Close()
		eventually(t, "what was sent is counted", func() bool {
			_, after := from.over.Traffic(to.peer())
			return after-before >= int64(len(data))
		})
		eventually(t, "both ends close the lane", func() bool { return lanesOf(from) == 0 && lanesOf(to) == 0 })
	}

	b.serve("/test/hold/1", func(_ grid.PeerID, c net.Conn) { io.Copy(io.Discard, c) })
	c, err := a.over.OpenApart(t.Context(), b.peer(), "/test/hold/1")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lane is served", func() bool { return lanesOf(b) == 1 })
	b.over.SetMembers(nil)
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Read(make([]byte, 1)); err == nil || lanesOf(b) != 0 {
		t.Errorf("after the membership a lane goes on: %v, %d lanes", err, lanesOf(b))
	}
	c.(Conn).Reset()
}

// Who only dials out is not dialled: the connection that stands carries what was to go apart, and no more lanes than the bound are made.
func TestNoLane(t *testing.T) {
	t.Parallel()
	a, b := newBroker(t, "a"), newBroker(t, "b")
	a.start()
	c := b.config(a.as())
	c.Listen = nil
	b.run(c)
	if err := a.over.SetMembers([]grid.Member{b.as()}); err != nil {
		t.Fatal(err)
	}
	a.sees(b, grid.Alive)
	b.sees(a, grid.Alive)
	for _, x := range []*broker{a, b} {
		x.serve("/test/hold/1", func(_ grid.PeerID, c net.Conn) { io.Copy(io.Discard, c) })
	}
	conn, err := a.over.OpenApart(t.Context(), b.peer(), "/test/hold/1")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, own := conn.(*bulkConn).Conn.(*lane); own {
		t.Error("a site that listens nowhere was dialled")
	}
	own := 0
	for range maxLanes + 3 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		conn, err := b.over.OpenApart(ctx, a.peer(), "/test/hold/1")
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.(Conn).Reset()
		if _, apart := conn.(*bulkConn).Conn.(*lane); apart {
			own++
		}
	}
	if own != maxLanes || lanesOf(b) != maxLanes {
		t.Errorf("%d lanes, %d open: want %d", own, lanesOf(b), maxLanes)
	}
}
