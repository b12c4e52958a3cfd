package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"gbroker/grid"
)

// unheard is an address that is taken, and at which nobody listens.
func unheard(t *testing.T) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", at.(*syscall.SockaddrInet4).Port)
}

// noBroker is where a program answers that is none.
func noBroker(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", s.Listener.Addr().(*net.TCPAddr).Port)
}

// A code works once: it makes its bearer known with name and addresses, whose port is tried. A used code, one of another
// key, and a port where nobody listens are told apart.
func TestInvitation(t *testing.T) {
	t.Parallel()
	host, guest := newBroker(t, "host"), newBroker(t, "guest")
	var mu sync.Mutex
	var open []GridKey
	var came []grid.Member
	c := host.config()
	c.Invitations = func() []GridKey {
		mu.Lock()
		defer mu.Unlock()
		return open
	}
	c.Admit = func(secret GridKey, m grid.Member) error {
		defer host.over.current.Load().dropGuests(func(network.Conn) bool { return false }) // the code is used, and its answer under way
		mu.Lock()
		defer mu.Unlock()
		if len(open) == 0 || open[0] != secret {
			return errors.New("the code was used already")
		}
		open, came = nil, append(came, m)
		return nil
	}
	host.run(c)
	i := NewInvitation("host", host.peer(), host.where, time.Now().Add(time.Hour))
	open = []GridKey{i.Secret}
	code, err := i.Code()
	if err != nil {
		t.Fatal(err)
	}
	if i, err = ParseInvitation(code); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	here := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)
	defer l.Close()
	joined, err := Join(t.Context(), guest.key, i, "guest", []string{here})
	if err != nil || joined.Undialled || joined.Port != "" || joined.Ahead.Abs() > 5*time.Second {
		t.Fatalf("joining: %+v, %v", joined, err)
	}
	if len(came) != 1 || came[0].Name != "guest" || came[0].Peer != guest.peer() || came[0].Addresses[0] != here {
		t.Fatalf("who came is %+v", came)
	}
	if _, err := Join(t.Context(), newBroker(t, "second").key, i, "second", nil); err == nil || len(came) != 1 || !strings.Contains(err.Error(), "used already") {
		t.Errorf("a used code: %v, %+v", err, came)
	}
	old := i
	old.Until = time.Now().Add(-time.Minute).Unix()
	if _, err := Join(t.Context(), newBroker(t, "late").key, old, "late", nil); err == nil || !strings.Contains(err.Error(), "good until") {
		t.Errorf("an old code: %v", err)
	}

	again := NewInvitation("host", host.peer(), host.where, time.Now().Add(time.Hour))
	mu.Lock()
	open = []GridKey{again.Secret}
	mu.Unlock()
	here = unheard(t)
	if joined, err = Join(t.Context(), newBroker(t, "shut").key, again, "shut", []string{here}); err != nil || !joined.Undialled || !strings.Contains(joined.Trouble(), "firewall") {
		t.Errorf("a site that cannot be dialled: %+v, %v", joined, err)
	}
	other := again
	other.Peer = guest.peer()
	if _, err := Join(t.Context(), newBroker(t, "third").key, other, "third", nil); err == nil || !strings.Contains(err.Error(), "key: ") {
		t.Errorf("another key answers: %v", err)
	}
	other = again
	other.Addresses = []string{here}
	if _, err := Join(t.Context(), newBroker(t, "fourth").key, other, "fourth", nil); err == nil || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("nobody listens: %v", err)
	}
	other.Addresses = []string{noBroker(t)}
	if _, err := Join(t.Context(), newBroker(t, "fifth").key, other, "fifth", nil); err == nil || !strings.Contains(err.Error(), "no broker") {
		t.Errorf("something else answers: %v", err)
	}
	for ahead, want := range map[time.Duration]string{time.Minute: "1m0s ahead of", -time.Minute: "1m0s behind"} {
		if text := (Joined{Ahead: ahead}).Trouble(); !strings.Contains(text, "clock: ") || !strings.Contains(text, want) || !strings.Contains(text, "NTP") {
			t.Errorf("a clock that is %v ahead: %q", ahead, text)
		}
	}
	for _, bad := range []string{"", "x", "e30"} {
		if _, err := ParseInvitation(bad); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q is taken for a code: %v", bad, err)
		}
	}
}

