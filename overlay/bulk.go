package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"golang.org/x/time/rate"

	"gbroker/grid"
)

// streamConn is a libp2p stream as a net.Conn. Close lets the other side read to
// the end; CloseWrite only says that nothing more comes.
type streamConn struct{ network.Stream }

func (c streamConn) LocalAddr() net.Addr  { return peerAddress(c.Conn().LocalPeer().String()) }
func (c streamConn) RemoteAddr() net.Addr { return peerAddress(c.Conn().RemotePeer().String()) }

// peerAddress is a peer ID where a net.Addr is wanted.
type peerAddress string

func (a peerAddress) Network() string { return "libp2p" }
func (a peerAddress) String() string  { return string(a) }

// Conn is a bulk stream: a net.Conn with a half close, and a Reset that tells the
// other side that something went wrong.
type Conn interface {
	net.Conn
	CloseWrite() error
	Reset() error
}

// minBurst is what may go at once however low the rate is, in bytes.
const minBurst = 16 << 10

// setRate sets bytesPerSecond; 0 is no limit.
func setRate(l *rate.Limiter, bytesPerSecond int64) {
	if bytesPerSecond == 0 {
		l.SetLimit(rate.Inf)
		return
	}
	l.SetBurst(int(max(minBurst, min(bytesPerSecond/100, 1<<30))))
	l.SetLimit(rate.Limit(bytesPerSecond))
}

// bulkConn holds one stream to the limits that all bulk streams with a peer share, and to its share of the uplink.
type bulkConn struct {
	Conn
	readRate, writeRate *rate.Limiter
	uplink              *uplink
	peer                grid.PeerID
	ctx                 context.Context // ends with Close
	cancel              context.CancelFunc

	mu                          sync.Mutex
	readDeadline, writeDeadline time.Time
}

func newBulkConn(ctx context.Context, stream Conn, n *neighbour) *bulkConn {
	ctx, cancel := context.WithCancel(ctx)
	return &bulkConn{Conn: stream, readRate: n.read, writeRate: n.write, uplink: n.uplink, peer: n.peer, ctx: ctx, cancel: cancel}
}

// Read takes what is there and then waits until the rate allows for it, so that
// the other side is slowed down by its window.
func (c *bulkConn) Read(b []byte) (int, error) {
	uplink, _ := c.uplink.of(c.peer)
	limits := []limit{{own: c.readRate}, uplink}
	b = b[:min(len(b), share(limits))]
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.mu.Lock()
		deadline := c.readDeadline
		c.mu.Unlock()
		// The bytes are ours whatever the wait says; the next call meets the deadline.
		if waitErr := c.wait(limits, n, deadline); waitErr != nil && err == nil && c.ctx.Err() != nil {
			err = net.ErrClosed
		}
	}
	return n, err
}

// Write waits before each piece.
func (c *bulkConn) Write(b []byte) (int, error) {
	written := 0
	for {
		_, uplink := c.uplink.of(c.peer)
		limits := []limit{{own: c.writeRate}, uplink}
		piece := b[written:]
		piece = piece[:min(len(piece), share(limits))]
		c.mu.Lock()
		deadline := c.writeDeadline
		c.mu.Unlock()
		if err := c.wait(limits, len(piece), deadline); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// mostFree is how much is moved at once where nothing limits it: a limit that comes meanwhile is met soon.
const mostFree = 1 << 20

// share is how much may be moved between two waits.
func share(limits []limit) int {
	most := mostFree
	for _, l := range limits {
		if l.own.Limit() != rate.Inf {
			most = min(most, l.own.Burst())
		}
	}
	return most
}

// wait takes n bytes of each limit.
func (c *bulkConn) wait(limits []limit, n int, deadline time.Time) error {
	for _, l := range limits {
		if err := c.waitFor(l, n, deadline); err != nil {
			return err
		}
	}
	return nil
}

// waitFor takes n bytes of the rate, in pieces of the burst, which may change meanwhile.
func (c *bulkConn) waitFor(l limit, n int, deadline time.Time) error {
	for n > 0 {
		if l.own.Limit() == rate.Inf {
			return nil
		}
		piece := min(n, l.own.Burst())
		if took := l.spare(piece); took > 0 {
			n -= took
			continue
		}
		r := l.own.ReserveN(time.Now(), piece)
		if !r.OK() {
			continue // the burst was lowered just now
		}
		if err := c.sleep(r.Delay(), deadline); err != nil {
			r.Cancel()
			return err
		}
		n -= piece
	}
	return nil
}

func (c *bulkConn) sleep(d time.Duration, deadline time.Time) error {
	if d <= 0 {
		return nil
	}
	late := false
	if !deadline.IsZero() && time.Until(deadline) < d {
		d, late = time.Until(deadline), true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
		return net.ErrClosed
	}
	if late {
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (c *bulkConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *bulkConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.readDeadline = t
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

func (c *bulkConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.writeDeadline = t
	c.mu.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *bulkConn) Close() error {
	c.cancel()
	return c.Conn.Close()
}

func (c *bulkConn) Reset() error {
	c.cancel()
	return c.Conn.Reset()
}

// serve runs f over a stream that a member opened.
func (s *session) serve(f func(network.Stream)) network.StreamHandler {
	return func(stream network.Stream) {
		if !s.enter() {
			stream.Reset()
			return
		}
		defer s.tasks.Done()
		n := s.neighbour(stream.Conn().RemotePeer())
		if n == nil {
			stream.Reset()
			return
		}
		s.met(n)
		f(stream)
	}
}

// bulkProtocol refuses the names that are taken.
func bulkProtocol(name string) error {
	if len(name) < 2 || len(name) > 100 || name[0] != '/' {
		return fmt.Errorf("%.100q is no protocol: it looks like /gbroker/stage/1", name)
	}
	switch name {
	case string(messageProtocol), string(gossipProtocol), string(syncProtocol), string(recordsProtocol), string(reachProtocol), string(sameKeyProtocol):
		return fmt.Errorf("the protocol %s is the overlay's own", name)
	}
	return nil
}
