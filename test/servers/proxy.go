package servers

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy passes connections on to a server, and may break them.
type Proxy struct {
	Address string
	Passed  atomic.Int64 // bytes of answers
	Tried   atomic.Int64 // connections, also those that it broke
	to      string
	after   atomic.Int64
	cuts    atomic.Int64
	mu      sync.Mutex
	closed  bool
	open    map[net.Conn]bool
}

// StartProxy stands before an address until the test ends.
func StartProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	p := &Proxy{Address: l.Addr().String(), to: to, open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.Tried.Add(1)
			go p.pass(c)
		}
	}()
	return p
}

// Cut breaks so many connections, each after some bytes of answers.
func (p *Proxy) Cut(connections int, after int64) {
	p.after.Store(after)
	p.cuts.Store(int64(connections))
}

// Close breaks all connections, and new ones at once, until Open.
func (p *Proxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
}

// Open lets new connections pass.
func (p *Proxy) Open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

// admit counts a connection among those that pass, unless none does.
func (p *Proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	return !p.closed
}

func (p *Proxy) leave(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	c.Close()
}

func (p *Proxy) pass(c net.Conn) {
	defer p.leave(c)
	if !p.admit(c) {
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		io.Copy(up, c)
		up.Close()
	}()
	most := int64(1 << 50)
	if p.cuts.Add(-1) >= 0 {
		most = p.after.Load()
	}
	n, _ := io.Copy(c, io.LimitReader(up, most))
	p.Passed.Add(n)
}
