package overlay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/wire"
)

const messageProtocol = protocol.ID("/gbroker/msg/1")

// messageBuffer is the size of the buffers of a stream of messages, in bytes.
const messageBuffer = 8 << 10

// maxComplaints is how many messages of one stream may not be understood before it
// is ended.
const maxComplaints = 100

// deliver sends n's messages until ctx ends, over one stream that begins with our
// Hello. What a broken stream held is lost, but for the message being written.
func (s *session) deliver(ctx context.Context, n *neighbour) {
	out := &outbox{s: s, n: n}
	defer out.drop()
	retry := pause{s: s.settings}
	for {
		if len(n.messages) == 0 && out.flush() != nil { // what a message left that was dropped
			out.drop()
			retry.after(time.Now())
		}
		var m message
		select {
		case <-ctx.Done():
			return
		case <-n.greet: // a new connection: say hello before there is something to say
			retry = pause{s: s.settings}
			if out.open(ctx) != nil {
				out.drop()
			}
			continue
		case m = <-n.messages:
		}
		if time.Since(m.at) > s.settings.messageAge || time.Now().Before(retry.next) {
			continue
		}
		err := out.write(ctx, m.m)
		if err != nil && ctx.Err() == nil && !encodeFailed(err) {
			out.drop()
			err = out.write(ctx, m.m)
		}
		if err != nil {
			s.log.Debug("a message was not sent", zap.String("peer", string(n.peer)), zap.Stringer("kind", m.m.Kind()), zap.Error(err))
			if !encodeFailed(err) {
				out.drop()
				retry.after(time.Now())
			}
			continue
		}
		retry = pause{s: s.settings}
	}
}

// outbox is the stream on which messages go out.
type outbox struct {
	s      *session
	n      *neighbour
	stream network.Stream
	w      *bufio.Writer
}

// unencodable marks a message that no stream can carry.
type unencodable struct{ error }

func (u unencodable) Unwrap() error { return u.error }

func encodeFailed(err error) bool {
	var u unencodable
	return errors.As(err, &u)
}

// open makes sure of a stream to the connection that stands now.
func (o *outbox) open(ctx context.Context) error {
	if o.stream != nil && !o.stream.Conn().IsClosed() {
		return nil
	}
	o.drop()
	ctx, cancel := context.WithTimeout(ctx, o.s.settings.write)
	defer cancel()
	stream, err := o.s.open(ctx, o.n.id, messageProtocol)
	if err != nil {
		return fmt.Errorf("opening the stream of messages: %w", err)
	}
	o.stream, o.w = stream, bufio.NewWriterSize(stream, messageBuffer)
	if err := o.put(o.s.config.Hello()); err != nil {
		return err
	}
	return o.flush()
}

// write sends m, and leaves it in the buffer while more messages wait.
func (o *outbox) write(ctx context.Context, m wire.Message) error {
	if err := o.open(ctx); err != nil {
		return err
	}
	if err := o.put(m); err != nil {
		return err
	}
	if len(o.n.messages) > 0 {
		return nil
	}
	return o.flush()
}

func (o *outbox) put(m wire.Message) error {
	frame := frameWriter{w: o.w}
	if err := o.stream.SetWriteDeadline(time.Now().Add(o.s.settings.write)); err != nil {
		return err
	}
	err := wire.WriteFrame(&frame, m)
	if err != nil && !frame.tried {
		return unencodable{err}
	}
	return err
}

func (o *outbox) flush() error {
	if o.w == nil || o.w.Buffered() == 0 {
		return nil
	}
	if err := o.stream.SetWriteDeadline(time.Now().Add(o.s.settings.write)); err != nil {
		return err
	}
	return o.w.Flush()
}

func (o *outbox) drop() {
	if o.stream != nil {
		o.stream.Reset()
		o.stream, o.w = nil, nil
	}
}

// frameWriter tells a failure to encode from a failure to write.
type frameWriter struct {
	w     io.Writer
	tried bool
}

func (f *frameWriter) Write(b []byte) (int, error) {
	f.tried = true
	return f.w.Write(b)
}

// receive reads one stream of messages until it ends. A newer stream of the same
// peer ends the older one, and begins after it.
func (s *session) receive(stream network.Stream) {
	defer stream.Reset()
	n := s.neighbour(stream.Conn().RemotePeer())
	if n == nil {
		return
	}
	n.mu.Lock()
	if n.incoming != nil {
		n.incoming.Reset()
	}
	n.incoming = stream
	n.mu.Unlock()
	n.inbound.Lock()
	defer n.inbound.Unlock()
	err := s.readMessages(n, stream)
	n.mu.Lock()
	if n.incoming == stream {
		n.incoming = nil
	}
	n.mu.Unlock()
	if err != nil && !errors.Is(err, io.EOF) && s.ctx.Err() == nil {
		s.log.Debug("a stream of messages ended", zap.String("peer", string(n.peer)), zap.Error(err))
	}
}

func (s *session) readMessages(n *neighbour, stream network.Stream) error {
	r := bufio.NewReaderSize(stream, messageBuffer)
	if err := stream.SetReadDeadline(time.Now().Add(s.settings.hello)); err != nil {
		return err
	}
	greeted, complaints := false, 0
	for {
		m, err := wire.ReadFrame(r)
		if s.neighbour(n.id) != n {
			return errNoMember
		}
		if answer, ok := wire.Complaint(err); ok && complaints < maxComplaints {
			complaints++
			s.sparingly(s.complaints, "message "+string(n.peer), "a message was not understood", zap.String("peer", string(n.peer)), zap.Error(err))
			s.complain(n, answer)
			continue
		}
		if err != nil {
			return err
		}
		switch hello, is := m.(wire.Hello); {
		case is:
			if err := s.greeted(n, hello); err != nil {
				return err
			}
			if err := stream.SetReadDeadline(time.Time{}); err != nil {
				return err
			}
			greeted = true
		case !greeted:
			s.complain(n, wire.Error{Of: m.Kind(), Why: "a stream begins with Hello"})
			return errors.New("the stream did not begin with Hello")
		default:
			s.config.Receive(n.peer, m)
		}
	}
}

func (s *session) greeted(n *neighbour, hello wire.Hello) error {
	if s.config.HelloFrom == nil {
		return nil
	}
	if err := s.config.HelloFrom(n.peer, hello); err != nil {
		s.sparingly(s.complaints, "hello "+string(n.peer), "a member was refused", zap.String("peer", string(n.peer)), zap.Error(err))
		s.complain(n, wire.Error{Of: wire.KindHello, Why: err.Error()})
		return fmt.Errorf("its hello was refused: %w", err)
	}
	return nil
}

// complain answers with an Error, if there is room for it.
func (s *session) complain(n *neighbour, e wire.Error) {
	if err := s.send(n, e); err != nil {
		s.log.Debug("a complaint was not sent", zap.String("peer", string(n.peer)), zap.Error(err))
	}
}

// send queues m for n.
func (s *session) send(n *neighbour, m wire.Message) error {
	if connected, _, _ := n.connection(); !connected {
		return fmt.Errorf("sending %v to %s: no connection: %w", m.Kind(), n.peer, grid.ErrUnavailable)
	}
	select {
	case n.messages <- message{time.Now(), m}:
		return nil
	default:
		return fmt.Errorf("sending %v to %s: %d messages wait already: %w", m.Kind(), n.peer, maxMessages, grid.ErrUnavailable)
	}
}
