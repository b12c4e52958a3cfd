// Package outbound makes connections to places that users name: sources and targets of files,
// webhooks. A user must not reach by the broker what only the broker can reach, so addresses that
// are not of the public internet (loopback, link-local, private, and what embeds or resembles
// them) are refused unless the site allows them.
//
// The address is checked when a connection is made, after its name was resolved, for each
// address tried; so neither a name that resolves to another address the second time nor a
// redirect leads around it. Proxies of the environment are not used: behind one the address
// would be the proxy's word.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// ErrRefused is wrapped by the errors of connections that the site does not allow.
var ErrRefused = errors.New("this site does not let its users reach that address")

// Policy says where connections may go. The zero value allows the public internet alone.
type Policy struct {
	// Allow are networks that may be reached although they are not public.
	Allow []netip.Prefix
}

// Limits of time and number.
const (
	connectLimit = 15 * time.Second // of one connection, with its name's resolution
	answerLimit  = 60 * time.Second // until the first byte of an answer
	stallLimit   = 2 * time.Minute  // without a byte
	maxRedirects = 5
	maxHeader    = 64 << 10 // bytes of an answer's header
)

// special are networks that are not public, beside those that netip knows by a method.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"240.0.0.0/4",                                              // reserved, and broadcast
	"64:ff9b::/96", "64:ff9b:1::/48", "2001::/23", "2002::/16", // an IPv4 address may be inside
	"100::/64", "2001:db8::/32", "fec0::/10", "::/96",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// ParseNetwork reads a network, or one address, of a site's configuration.
func ParseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%.60q is no address and no network: write 10.1.2.3 or 10.0.0.0/8", text)
		}
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("%.60q is no network: write one as 10.0.0.0/8, without bits behind its length", text)
	}
	return p, nil
}

// Check says why an address may not be reached; nil lets it be.
func (p Policy) Check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	for _, n := range p.Allow {
		if n.Contains(a) {
			return nil
		}
	}
	kind := ""
	switch {
	case !a.IsValid():
		kind = "no address"
	case a.IsLoopback():
		kind = "loopback"
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast():
		kind = "link-local"
	case a.IsPrivate():
		kind = "private"
	case !a.IsGlobalUnicast(), contains(special, a):
		kind = "not of the public internet"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s is %s (its administrator may allow it by `outbound` in gbroker.yaml)", ErrRefused, a, kind)
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	for _, n := range list {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Dial makes a connection that the policy allows. It breaks where nothing moves for long.
func (p Policy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := p.dialer().DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &moving{Conn: c}, nil
}

// moving is a connection that must move.
type moving struct{ net.Conn }

func (m *moving) Read(b []byte) (int, error) {
	m.SetReadDeadline(time.Now().Add(stallLimit))
	return m.Conn.Read(b)
}

func (m *moving) Write(b []byte) (int, error) {
	m.SetWriteDeadline(time.Now().Add(stallLimit))
	return m.Conn.Write(b)
}

func (p Policy) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: connectLimit, KeepAlive: 30 * time.Second,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %s: %w", ErrRefused, address, err)
			}
			return p.Check(a.Addr())
		},
	}
}

// Transport is for HTTP over such connections; an answer must begin in time. The whole of a
// request is bounded by its context.
func (p Policy) Transport() *http.Transport {
	return &http.Transport{
		DialContext:         p.Dial,
		TLSHandshakeTimeout: connectLimit, ResponseHeaderTimeout: answerLimit, IdleConnTimeout: answerLimit,
		MaxResponseHeaderBytes: maxHeader, MaxConnsPerHost: 16, ForceAttemptHTTP2: true,
		DisableCompression: true, // the bytes are what is asked for
	}
}

// Client follows few redirects, each checked as the first, and none from HTTPS to HTTP.
func (p Policy) Client() *http.Client {
	return &http.Client{Transport: p.Transport(), CheckRedirect: redirect}
}

func redirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case next.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return fmt.Errorf("%w: redirected from https to %s", ErrRefused, next.URL.Scheme)
	}
	return nil
}
