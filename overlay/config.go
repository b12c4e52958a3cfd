package overlay

import (
	"errors"
	"fmt"
	"strings"

	ma "github.com/multiformats/go-multiaddr"
	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/wire"
)

// Limits on what an administrator may write.
const (
	maxMembers   = 1000
	maxAddresses = 16 // of one member
	maxAddress   = 300
)

// Config says who this broker is, whom it knows and who wants to be told. All
// callbacks may come from several goroutines and must not call back into
// SetMembers; those for one peer never overlap.
type Config struct {
	Key    Key
	Listen []string // multiaddresses over TCP; /tcp/0 takes the port of the last run if it is free. None: this site only dials out
	Site   grid.Site
	// Members are the peers that are heard.
	Members []grid.Member
	// Relay is what is done for members that can reach each other through here alone; nil is nothing.
	Relay *Relay
	// GridKey lets brokers that have it too speak the DHT here; the zero key is none.
	GridKey GridKey

	// Hello is what is said first on every stream of messages; asked for each time.
	Hello func() wire.Hello
	// HelloFrom is called before any other message of a stream; an error ends the
	// stream, and is told to the peer. May be nil.
	HelloFrom func(from grid.PeerID, h wire.Hello) error
	// Receive gets the messages of one peer in their order. While it works, that
	// peer's next messages wait.
	Receive func(from grid.PeerID, m wire.Message)
	// PeerChanged gets transitions only; a quick there and back may be left out. May be nil.
	PeerChanged func(peer grid.PeerID, l grid.Liveness)

	// Invitations are the secrets of the invitations that stand, and Admit takes in the one that has shown such a secret: it
	// uses it up. May be nil.
	Invitations func() []GridKey
	Admit       func(secret GridKey, m grid.Member) error

	Profile Profile // "" is WAN
	Logger  *zap.Logger
	// StateDir keeps what was learned: the last ports and the members' addresses. ""
	// keeps nothing.
	StateDir string
}

// check says everything that is wrong with c.
func (c Config) check() error {
	var errs []error
	if c.Key.private == nil {
		errs = append(errs, errors.New("the overlay needs an identity key"))
	}
	if c.Hello == nil || c.Receive == nil {
		errs = append(errs, errors.New("the overlay needs Hello and Receive"))
	}
	if err := grid.CheckName(string(c.Site.Name)); err != nil {
		errs = append(errs, fmt.Errorf("the site: %w", err))
	}
	if len(c.Listen) > maxAddresses {
		errs = append(errs, fmt.Errorf("listen has %d addresses: at most %d", len(c.Listen), maxAddresses))
	}
	for _, a := range c.Listen {
		if err := checkAddress(a); err != nil {
			errs = append(errs, fmt.Errorf("listen: %w", err))
		}
	}
	if _, err := c.Profile.settings(); err != nil {
		errs = append(errs, err)
	}
	if _, err := checkMembers(PeerIDOf(c.Key), c.Members); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkAddress says why s is no address a broker can listen on or be dialled at:
// a multiaddress over TCP without /p2p.
func checkAddress(s string) error {
	if len(s) > maxAddress {
		return fmt.Errorf("the address %.40q… has %d characters: at most %d", s, len(s), maxAddress)
	}
	m, err := ma.NewMultiaddr(s)
	if err != nil {
		return fmt.Errorf("%q is no address: write /ip4/192.0.2.7/tcp/7700 or /dns4/broker.example.org/tcp/7700", s)
	}
	switch names := protocolNames(m); names {
	case "ip4/tcp", "ip6/tcp", "dns/tcp", "dns4/tcp", "dns6/tcp", "ip6zone/ip6/tcp":
		return nil
	default:
		return fmt.Errorf("the address %q goes over %s: only TCP is used, as in /ip4/192.0.2.7/tcp/7700", s, names)
	}
}

func protocolNames(m ma.Multiaddr) string {
	var names []string
	for _, p := range m.Protocols() {
		names = append(names, p.Name)
	}
	return strings.Join(names, "/")
}
