package netmon

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// shaped is a way of a given rate (bytes per second) and delay, each direction.
type shaped struct {
	mu    sync.Mutex
	rate  float64
	delay time.Duration
	sent  int64 // bytes written by the dialling side
}

func (s *shaped) setRate(r float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate = r
}

func (s *shaped) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// pair makes the two ends of a connection over s.
func (s *shaped) pair() (dialled, served net.Conn) {
	there, back := newLane(), newLane()
	return &end{way: s, out: there, in: back, counted: true}, &end{way: s, out: back, in: there}
}

type chunk struct {
	data   []byte
	arrive time.Time
}

// lane is one direction.
type lane struct {
	mu      sync.Mutex
	queue   []chunk
	free    time.Time // when the wire is free again
	closed  bool
	changed chan struct{} // closed and renewed at each change
}

func newLane() *lane { return &lane{changed: make(chan struct{})} }

func (l *lane) signal() { // under mu
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.signal()
	}
}

type end struct {
	way     *shaped
	out, in *lane
	counted bool

	mu       sync.Mutex
	deadline time.Time
}

func (e *end) limit() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deadline
}

// wait waits for changed, or until t (unless zero) or the deadline.
func (e *end) wait(changed chan struct{}, t time.Time) error {
	d := e.limit()
	if !d.IsZero() && !time.Now().Before(d) {
		return os.ErrDeadlineExceeded
	}
	if t.IsZero() || !d.IsZero() && d.Before(t) {
		t = d
	}
	var timer <-chan time.Time
	if !t.IsZero() {
		timer = time.After(time.Until(t))
	}
	select {
	case <-changed:
	case <-timer:
	}
	return nil
}

func (e *end) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		piece := p[done:min(len(p), done+16<<10)]
		e.way.mu.Lock()
		rate, delay := e.way.rate, e.way.delay
		if e.counted {
			e.way.sent += int64(len(piece))
		}
		e.way.mu.Unlock()
		l := e.out
		l.mu.Lock()
		start := later(time.Now(), l.free)
		l.free = start.Add(time.Duration(float64(len(piece)) / rate * float64(time.Second)))
		free := l.free
		l.queue = append(l.queue, chunk{append([]byte(nil), piece...), free.Add(delay)})
		l.signal()
		l.mu.Unlock()
		for time.Now().Before(free) {
			l.mu.Lock()
			changed, closed := l.changed, l.closed
			l.mu.Unlock()
			if closed {
				return done, io.ErrClosedPipe
			}
			if err := e.wait(changed, free); err != nil {
				return done, err
			}
		}
		done += len(piece)
	}
	return len(p), nil
}

func (e *end) Read(p []byte) (int, error) {
	l := e.in
	for {
		l.mu.Lock()
		if len(l.queue) > 0 && !time.Now().Before(l.queue[0].arrive) {
			n := copy(p, l.queue[0].data)
			if l.queue[0].data = l.queue[0].data[n:]; len(l.queue[0].data) == 0 {
				l.queue = l.queue[1:]
			}
			l.mu.Unlock()
			return n, nil
		}
		var at time.Time
		if len(l.queue) > 0 {
			at = l.queue[0].arrive
		} else if l.closed {
			l.mu.Unlock()
			return 0, io.EOF
		}
		changed := l.changed
		l.mu.Unlock()
		if err := e.wait(changed, at); err != nil {
			return 0, err
		}
	}
}

func (e *end) Close() error {
	e.out.close()
	e.in.close()
	return nil
}

func (e *end) SetDeadline(t time.Time) error {
	e.mu.Lock()
	e.deadline = t
	e.mu.Unlock()
	for _, l := range []*lane{e.in, e.out} {
		l.mu.Lock()
		l.signal()
		l.mu.Unlock()
	}
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error  { return e.SetDeadline(t) }
func (e *end) SetWriteDeadline(t time.Time) error { return e.SetDeadline(t) }
func (e *end) LocalAddr() net.Addr                { return nil }
func (e *end) RemoteAddr() net.Addr               { return nil }
