package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/sec"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gbroker/grid"
)

// fault is why a join failed, in words for an administrator: what is at fault, and the way out. What the libraries say of it
// is many lines about their own parts; errors.Is and errors.As find it.
type fault struct {
	kind  error
	text  string
	cause error
}

func (f *fault) Error() string   { return f.kind.Error() + ": " + f.text }
func (f *fault) Unwrap() []error { return []error{f.kind, f.cause} }

// unfit tells why the other side knows nothing of an invitation, as far as one can say that here.
func (i Invitation) unfit(err error) error {
	until := time.Unix(i.Until, 0)
	what, why := "code", fmt.Sprintf("it was used already, was not copied as it is, or the clock of one of the two sites is wrong (here it is %s, and the code is good until %s)",
		time.Now().Format(time.DateTime), until.Format(time.DateTime))
	if time.Now().After(until) {
		what, why = "code or clock", fmt.Sprintf("it was good until %s, and here it is %s", until.Format(time.DateTime), time.Now().Format(time.DateTime))
	}
	return &fault{grid.ErrForbidden, fmt.Sprintf("%s: the site %s does not know this code: %s. Ask for a new one (`gbroker invite` there), and set a wrong clock by NTP", what, i.Site, why), err}
}

// atFault says what keeps the inviting site from being reached.
func atFault(ctx context.Context, err error, i Invitation) error {
	var other sec.ErrPeerIDMismatch
	at := strings.Join(i.Addresses, ", ")
	say := func(kind error, format string, args ...any) error {
		return &fault{kind, fmt.Sprintf(format, args...), err}
	}
	switch text := err.Error(); {
	case errors.As(err, &other):
		return say(grid.ErrInvalid, "key: at %s answers the broker %s, and not %s, which has made the code: was it made at another site, or has that a new identity? Ask %s for a new one",
			at, other.Actual, i.Peer, i.Site)
	case strings.Contains(text, "refused"):
		return say(grid.ErrUnavailable, "broker or firewall: nothing listens at %s: the broker of %s is down, or has another port by now, or a firewall turns this site away: `gbroker status` there says how it is; "+
			"then open that TCP port for this site, or ask for a new code", at, i.Site)
	case strings.Contains(text, "security protocol") && strings.Contains(text, "deadline"):
		return say(grid.ErrUnavailable, "what answers at %s says nothing: is that the address and port of %s, and does a firewall or proxy on the way let TLS through?", at, i.Site)
	case (strings.Contains(text, "deadline") || strings.Contains(text, "timeout") || strings.Contains(text, "timed out")) && takesConnections(ctx, i.Addresses):
		return say(grid.ErrUnavailable, "broker: the port at %s takes connections, and nobody speaks: is the broker of %s stopped, or its machine overloaded? `gbroker status` there says how it is", at, i.Site)
	case strings.Contains(text, "deadline") || strings.Contains(text, "timeout") || strings.Contains(text, "timed out"):
		return say(grid.ErrUnavailable, "firewall: nothing answers at %s: open that TCP port there for this site, and for what goes out of here; or make the code here (`gbroker invite`), for %s to join", at, i.Site)
	case strings.Contains(text, "trailing newline"): // it speaks first, or something else
		return say(grid.ErrUnavailable, "what answers at %s is no broker: is that the address and port of %s, or a proxy on the way?", at, i.Site)
	case strings.Contains(text, "unreachable") || strings.Contains(text, "no route"):
		return say(grid.ErrUnavailable, "network: there is no way from here to %s: is that an address that %s has outside of its own network, and does a firewall turn this site away?", at, i.Site)
	case strings.Contains(text, "no good addresses") || strings.Contains(text, "no addresses") || strings.Contains(text, "no such host"):
		return say(grid.ErrUnavailable, "address: the names in %s are not found from here: ask %s for a new code, made with an address that this site knows", at, i.Site)
	}
	return fmt.Errorf("%w: reaching %s at %s: %w", grid.ErrUnavailable, i.Site, at, err)
}

// takesConnections tells that a port is open, whatever is behind it: no firewall is in the way.
func takesConnections(ctx context.Context, addresses []string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, a := range addresses {
		address, err := ma.NewMultiaddr(a)
		if err != nil {
			continue
		}
		var d manet.Dialer
		if c, err := d.DialContext(ctx, address); err == nil {
			_ = c.Close()
			return true
		}
	}
	return false
}

// shut says why an address takes no connection.
func shut(address string, err error) string {
	var slow net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return address + " is refused: nothing listens there, or a firewall turns connections away"
	case errors.As(err, &slow) && slow.Timeout():
		return address + " gives no answer: a firewall drops what comes"
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return address + " cannot be reached: there is no way to it"
	}
	return address + ": " + err.Error()
}

// aheadOf is how a clock stands to another.
func aheadOf(ahead time.Duration) string {
	if ahead < 0 {
		return fmt.Sprintf("%s behind", (-ahead).Round(time.Millisecond))
	}
	return fmt.Sprintf("%s ahead of", ahead.Round(time.Millisecond))
}
