package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Each site has a network of its own, with nothing in it but loopback. Site j is
// 127.0.0.1:PORT(j) everywhere: in its own network its broker listens there, in that of each
// site that may speak to it a relay of ours does, and carries what comes into j's network.
// So a broker cannot find a way around a relay, whatever addresses it learns.
//
//	network of i                          network of j
//	broker i ─► 127.0.0.1:PORT(j) relay ──► 127.0.0.1:PORT(j) broker j

// network is the network namespace of one site; it lasts as long as something uses it.
type network struct{ ns *os.File }

func newNetwork() (*network, error) {
	type made struct {
		n   *network
		err error
	}
	c := make(chan made)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		n, err := unshareNetwork()
		c <- made{n, err}
	}()
	m := <-c
	return m.n, m.err
}

func unshareNetwork() (*network, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("making the network of a site: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("making the network of a site: %w", err)
	}
	ns, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("keeping the network of a site: %w", err)
	}
	return &network{ns}, nil
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// in runs f on a thread of its own in the network: sockets that it makes and
// processes that it starts stay there. A nil network is that of this process.
func (n *network) in(f func() error) error {
	if n == nil {
		return f()
	}
	c := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever, as the thread is of no more use
		if err := unix.Setns(int(n.ns.Fd()), unix.CLONE_NEWNET); err != nil {
			c <- fmt.Errorf("entering the network of a site: %w", err)
			return
		}
		c <- f()
	}()
	return <-c
}

func (n *network) close() {
	if n != nil {
		n.ns.Close()
	}
}

// severity is how a way between two sites is cut.
type severity int

const (
	whole  severity = iota // it is not
	silent                 // nothing is carried, either way; connections stand
	oneWay                 // as silent, but what the first of the two sends arrives
	broken                 // connections are closed, new ones too
)

func (s severity) String() string { return [...]string{"whole", "silent", "one way", "broken"}[s] }

// way is what two sites say to each other, over relays for both directions.
type way struct {
	a, b string

	mu    sync.Mutex
	is    severity
	again chan struct{} // closed when it is set anew
	conns map[*carried]bool
}

// carried is one connection through a relay: both its halves, once there are two.
type carried struct {
	gone chan struct{}

	mu     sync.Mutex
	halves []net.Conn
	closed bool
}

// add takes a half; false if all is over, and the half then closed.
func (c *carried) add(half net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		half.Close()
		return false
	}
	c.halves = append(c.halves, half)
	return true
}

func (c *carried) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.gone)
	for _, half := range c.halves {
		half.Close()
	}
}

func newWay(a, b string) *way {
	return &way{a: a, b: b, again: make(chan struct{}), conns: map[*carried]bool{}}
}

// set cuts the way, or makes it whole again.
func (w *way) set(s severity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.is = s
	close(w.again)
	w.again = make(chan struct{})
	if s == broken {
		for c := range w.conns {
			c.close()
		}
	}
}

// pass waits until what from sends is carried; false if the connection ended meanwhile.
func (w *way) pass(c *carried, from string) bool {
	for {
		w.mu.Lock()
		s, again := w.is, w.again
		w.mu.Unlock()
		if s == whole || s == broken || s == oneWay && from == w.a {
			return true
		}
		select {
		case <-again:
		case <-c.gone:
			return false
		}
	}
}

// relay listens in the network of one site for another and carries what comes, until ctx is done.
type relay struct {
	way      *way
	from, to string
	address  string // of the other
	target   *network
	listener net.Listener
}

func newRelay(w *way, from, to string, here, there *network, address string) (*relay, error) {
	r := &relay{way: w, from: from, to: to, address: address, target: there}
	err := here.in(func() (err error) {
		r.listener, err = net.Listen("tcp", address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the relay from %s to %s: %w", from, to, err)
	}
	return r, nil
}

// run returns after all its connections are closed.
func (r *relay) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { r.listener.Close() })
	defer stop()
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		c := &carried{gone: make(chan struct{}), halves: []net.Conn{conn}}
		end := context.AfterFunc(ctx, c.close)
		all.Go(func() {
			defer end()
			r.carry(c, conn)
		})
	}
}

func (r *relay) carry(c *carried, near net.Conn) {
	defer c.close()
	r.way.mu.Lock()
	refuse := r.way.is == broken
	if !refuse {
		r.way.conns[c] = true
	}
	r.way.mu.Unlock()
	if refuse {
		return
	}
	defer func() {
		r.way.mu.Lock()
		delete(r.way.conns, c)
		r.way.mu.Unlock()
	}()
	if !r.way.pass(c, r.from) {
		return
	}
	far, err := r.dial()
	if err != nil || !c.add(far) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { r.copy(c, far, near, r.from) })
	both.Go(func() { r.copy(c, near, far, r.to) })
	both.Wait()
}

// dialPatience is how long a broker that is stopped may leave a connection waiting.
const dialPatience = 5 * time.Second

func (r *relay) dial() (far net.Conn, err error) {
	err = r.target.in(func() (err error) {
		far, err = net.DialTimeout("tcp", r.address, dialPatience)
		return err
	})
	return far, err
}

// copy carries one direction; the end of either ends both.
func (r *relay) copy(c *carried, dst, src net.Conn, from string) {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := src.Read(buffer)
		if n > 0 {
			if !r.way.pass(c, from) {
				return
			}
			if _, err := dst.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
