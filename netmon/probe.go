package netmon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

const (
	pings      = 3
	arrived    = 6 // the answer to a message
	headSize   = 4
	pieceSize  = 64 << 10
	pingLimit  = 10 * time.Second // for opening and pings, at most
	turnLimit  = 2 * time.Second  // for the same of who did not fail before; others wait for it
	cutFactor  = 4                // a message is cut after so many times what it was to take
	batchShare = 10               // sizes due within Interval/batchShare are probed together
)

// noise is what messages are made of.
var noise = sync.OnceValue(func() []byte {
	b := make([]byte, pieceSize)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
})

// errShared is why a measurement does not count.
var errShared = errors.New("files or other probes were on the way too")

// round opens a stream and probes all sizes that are due, when no other link is probed. All its time counts as cost. What shared its
// way does not count, unless anyway. Who cannot be reached holds up the others for opening at most.
func (m *Monitor) round(ctx context.Context, l *link, anyway bool, opening time.Duration) error {
	select {
	case <-m.turn:
		defer func() { m.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if alive, _ := m.due(l); !alive {
		return nil
	}
	if !anyway && m.shared(l.peer) {
		return errShared
	}
	start := time.Now()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		now := time.Now()
		l.way.seconds.spend(now, now.Sub(start).Seconds())
	}()
	pctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	c, err := m.cfg.Dialer.Open(pctx, l.peer, Protocol)
	if err != nil {
		return fmt.Errorf("open a probe stream: %w", err)
	}
	defer c.Close()
	p := &prober{c: c}
	defer context.AfterFunc(ctx, p.end)()
	rtt, err := p.roundTrip(start.Add(opening))
	if err != nil {
		return fmt.Errorf("measure the round trip: %w", err)
	}
	m.mu.Lock()
	l.way.rtt.add(time.Now(), rtt.Seconds(), nil)
	m.mu.Unlock()
	return m.sizes(ctx, l, p, start, anyway)
}

// sizes probes what is due and affordable, counting what this round has taken so far.
func (m *Monitor) sizes(ctx context.Context, l *link, p *prober, start time.Time, anyway bool) error {
	for ctx.Err() == nil {
		now := time.Now()
		size, limit, ok := m.choose(l, now, now.Sub(start))
		if !ok {
			return nil
		}
		d, tail, err := m.deliver(ctx, l.peer, p, size, now.Add(limit))
		if !anyway && m.shared(l.peer) {
			return errShared
		}
		if cut := errors.Is(err, os.ErrDeadlineExceeded); err == nil || cut && ctx.Err() == nil {
			// A probe that was cut has been slower than this.
			m.mu.Lock()
			l.way.note(time.Now(), size, d)
			if tail > 0 {
				l.way.noteTail(time.Now(), size, tail)
			}
			m.mu.Unlock()
			m.tell(l) // a decision need not wait for the larger sizes
		}
		if err != nil {
			return fmt.Errorf("send %d bytes: %w", size, err)
		}
	}
	return nil
}

// choose takes the next size from a link's account, if it is due by now or soon, and
// affordable after the time that the round has taken already; limit is when to give it up.
func (m *Monitor) choose(l *link, now time.Time, taken time.Duration) (size int64, limit time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := l.way
	k, at, ok := w.next(now)
	if !ok || !l.alive || at.After(now.Add(m.cfg.Interval/batchShare)) {
		return 0, 0, false
	}
	size = m.cfg.Sizes[k]
	if size >= opening && now.Before(w.cold) {
		return 0, 0, false
	}
	seconds := w.seconds
	seconds.spend(now, taken.Seconds())
	if seconds.when(now, w.expense(now, k)).After(now) || w.gauges[k].bytes.when(now, float64(size)).After(now) {
		return 0, 0, false
	}
	w.gauges[k].bytes.spend(now, float64(size+headSize))
	return size, w.limitOf(now, k), true
}

// prober is the measuring end of a stream.
type prober struct {
	c  net.Conn
	mu sync.Mutex
	// ended tells that the context is done: no deadline is set any more.
	ended bool
}

// end frees whoever reads or writes.
func (p *prober) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.c.SetDeadline(time.Unix(1, 0))
	p.c.Close()
}

func (p *prober) deadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.c.SetDeadline(t)
	}
}

// roundTrip is the least of a few round trips. The first is not counted: it may still
// carry the opening of the stream.
func (p *prober) roundTrip(deadline time.Time) (time.Duration, error) {
	var best time.Duration
	for i := range 1 + pings {
		d, err := p.send(0, deadline)
		if err != nil {
			return 0, err
		}
		if i == 1 || i > 1 && d < best {
			best = d
		}
	}
	return max(best, time.Microsecond), nil
}

// send sends one message and returns the time until its answer is here.
func (p *prober) send(size int64, deadline time.Time) (time.Duration, error) {
	p.deadline(deadline)
	start := time.Now()
	err := p.write(size)
	if err == nil {
		err = p.answered()
	}
	return time.Since(start), err
}

// write writes a message.
func (p *prober) write(size int64) error {
	data := noise()
	head := make([]byte, headSize, headSize+pieceSize)
	binary.BigEndian.PutUint32(head, uint32(size))
	n := min(size, pieceSize)
	if _, err := p.c.Write(append(head, data[:n]...)); err != nil {
		return err
	}
	for left := size - n; left > 0; left -= n {
		n = min(left, pieceSize)
		if _, err := p.c.Write(data[:n]); err != nil {
			return err
		}
	}
	return nil
}

// answered waits for the answer to a message.
func (p *prober) answered() error {
	var answer [1]byte
	if _, err := io.ReadFull(p.c, answer[:]); err != nil {
		return err
	}
	if answer[0] != arrived {
		return fmt.Errorf("the answer is %d instead of %d", answer[0], arrived)
	}
	return nil
}
