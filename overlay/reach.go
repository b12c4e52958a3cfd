package overlay

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"go.uber.org/zap"

	"gbroker/grid"
)

// reachProtocol carries a line to a broker that is no member here, from member to member:
//
//	each hop    length (2 bytes, big endian), reach as JSON
//	            ◄── length, reached as JSON: it stands up to its end, or which step of the way is closed
//	then        TLS 1.3 as libp2p has it, between the two ends, whose bytes those between cannot read or change
const reachProtocol = protocol.ID("/gbroker/reach/1")

// Bounds of lines.
const (
	maxHops      = 16
	maxReach     = 2048             // bytes of the request
	maxThrough   = 64               // lines through this broker at once
	maxThroughOf = 8                // of them opened by one member
	lineIdle     = 2 * time.Minute  // a line on which nothing moves ends
	lineLimit    = 15 * time.Second // for one to stand
	lineAttempts = 3
)

// reach asks for a line.
type reach struct {
	Route    []grid.PeerID `json:"route"` // what is left of it; the last is its end
	Protocol string        `json:"protocol"`
}

// reached answers it.
type reached struct {
	OK     bool   `json:"ok"`
	Closed int    `json:"closed,omitempty"` // how many of the route could not be reached, as seen by who answers
	Why    string `json:"why,omitempty"`
}

// through counts the lines that others have through here.
type through struct {
	mu  sync.Mutex
	all int
	of  map[grid.PeerID]int
}

func (t *through) enter(p grid.PeerID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all >= maxThrough || t.of[p] >= maxThroughOf {
		return false
	}
	t.all++
	t.of[p]++
	return true
}

func (t *through) leave(p grid.PeerID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.of[p]--; t.of[p] == 0 {
		delete(t.of, p)
	}
}

// Reach opens a line to any broker of the grid: over the members between, and nothing but bytes that these cannot read.
func (o *Overlay) Reach(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	s := o.current.Load()
	if s == nil {
		return nil, errStopped
	}
	if !o.Grid() {
		return nil, fmt.Errorf("%w: without a grid key only neighbours are reached", grid.ErrUnavailable)
	}
	id, err := decodePeer(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lineLimit)
	defer cancel()
	line, err := s.line(ctx, to, protocol)
	if err != nil {
		return nil, err
	}
	t, err := newTLS(libp2ptls.ID, s.config.Key.private, nil)
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	c, err := t.SecureOutbound(ctx, line, id)
	if err != nil {
		line.Close()
		return nil, fmt.Errorf("the end of the line to %s: %w: %w", to, grid.ErrUnavailable, err)
	}
	return c, nil
}

// HandleFar serves the lines of a protocol that brokers of the grid open here: who they are is certain, and no more.
func (o *Overlay) HandleFar(protocol string, f func(from grid.PeerID, c net.Conn)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.far[protocol] = f
}

func (o *Overlay) farHandler(protocol string) func(grid.PeerID, net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.far[protocol]
}

// line opens a line along the shortest way; where a step of it is closed, along another.
func (s *session) line(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	closed := map[[2]grid.PeerID]bool{}
	var failed error
	for range lineAttempts {
		way := s.way(ctx, to, closed)
		if way == nil {
			break
		}
		c, step, err := s.step(ctx, reach{way, protocol})
		if err == nil {
			return c, nil
		}
		failed = err
		k := min(max(len(way)-step, 0), len(way)-1)
		from := grid.PeerID("")
		if k > 0 {
			from = way[k-1]
		}
		closed[[2]grid.PeerID{from, way[k]}] = true
	}
	if failed == nil {
		failed = fmt.Errorf("no way of at most %d members leads there", maxHops)
	}
	return nil, fmt.Errorf("reaching %s: %w: %w", to, grid.ErrUnavailable, failed)
}

// way is a way to a peer, by what is known of the grid.
func (s *session) way(ctx context.Context, to grid.PeerID, closed map[[2]grid.PeerID]bool) []grid.PeerID {
	first := s.within(maxMembers)
	if slices.Contains(first, to) && !closed[[2]grid.PeerID{"", to}] {
		return []grid.PeerID{to}
	}
	for _, age := range []time.Duration{known, fresh} {
		members := map[grid.PeerID][]grid.PeerID{}
		of := func(p grid.PeerID) []grid.PeerID { return members[p] }
		s.survey(ctx, time.Now().Add(-age), func(r SiteRecord) bool {
			members[r.Peer] = r.Members
			return slices.Contains(r.Members, to) && route(first, of, to, closed) != nil
		})
		if way := route(first, of, to, closed); way != nil {
			return way
		}
	}
	return nil
}

