package servers

import (
	"io"
	"net"
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
	closed  atomic.Bool
}

// StartProxy stands before an address until the test ends.
func StartProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	p := &Proxy{Address: l.Addr().String(), to: to}
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

// Close breaks all new connections at once, until Open.
func (p *Proxy) Close() { p.closed.Store(true) }

// Open lets new connections pass.
func (p *Proxy) Open() { p.closed.Store(false) }

func (p *Proxy) pass(c net.Conn) {
	defer c.Close()
	if p.closed.Load() {
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
