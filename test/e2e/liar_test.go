package e2e

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/vmihailenco/msgpack/v5"

	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/wire"
)

// liar is a member that speaks the brokers' own protocols over the real overlay, and
// says what it likes.
type liar struct {
	t       *testing.T
	name    string
	keyFile string
	overlay *overlay.Overlay
	site    grid.Site // as it boasts

	mu    sync.Mutex
	heard []wire.Message
}

// newLiar starts a liar that the sites take for one of them; hears gets each message
// that comes.
func newLiar(t *testing.T, dir, name string, hears func(*liar, grid.PeerID, wire.Message), sites ...site) *liar {
	t.Helper()
	l := &liar{t: t, name: name, keyFile: filepath.Join(dir, name+".key"),
		site: grid.Site{Name: grid.SiteName(name), Processes: 1000, Speed: 1000, Architecture: "x86_64", System: "LINUX"}}
	key, err := overlay.CreateKey(l.keyFile)
	must(t, err)
	var members []grid.Member
	for _, s := range sites {
		r, err := s.Ready()
		must(t, err)
		members = append(members, grid.Member{Name: grid.SiteName(s.Name), Peer: grid.PeerID(r.Peer), Addresses: r.Addresses})
	}
	l.overlay, err = overlay.New(overlay.Config{
		Key: key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Site: l.site, Members: members,
		Hello: l.hello, Receive: func(from grid.PeerID, m wire.Message) {
			l.mu.Lock()
			l.heard = append(l.heard, m)
			l.mu.Unlock()
			hears(l, from, m)
		},
	})
	must(t, err)
	l.run()
	for _, s := range sites {
		line := string(l.site.Name) + " " + string(l.overlay.Peer()) + " " + strings.Join(l.overlay.Addresses(), ",")
		if r := s.Admin(t.Context(), "neighbour", "add", "--config", s.Config(), line); r.Code != 0 {
			t.Fatalf("adding %s at %s: %s", name, s.Name, r.Stderr)
		}
	}
	return l
}

func (l *liar) hello() wire.Hello {
	return wire.Hello{Program: "liar", Site: l.site, Boot: 1, Clock: grid.InstantOf(time.Now())}
}

// run lets the overlay run until the test ends.
func (l *liar) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	done := make(chan error, 1)
	go func() { done <- l.overlay.Run(ctx) }()
	l.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("the overlay of %s: %v", l.name, err)
		}
	})
	select {
	case <-l.overlay.Ready():
	case <-time.After(30 * time.Second):
		l.t.Fatalf("the overlay of %s does not serve", l.name)
	}
}

func (l *liar) send(to grid.PeerID, m wire.Message) {
	if err := l.overlay.Send(to, m); err != nil {
		l.t.Logf("%s could not send %v: %v", l.name, m.Kind(), err)
	}
}

// got counts the messages that were heard and fit.
func (l *liar) got(fits func(wire.Message) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(slices.Collect(func(yield func(wire.Message) bool) {
		for _, m := range l.heard {
			if fits(m) && !yield(m) {
				return
			}
		}
	}))
}

// tempt answers a question so that jobs of one walltime cannot resist, and others
// are left alone.
func (l *liar) tempt(to grid.PeerID, a wire.EstimateRequest, walltime grid.Tick) {
	l.send(to, l.tell(a, func(q wire.Question) grid.Estimate {
		if q.Walltime == walltime {
			return grid.Estimate{}
		}
		return grid.Estimate{Refusal: &grid.Refusal{Reason: "not to my taste"}}
	}))
}

func (l *liar) tell(a wire.EstimateRequest, answer func(wire.Question) grid.Estimate) wire.EstimateReply {
	t := wire.EstimateReply{Round: a.Round, Site: l.site}
	for _, q := range a.Questions {
		t.Answers = append(t.Answers, wire.Answer{Job: q.Job, Estimate: answer(q)})
	}
	return t
}

// raw sends a frame that package wire would not make, over a connection of its own:
// the body is encoded as it is.
func (l *liar) raw(to site, kind wire.Kind, body any) {
	var hello strings.Builder
	must(l.t, wire.WriteFrame(&hello, l.hello()))
	frame, err := msgpack.Marshal([]any{uint8(wire.Version), uint8(kind), []string{}, body})
	must(l.t, err)
	c := l.connect(to)
	defer c.Close()
	data := binary.BigEndian.AppendUint32([]byte(hello.String()), uint32(len(frame)))
	if _, err := c.Write(append(data, frame...)); err != nil {
		l.t.Errorf("%s writes to %s: %v", l.name, to.Name, err)
	}
}

// connect opens a stream of messages under the liar's identity.
func (l *liar) connect(to site) network.Stream {
	text, err := os.ReadFile(l.keyFile)
	must(l.t, err)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	must(l.t, err)
	key, err := crypto.UnmarshalPrivateKey(raw)
	must(l.t, err)
	h, err := libp2p.New(libp2p.Identity(key), libp2p.NoListenAddrs)
	must(l.t, err)
	l.t.Cleanup(func() { h.Close() })
	r, err := to.Ready()
	must(l.t, err)
	id, err := peer.Decode(r.Peer)
	must(l.t, err)
	address, err := ma.NewMultiaddr(r.Addresses[0])
	must(l.t, err)
	must(l.t, h.Connect(l.t.Context(), peer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{address}}))
	s, err := h.NewStream(l.t.Context(), id, protocol.ID(wire.Protocol))
	must(l.t, err)
	return s
}
