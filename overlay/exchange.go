package overlay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"go.uber.org/zap"
)

const recordsProtocol = protocol.ID("/gbroker/records/1")

const (
	maxKey = 256 // bytes
	// maxAsking is how many requests are under way to one member; more wait. It serves
	// some more than that, as it hears later that one has ended.
	maxAsking = 8
	maxServed = 4 * maxAsking
)

// what a frame is.
type what byte

const (
	getRecord what = iota + 1 // a request
	putRecord                 // a request

	isFound   // to get: here is the record
	isNowhere // to get: there is none
	isKept    // to put
	isOlder   // to put: a newer one is known here
	isRefused // to put: it is not valid, or not here
)

// frame is a request or an answer; the package comment has its bytes.
type frame struct {
	what  what
	hops  uint8
	limit time.Duration
	key   string
	value []byte
}

// frameHead is the length of what comes before key and value.
const frameHead = 8

func (f frame) append(b []byte) []byte {
	b = append(b, byte(f.what), f.hops)
	b = binary.BigEndian.AppendUint16(b, uint16(min(f.limit.Milliseconds(), math.MaxUint16)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.key)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.value)))
	return append(append(b, f.key...), f.value...)
}

func readFrame(r io.Reader) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	key, value := int(binary.BigEndian.Uint16(head[4:])), int(binary.BigEndian.Uint16(head[6:]))
	if key > maxKey || value > maxRecord {
		return frame{}, fmt.Errorf("a key of %d and a record of %d bytes: at most %d and %d are taken", key, value, maxKey, maxRecord)
	}
	b := make([]byte, key+value)
	if _, err := io.ReadFull(r, b); err != nil {
		return frame{}, err
	}
	return frame{
		what: what(head[0]), hops: head[1], key: string(b[:key]), value: b[key:],
		limit: time.Duration(binary.BigEndian.Uint16(head[2:])) * time.Millisecond,
	}, nil
}

// askNearest asks the members nearest to q's key at once, but for one, and gives
// what they have answered when all are done or the time is up.
func (s *session) askNearest(ctx context.Context, q frame, without peer.ID) []frame {
	ctx, cancel := context.WithTimeout(ctx, s.settings.lookup)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var (
		asked   sync.WaitGroup
		mu      sync.Mutex
		answers []frame
	)
	for _, n := range s.nearest(q.key, without) {
		asked.Go(func() {
			a, err := s.ask(ctx, n, q)
			if err != nil {
				s.log.Debug("a member did not answer about a record", zap.String("peer", string(n.peer)), zap.Error(err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, a)
		})
	}
	asked.Wait()
	return answers
}

// ask makes one request of n; ctx must have a deadline.
func (s *session) ask(ctx context.Context, n *neighbour, q frame) (frame, error) {
	select {
	case n.asking <- struct{}{}:
		defer func() { <-n.asking }()
	case <-ctx.Done():
		return frame{}, ctx.Err()
	}
	stream, err := s.open(ctx, n.id, recordsProtocol)
	if err != nil {
		return frame{}, err
	}
	defer context.AfterFunc(ctx, func() { stream.Reset() })()
	deadline, _ := ctx.Deadline()
	q.limit = time.Until(deadline)
	a, err := converse(stream, deadline, q)
	if err != nil {
		stream.Reset()
		return frame{}, err
	}
	return a, stream.Close()
}

func converse(stream network.Stream, deadline time.Time, q frame) (frame, error) {
	if err := stream.SetDeadline(deadline); err != nil {
		return frame{}, err
	}
	if _, err := stream.Write(q.append(nil)); err != nil {
		return frame{}, err
	}
	return readFrame(stream)
}

// answer serves one request.
func (s *session) answer(stream network.Stream) {
	n := s.neighbour(stream.Conn().RemotePeer())
	if n == nil {
		stream.Reset()
		return
	}
	defer n.served.Add(-1)
	if n.served.Add(1) > maxServed {
		stream.Reset()
		return
	}
	if err := s.answerTo(n, stream); err != nil {
		s.log.Debug("a member's request about a record failed", zap.String("peer", string(n.peer)), zap.Error(err))
		stream.Reset()
	}
}

func (s *session) answerTo(n *neighbour, stream network.Stream) error {
	if err := stream.SetDeadline(time.Now().Add(s.settings.lookup)); err != nil {
		return err
	}
	q, err := readFrame(stream)
	if err != nil {
		return err
	}
	var a frame
	switch q.what {
	case getRecord:
		a = s.find(n, q)
	case putRecord:
		a.what = s.take(n, q)
	default:
		return fmt.Errorf("a request of kind %d", q.what)
	}
	if _, err := stream.Write(a.append(nil)); err != nil {
		return err
	}
	return stream.Close()
}

// find answers a get: with the record here, or else with that of a member of this
// broker where the request has a hop left. It leaves time for the answer's way.
func (s *session) find(n *neighbour, q frame) frame {
	a := s.held(q.key)
	if a.what == isFound || q.hops == 0 {
		return a
	}
	ctx, cancel := context.WithTimeout(s.ctx, q.limit*3/4)
	defer cancel()
	answers := s.askNearest(ctx, frame{what: getRecord, key: q.key}, n.id)
	if value := s.pick(q.key, answers); value != nil {
		return frame{what: isFound, value: value}
	}
	return a
}

// take answers a put.
func (s *session) take(n *neighbour, q frame) what {
	err := s.file(n.id, q.key, q.value)
	switch {
	case err == nil:
		return isKept
	case errors.Is(err, errOlder):
		return isOlder
	}
	s.log.Debug("a member's record was refused", zap.String("peer", string(n.peer)), zap.Error(err))
	return isRefused
}
