package overlay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
	madns "github.com/multiformats/go-multiaddr-dns"
	manet "github.com/multiformats/go-multiaddr/net"
	"go.uber.org/zap"

	"gbroker/grid"
)

// joinProtocol is what one who shows the secret of an invitation may speak, once: length and JSON each way, [joining] and [welcome].
const joinProtocol = protocol.ID("/gbroker/join/1")

const (
	joinLimit = 20 * time.Second
	portLimit = 3 * time.Second // for each port that is tried
	maxPorts  = 3
	// clockLimit is how far two clocks may be apart before a person is told.
	clockLimit = 5 * time.Second
)

// Invitation lets one broker that is not known yet become a neighbour of the one that has made it.
type Invitation struct {
	Site      grid.SiteName `json:"site"`
	Peer      grid.PeerID   `json:"peer"`
	Addresses []string      `json:"addresses"`
	Secret    GridKey       `json:"secret"` // shown in the handshake as a grid key is
	Until     int64         `json:"until"`  // seconds since the Unix epoch
}

// NewInvitation makes an invitation to a site.
func NewInvitation(site grid.SiteName, p grid.PeerID, addresses []string, until time.Time) Invitation {
	i := Invitation{Site: site, Peer: p, Addresses: addresses, Until: until.Unix()}
	rand.Read(i.Secret[:]) // never fails
	return i
}

// Code is the invitation as it is sent to the other administrator.
func (i Invitation) Code() (string, error) {
	b, err := json.Marshal(i)
	return base64.RawURLEncoding.EncodeToString(b), err
}

// ParseInvitation reads a code.
func ParseInvitation(code string) (i Invitation, err error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(code))
	if err == nil && len(b) <= maxRecord {
		err = json.Unmarshal(b, &i)
	}
	if err != nil || len(b) > maxRecord || i.Secret == (GridKey{}) {
		return i, fmt.Errorf("%w: this is no code of an invitation: copy the whole line that `gbroker invite` prints", grid.ErrInvalid)
	}
	return i, errors.Join(grid.CheckName(string(i.Site)), CheckPeerID(i.Peer))
}

// joining is what the one who is invited says.
type joining struct {
	Site      grid.SiteName `json:"site"`
	Addresses []string      `json:"addresses"`
	Clock     int64         `json:"clock"` // milliseconds since the Unix epoch
}

// welcome answers it.
type welcome struct {
	Outcome outcome `json:"outcome,omitempty"`
	Why     string  `json:"why,omitempty"`   // it was refused, for people
	Port    string  `json:"port,omitempty"`  // why the joining site's addresses cannot be dialled, for people
	Clock   int64   `json:"clock,omitempty"` // milliseconds since the Unix epoch
}

// outcome is what became of a wish to join. The numbers are sent: append only.
type outcome uint8

const (
	untold    outcome = iota // by a broker of before, which sends only the texts that belong to it
	admitted                 // and dialled, or nothing is to be dialled
	undialled                // admitted, though none of its addresses can be dialled
	notAdmitted
)

// told is the outcome; that of a broker of before, or of a later one that knows others, is read from which texts there are.
func (w welcome) told() outcome {
	switch {
	case w.Outcome > untold && w.Outcome <= notAdmitted:
		return w.Outcome
	case w.Why != "":
		return notAdmitted
	case w.Port != "":
		return undialled
	}
	return admitted
}

// Joined tells how a join went.
type Joined struct {
	Undialled bool          // the inviting side cannot dial this one, which has told it addresses
	Port      string        // why not, for people
	Ahead     time.Duration // of the clock over there
}

// Trouble is what an administrator should know of it; "" is nothing.
func (j Joined) Trouble() string {
	var list []string
	if j.Undialled {
		list = append(list, "firewall: this site cannot be dialled from there: "+j.Port+". Open that port here for the other site; till then it works as long as this site can dial it")
	}
	if j.Ahead.Abs() > clockLimit {
		list = append(list, fmt.Sprintf("clock: the one over there is %s this one: set both by NTP", aheadOf(j.Ahead)))
	}
	return strings.Join(list, "\n")
}

