package pool

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of arrivals. A fleet that comes back at once is let in as fast as its handshakes are done: many that wait inside take memory, and many
// outside none. Strangers who begin and say nothing hold up each of the others by the pause alone.
const (
	maxArriving  = 128
	arrivalPause = 4 * time.Millisecond
)

// arrivals is a listener whose connections come in a few at a time.
type arrivals struct {
	net.Listener
	mu   sync.Mutex
	at   map[net.Conn]struct{} // that have said nothing yet
	room chan struct{}
}

func newArrivals(l net.Listener) *arrivals {
	return &arrivals{Listener: l, at: map[net.Conn]struct{}{}, room: make(chan struct{}, 1)}
}

// Accept waits while many arrive, but not for long.
func (a *arrivals) Accept() (net.Conn, error) {
	if a.crowded() {
		select {
		case <-a.room:
		case <-time.After(arrivalPause):
		}
	}
	return a.Listener.Accept()
}

func (a *arrivals) crowded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at) >= maxArriving
}

// note is told of each connection how far it is.
func (a *arrivals) note(c net.Conn, state http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if state == http.StateNew {
		a.at[c] = struct{}{}
		return
	}
	if _, is := a.at[c]; !is {
		return
	}
	delete(a.at, c)
	select {
	case a.room <- struct{}{}:
	default:
	}
}
