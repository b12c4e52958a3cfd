package overlay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gbroker/grid"
)

// A stranger holds more connections open than a broker has places for, and opens each
// again that is closed. A member that comes from the same address is heard all the
// same, and the stranger keeps but a few places.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	a, b := newBroker(t, "a"), newBroker(t, "b")
	a.start(b.as())
	address, err := ma.NewMultiaddr(a.over.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	_, at, err := manet.DialArgs(address)
	if err != nil {
		t.Fatal(err)
	}
	held := newIdle(t, at, 300)
	eventually(t, "the stranger has come", func() bool { return held.opened.Load() >= 300 })
	began := time.Now()
	b.start(a.as())
	a.sees(b, grid.Alive)
	b.sees(a, grid.Alive)
	if took := time.Since(began); took > patience/6 {
		t.Errorf("it took %s", took)
	}
	eventually(t, "the stranger's connections are closed but for a few", func() bool {
		return held.closed.Load() >= 300-maxOfAddress
	})
}

// A member's connection has left the door, and the door knows then where it is.
func TestMemberAtTheDoor(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for _, x := range []*broker{a, b} {
		s := x.over.current.Load()
		s.door.mu.Lock()
		if n := s.door.callers.Len(); n > 0 {
			t.Errorf("at the door of %s are still %d", x.name, n)
		}
		s.door.mu.Unlock()
		if !s.gate.knows(netip.MustParsePrefix("127.0.0.1/32")) {
			t.Errorf("%s does not know where its member is", x.name)
		}
	}
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	r, err := checkMembers("", []grid.Member{{Name: "c", Peer: PeerIDOf(key), Addresses: []string{"/ip4/192.0.2.7/tcp/1", "/dns4/c.example.org/tcp/1"}}})
	if err != nil {
		t.Fatal(err)
	}
	g.setMembers(r)
	for at, want := range map[string]bool{"192.0.2.7/32": true, "192.0.2.8/32": false} {
		if g.knows(netip.MustParsePrefix(at)) != want {
			t.Errorf("a member at %s: %t", at, !want)
		}
	}
	if g.knows(netip.Prefix{}) {
		t.Error("a member is known to be nowhere")
	}
}

// idle is a crowd of connections on which nothing is said.
type idle struct{ opened, closed atomic.Int64 }

func newIdle(t *testing.T, at string, crowd int) *idle {
	held, done := &idle{}, make(chan struct{})
	ended := make(chan struct{}, crowd)
	for range crowd {
		go func() {
			defer func() { ended <- struct{}{} }()
			again := time.NewTicker(time.Second)
			defer again.Stop()
			for {
				if c, err := net.Dial("tcp", at); err == nil {
					held.opened.Add(1)
					stop := make(chan struct{})
					go func() {
						select {
						case <-done:
						case <-stop:
						}
						c.Close()
					}()
					io.Copy(io.Discard, c) // until it is closed: the broker speaks first
					close(stop)
					held.closed.Add(1)
				}
				select {
				case <-done:
					return
				case <-again.C:
				}
			}
		}()
	}
	t.Cleanup(func() {
		close(done)
		for range crowd {
			<-ended
		}
	})
	return held
}

// from is a connection from an address, that notes when it is closed.
type from struct {
	manet.Conn
	address ma.Multiaddr
	closed  bool
}

func (f *from) RemoteMultiaddr() ma.Multiaddr { return f.address }
func (f *from) Close() error {
	if f.closed {
		return errors.New("closed twice")
	}
	f.closed = true
	return nil
}

// Whom does the door let go, and when?
func TestDoor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		member := netip.MustParsePrefix("192.0.2.1/32")
		d := newDoor(time.Second, func(at netip.Prefix) bool { return at == member })
		var all []*from
		come := func(address string, n int) (last *caller) {
			for range n {
				f := &from{address: ma.StringCast(address + "/tcp/1")}
				all = append(all, f)
				last = d.enter(f)
			}
			return last
		}
		gone := func() (list []int) {
			for i, f := range all {
				if f.closed {
					list = append(list, i)
				}
			}
			return list
		}
		upTo := func(n int) (list []int) {
			for i := range n {
				list = append(list, i)
			}
			return list
		}
		expect := func(what string, want []int) {
			t.Helper()
			if got := gone(); !slices.Equal(got, want) {
				t.Errorf("%s: gone are %v, want %v", what, got, want)
			}
		}
		come("/ip4/127.0.0.1", maxOfAddress)
		expect("an address has its fill", nil)
		come("/ip4/127.0.0.1", 2)
		expect("an address wants more than its fill", upTo(2))
		come("/ip6/2001:db8::1", maxOfAddress/2)
		come("/ip6/2001:db8::2", maxOfAddress/2)
		come("/ip6/2001:db8::3", 1)
		expect("one network has its fill", append(upTo(2), maxOfAddress+2))
		come("/ip4/192.0.2.1", maxOfAddress)
		before := gone()
		come("/ip4/192.0.2.9", 1)
		if got := gone(); len(got) != len(before)+1 || !all[2].closed {
			t.Errorf("all places are taken: gone are %v after %v", got, before)
		}
		for i := range 40 {
			come(fmt.Sprintf("/ip4/192.0.3.%d", i), maxOfAddress/4)
		}
		if i := slices.IndexFunc(all, func(f *from) bool { return f.closed && f.address.Equal(ma.StringCast("/ip4/192.0.2.1/tcp/1")) }); i >= 0 {
			t.Errorf("number %d, of a member's address, went before the strangers", i)
		}
		if got := d.callers.Len(); got != maxCallers {
			t.Errorf("%d are at the door, want %d", got, maxCallers)
		}

		last := come("/ip4/192.0.2.1", 1)
		last.leave() // it has said who it is
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(all) - len(gone()); n != 1 || all[len(all)-1].closed {
			t.Errorf("after the limit %d are left", n)
		}
		if d.callers.Len() != 0 || len(d.from) != 0 {
			t.Errorf("at the door are %d of %v", d.callers.Len(), d.from)
		}
	})
}