// Join accepts an invitation: the other side takes this one in. The error names what is at fault: firewall, key or code.
func Join(ctx context.Context, key Key, i Invitation, site grid.SiteName, addresses []string) (Joined, error) {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	if len(i.Addresses) == 0 {
		return Joined{}, fmt.Errorf("%w: the invitation has no address: the other site only dials out; make the invitation here instead, for it to join", grid.ErrInvalid)
	}
	members, err := checkMembers(PeerIDOf(key), []grid.Member{{Name: i.Site, Peer: i.Peer, Addresses: i.Addresses}})
	if err != nil {
		return Joined{}, err
	}
	g := &gate{}
	g.setMembers(members)
	g.gridKey.Store(&i.Secret)
	s, err := WAN.settings()
	if err != nil {
		return Joined{}, err
	}
	h, err := newHost(key, nil, g, newDoor(s.handshake, g.knows), newLanes(metrics.NewBandwidthCounter()), s)
	if err != nil {
		return Joined{}, err
	}
	defer h.Close()
	to := members.byName[i.Site]
	info := peer.AddrInfo{ID: to}
	for _, a := range i.Addresses {
		if m, err := ma.NewMultiaddr(a); err == nil {
			info.Addrs = append(info.Addrs, m)
		}
	}
	if err := h.Connect(ctx, info); err != nil {
		return Joined{}, atFault(ctx, err, i)
	}
	stream, err := h.NewStream(ctx, to, joinProtocol)
	if err != nil {
		return Joined{}, i.unfit(err)
	}
	defer stream.Reset()
	stream.SetDeadline(time.Now().Add(joinLimit))
	sent := time.Now()
	if err := writeLine(stream, joining{site, addresses, sent.UnixMilli()}); err != nil {
		return Joined{}, i.unfit(err)
	}
	var answer welcome
	if err := readLine(stream, &answer); err != nil {
		return Joined{}, i.unfit(err)
	}
	how := answer.told()
	if how == notAdmitted {
		return Joined{}, fmt.Errorf("%w: the site %s refuses: %.300s", grid.ErrForbidden, i.Site, answer.Why)
	}
	trip := time.Since(sent)
	ahead := time.UnixMilli(answer.Clock).Sub(sent.Add(trip))
	if ahead < 0 && ahead > -trip { // it said its time somewhere in the round trip
		ahead = 0
	}
	return Joined{Undialled: how == undialled, Port: answer.Port, Ahead: ahead}, nil
}

// admit serves one who has shown the secret of an invitation.
func (s *session) admit(stream network.Stream) {
	defer stream.Close()
	p := stream.Conn().RemotePeer()
	secret, invited := s.gate.invited(p)
	if !invited || s.config.Admit == nil {
		stream.Reset()
		return
	}
	s.gate.join(p, true)
	defer s.gate.join(p, false)
	stream.SetDeadline(time.Now().Add(joinLimit))
	var j joining
	if err := readLine(stream, &j); err != nil {
		return
	}
	answer := welcome{Outcome: admitted, Clock: time.Now().UnixMilli()}
	m := grid.Member{Name: j.Site, Peer: grid.PeerID(p.String()), Addresses: usable(j.Addresses), Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	if err := s.config.Admit(secret, m); err != nil {
		answer.Outcome, answer.Why = notAdmitted, cmp.Or(err.Error(), "no") // one of before reads the text
		answer.Why = answer.Why[:min(len(answer.Why), 500)]
	} else {
		s.log.Info("a site has joined by an invitation", zap.String("site", string(m.Name)), zap.String("peer", string(m.Peer)))
		if err := tryPorts(s.ctx, m.Addresses, neighbourhood(stream.Conn().RemoteMultiaddr())); err != nil {
			answer.Outcome, answer.Port = undialled, err.Error()
		}
	}
	if err := writeLine(stream, answer); err != nil {
		s.log.Debug("answering one who joins", zap.Error(err))
		return
	}
	stream.CloseWrite()
	stream.Read(make([]byte, 1)) // it hangs up when it has the answer
}

// tryPorts tells why none of some addresses takes a connection; nil where one does, or there are none. Who is invited chooses
// the addresses, so only a few are tried, and those alone at which he is himself: nobody else's ports are shown to him.
func tryPorts(ctx context.Context, addresses []string, at netip.Prefix) (why error) {
	tried := 0
	for _, a := range addresses {
		m, err := ma.NewMultiaddr(a)
		if err != nil {
			continue
		}
		there, err := resolved(ctx, m, at)
		if err != nil {
			why = cmp.Or(why, err)
			continue
		}
		if tried++; tried > maxPorts {
			break
		}
		ctx, cancel := context.WithTimeout(ctx, portLimit)
		c, err := (&manet.Dialer{Dialer: net.Dialer{}}).DialContext(ctx, there)
		cancel()
		if err == nil {
			c.Close()
			return nil
		}
		why = errors.New(shut(a, err))
	}
	return why
}

// resolved is an address with the name in it looked up, if it is one of those that a connection has come from.
func resolved(ctx context.Context, m ma.Multiaddr, at netip.Prefix) (ma.Multiaddr, error) {
	ctx, cancel := context.WithTimeout(ctx, portLimit)
	defer cancel()
	found, err := madns.DefaultResolver.Resolve(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", m, err)
	}
	for _, f := range found {
		if neighbourhood(f) == at {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s is not tried: this site comes from %s", m, at)
}

// join notes that the invitation of p is being answered, or is no more.
func (g *gate) join(p peer.ID, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, ok := g.proven[p]; ok {
		s.joining = on
		g.proven[p] = s
	}
}

// joining tells that the invitation of p is being answered.
func (g *gate) joining(p peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proven[p].joining
}

// invited is the secret that p has shown, while that invitation stands.
func (g *gate) invited(p peer.ID) (GridKey, bool) {
	g.mu.Lock()
	s, ok := g.proven[p]
	g.mu.Unlock()
	if !ok || g.invitations == nil || s.key == g.key() {
		return GridKey{}, false
	}
	for _, secret := range g.invitations() {
		if secret == s.key {
			return secret, true
		}
	}
	return GridKey{}, false
}