// A port that takes connections, as the kernel does for a process that is stopped, is no matter of a firewall.
func TestAStoppedBrokerIsNoFirewall(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, err := manet.FromNetAddr(l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{at.String(): "takes connections", "/ip4/127.0.0.1/tcp/1": "firewall"} {
		err := atFault(t.Context(), errors.New("context deadline exceeded"), Invitation{Site: "host", Addresses: []string{address}})
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What keeps the inviting site from being reached is told in one line with the way out; what the libraries say stays inside.
func TestJoinNamesWhatIsAtFault(t *testing.T) {
	t.Parallel()
	i := Invitation{Site: "host", Addresses: []string{"/ip4/192.0.2.1/tcp/1"}}
	for text, want := range map[string]string{
		"dial tcp4 192.0.2.1:1: connect: connection refused":                           "gbroker status",
		"dial tcp4 192.0.2.1:1: i/o timeout":                                           "firewall: nothing answers",
		"context deadline exceeded":                                                    "firewall: nothing answers",
		"failed to negotiate security protocol: context deadline exceeded":             "says nothing",
		"dial tcp4 192.0.2.1:1: connect: no route to host":                             "network: there is no way",
		"dial tcp4 192.0.2.1:1: connect: network is unreachable":                       "network: there is no way",
		"failed to dial: no good addresses":                                            "address: the names",
		"failed to negotiate security protocol: message did not have trailing newline": "is no broker",
	} {
		inner := errors.New("failed to dial: all dials failed\n  * " + text)
		err := atFault(t.Context(), inner, i)
		if !errors.Is(err, inner) || !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), i.Addresses[0]) || strings.Contains(err.Error(), "dial") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for until, want := range map[time.Duration]string{time.Hour: "used already", -time.Hour: "code or clock"} {
		i.Until = time.Now().Add(until).Unix()
		if err := i.unfit(errors.New("stream reset")); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "gbroker invite") || !strings.Contains(err.Error(), "NTP") || strings.Contains(err.Error(), "reset") {
			t.Errorf("a code that is good for %v: %v", until, err)
		}
	}
	for inner, want := range map[error]string{syscall.ECONNREFUSED: "nothing listens", syscall.ETIMEDOUT: "a firewall drops", syscall.EHOSTUNREACH: "no way"} {
		if text := shut("/ip4/192.0.2.1/tcp/1", &net.OpError{Op: "dial", Err: inner}); !strings.Contains(text, want) || strings.Contains(text, "dial") {
			t.Errorf("%v: %s", inner, text)
		}
	}
}

// Who shows the secret of an invitation that stands may be connected, to join: he speaks neither the DHT nor anything else.
func TestInvitedIsNoGuest(t *testing.T) {
	t.Parallel()
	secret := NewGridKey()
	host, invited := newBroker(t, "host"), newBroker(t, "invited")
	c := host.config()
	c.GridKey, c.Invitations = NewGridKey(), func() []GridKey { return []GridKey{secret} }
	host.run(c)
	c = invited.config()
	c.GridKey = secret
	invited.run(c)
	if err := invited.over.SetMembers([]grid.Member{host.as()}); err != nil {
		t.Fatal(err)
	}
	id, err := peer.Decode(string(host.peer()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "who is invited is connected", func() bool { return len(invited.over.current.Load().host.Network().ConnsToPeer(id)) > 0 })
	if speaksRecords(t, invited, host) {
		t.Error("who is invited speaks the DHT")
	}
	speaksNothingElse(t, invited, host)
}

// Who is invited has no ports of others looked at: only his own are tried, and few of them.
func TestPortsOfTheInvited(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)
	const shut = "/ip4/127.0.0.1/tcp/1"
	own, other := netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("192.0.2.1/32")
	for _, c := range []struct {
		addresses []string
		at        netip.Prefix
		why       string
	}{
		{nil, own, ""},
		{[]string{open}, own, ""},
		{[]string{shut, open}, own, ""},
		{[]string{"/ip4/192.0.2.1/tcp/1", open}, own, ""},
		{[]string{open}, other, "is not tried"},
		{slices.Repeat([]string{shut}, maxPorts+1), own, "refused"},
		{append(slices.Repeat([]string{shut}, maxPorts), open), own, "refused"},
	} {
		why := tryPorts(t.Context(), c.addresses, c.at)
		if (why == nil) != (c.why == "") || why != nil && !strings.Contains(why.Error(), c.why) {
			t.Errorf("%v from %v: %v, want %q", c.addresses, c.at, why, c.why)
		}
	}
}

// What became of one who joins is told by a number, whatever the texts are; a broker of before has only them, and reads only them.
func TestOutcomeOfAJoin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]outcome{
		`{"outcome":1,"clock":7}`:                admitted,
		`{"outcome":2}`:                          undialled,
		`{"outcome":3}`:                          notAdmitted,
		`{"outcome":1,"why":"but","port":"and"}`: admitted,
		`{"why":"the code was used already"}`:    notAdmitted, // of before
		`{"port":"a firewall"}`:                  undialled,
		`{"clock":7}`:                            admitted,
		`{"outcome":9,"why":"of a later one"}`:   notAdmitted,
		`{"outcome":9}`:                          admitted,
	} {
		var w welcome
		if err := json.Unmarshal([]byte(text), &w); err != nil || w.told() != want {
			t.Errorf("%s is read as %d (%v), want %d", text, w.told(), err, want)
		}
	}
	if text := (Joined{Undialled: true}).Trouble(); !strings.Contains(text, "firewall") {
		t.Errorf("a site that cannot be dialled for no reason told: %q", text)
	}
}

// A site that refuses without a text has refused.
func TestRefusedToJoinWithoutAWord(t *testing.T) {
	t.Parallel()
	host, guest := newBroker(t, "host"), newBroker(t, "guest")
	i := NewInvitation("host", host.peer(), nil, time.Now().Add(time.Hour))
	c := host.config()
	c.Invitations = func() []GridKey { return []GridKey{i.Secret} }
	c.Admit = func(GridKey, grid.Member) error { return errors.New("") }
	host.run(c)
	i.Addresses = host.where
	if joined, err := Join(t.Context(), guest.key, i, "guest", nil); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("it has joined: %+v, %v", joined, err)
	}
}