// step opens the rest of a line at the first of its route; closed tells, on an error, how many of the route it is from its end to
// what could not be reached.
func (s *session) step(ctx context.Context, r reach) (_ net.Conn, closed int, err error) {
	all := len(r.Route)
	c, err := s.openTo(ctx, r.Route[0])
	if err != nil {
		return nil, all, err
	}
	defer func() {
		if err != nil {
			c.Reset()
		}
	}()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	r.Route = r.Route[1:]
	if err := writeLine(c, r); err != nil {
		return nil, all, err
	}
	var answer reached
	if err := readLine(c, &answer); err != nil {
		return nil, all, err
	}
	if !answer.OK {
		return nil, min(max(answer.Closed, 0), all), fmt.Errorf("%.300s", answer.Why)
	}
	return c, 0, nil
}

// openTo opens a stream of the protocol to a member.
func (s *session) openTo(ctx context.Context, p grid.PeerID) (*bulkConn, error) {
	n, err := s.member(p)
	if err != nil {
		return nil, err
	}
	stream, err := s.open(ctx, n.id, reachProtocol)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", n.name(), grid.ErrUnavailable, err)
	}
	return newBulkConn(s.ctx, streamConn{stream}, n), nil
}

// passOn is one line that a member opens through here, or to here.
func (s *session) passOn(from *neighbour, c *bulkConn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(lineLimit))
	var r reach
	if err := readLine(c, &r); err != nil {
		return
	}
	answer := func(a reached) bool { return writeLine(c, a) == nil }
	switch {
	case s.gate.key() == GridKey{}:
		answer(reached{Closed: len(r.Route) + 1, Why: "this broker has no grid key, and passes nothing on"})
	case len(r.Route) > 0 && s.gate.isApart(from.id):
		answer(reached{Closed: len(r.Route) + 1, Why: "this broker has another grid key, and passes nothing on"})
	case !straight(from.peer, grid.PeerID(s.self.String()), r.Route):
		answer(reached{Closed: len(r.Route) + 1, Why: "the way comes by a broker twice"})
	case len(r.Route) >= maxHops:
		answer(reached{Closed: len(r.Route) + 1, Why: fmt.Sprintf("a way of more than %d members is not taken", maxHops)})
	case !s.through.enter(from.peer):
		answer(reached{Closed: len(r.Route) + 1, Why: "too many lines go through this broker now"})
	default:
		defer s.through.leave(from.peer)
		if len(r.Route) == 0 {
			s.terminate(c, r.Protocol, answer)
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, lineLimit)
		next, closed, err := s.step(ctx, r)
		cancel()
		if err != nil {
			answer(reached{Closed: closed, Why: err.Error()})
			return
		}
		defer next.Close()
		if answer(reached{OK: true}) {
			s.pipe(c, next)
		}
	}
}

// straight tells that a way comes by no broker twice: neither by who asks, nor by this one.
func straight(from, self grid.PeerID, route []grid.PeerID) bool {
	seen := map[grid.PeerID]bool{from: true, self: true}
	for _, p := range route {
		if seen[p] {
			return false
		}
		seen[p] = true
	}
	return from != self
}

// terminate serves the end of a line.
func (s *session) terminate(c net.Conn, name string, answer func(reached) bool) {
	serve := s.farHandler(name)
	if serve == nil {
		answer(reached{Closed: 1, Why: fmt.Sprintf("%.80q is not served here", name)})
		return
	}
	if !answer(reached{OK: true}) {
		return
	}
	t, err := newTLS(libp2ptls.ID, s.config.Key.private, nil)
	if err != nil {
		s.log.Error("securing a line", zap.Error(err))
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, lineLimit)
	defer cancel()
	end, err := t.SecureInbound(ctx, c, peer.ID(""))
	if err != nil {
		s.log.Debug("a line was not secured", zap.Error(err))
		return
	}
	defer end.Close()
	end.SetDeadline(time.Time{})
	defer context.AfterFunc(s.ctx, func() { end.Close() })()
	serve(grid.PeerID(end.RemotePeer().String()), end)
}

// pipe moves bytes both ways until one side ends or nothing moves.
func (s *session) pipe(a, b net.Conn) {
	defer context.AfterFunc(s.ctx, func() { a.SetDeadline(time.Unix(1, 0)); b.SetDeadline(time.Unix(1, 0)) })()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			from, to := way[0], way[1]
			buffer := make([]byte, 32<<10)
			for {
				from.SetReadDeadline(time.Now().Add(lineIdle))
				n, err := from.Read(buffer)
				if n > 0 {
					to.SetWriteDeadline(time.Now().Add(lineIdle))
					if _, bad := to.Write(buffer[:n]); bad != nil {
						err = bad
					}
				}
				if err != nil {
					if half, ok := to.(Conn); ok && errors.Is(err, io.EOF) {
						half.CloseWrite()
						return
					}
					from.(Conn).Reset()
					to.(Conn).Reset()
					return
				}
			}
		})
	}
	both.Wait()
}

func writeLine(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) > maxReach {
		return fmt.Errorf("%w: the way has %d bytes: at most %d", grid.ErrInvalid, len(text), maxReach)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...))
	return err
}

func readLine(r io.Reader, v any) error {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint16(head[:])
	if size > maxReach {
		return fmt.Errorf("%w: a line of %d bytes", grid.ErrInvalid, size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
