package overlay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	tptu "github.com/libp2p/go-libp2p/p2p/net/upgrader"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	ma "github.com/multiformats/go-multiaddr"

	"gbroker/grid"
)

// A broker has so many lines through it, and so many of one member.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	through := through{of: map[grid.PeerID]int{}}
	of, all := 0, 0
	for through.enter("greedy") {
		if of++; of > maxThrough {
			break
		}
	}
	for i := range maxThrough {
		if through.enter(grid.PeerID(fmt.Sprint(i))) {
			all++
		}
	}
	if of != maxThroughOf || of+all != maxThrough {
		t.Errorf("%d lines of one member, %d in all", of, of+all)
	}
	if through.leave("greedy"); !through.enter("late") {
		t.Error("the place of a line that ended is not free")
	}
	if err := readLine(strings.NewReader(string(binary.BigEndian.AppendUint16(nil, maxReach+1))+strings.Repeat(" ", maxReach)+"1"), new(int)); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a line that is too long: %v", err)
	}
}

// A way that is too long is passed on by nobody, and none by a broker without a grid key.
func TestLineThatIsNotPassedOn(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	var far []grid.PeerID
	for range maxHops {
		k, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		far = append(far, PeerIDOf(k))
	}
	refused := func(way []grid.PeerID, why string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		line, _, err := a.over.current.Load().step(ctx, reach{append([]grid.PeerID{b.peer()}, way...), "/test/echo/1"})
		if err == nil {
			line.Close()
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a way over %d more: %v, not %q", len(way), err, why)
		}
	}
	refused(far[:1], "no grid key")
	key := NewGridKey()
	a.over.SetGridKey(key)
	b.over.SetGridKey(key)
	refused(far, "is not taken")
}

// Who is between two ends cannot answer in the place of the one that is asked for.
func TestEndOfALineIsWhoItIs(t *testing.T) {
	t.Parallel()
	all := graph(t, 3, chain(3), nil)
	a, liar, c := all[0], all[1], all[2]
	eventually(t, "a way is known", func() bool {
		found, err := a.over.Sites(t.Context())
		return err == nil && len(found) == 2
	})
	s := liar.over.current.Load()
	s.handleWith(string(reachProtocol), func(_ *neighbour, line *bulkConn) {
		var r reach
		if readLine(line, &r) != nil || writeLine(line, reached{OK: true}) != nil {
			return
		}
		own, err := libp2ptls.New(libp2ptls.ID, liar.key.private, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if end, err := own.SecureInbound(t.Context(), line, ""); err == nil {
			io.WriteString(end, "all is well")
			end.Close()
		}
	})
	line, err := a.over.Reach(t.Context(), c.peer(), "/test/echo/1")
	if err == nil {
		line.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "the end of the line") {
		t.Errorf("another answers in its place: %v", err)
	}
}

// mirror is the security of one who has no key, and shows the proof that he was shown.
type mirror struct{ *libp2ptls.Transport }

func newMirror(id protocol.ID, key crypto.PrivKey, muxers []tptu.StreamMuxer) (*mirror, error) {
	t, err := libp2ptls.New(id, key, muxers)
	return &mirror{t}, err
}

func (m *mirror) SecureOutbound(ctx context.Context, insecure net.Conn, p peer.ID) (sec.SecureConn, error) {
	c, err := m.Transport.SecureOutbound(ctx, insecure, p)
	if err == nil {
		_, err = io.CopyN(c, c, int64(len(GridKey{})))
	}
	return c, err
}

// A proof that is given back as it came proves nothing.
func TestProofGivenBack(t *testing.T) {
	t.Parallel()
	host := newBroker(t, "host")
	c := host.config()
	c.GridKey = NewGridKey()
	host.run(c)
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	h, err := libp2p.New(libp2p.Identity(key.private), libp2p.NoListenAddrs, libp2p.DisableMetrics(), libp2p.Security(string(gridSecurity), newMirror))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	to, err := peer.Decode(string(host.peer()))
	if err != nil {
		t.Fatal(err)
	}
	h.Peerstore().AddAddr(to, ma.StringCast(host.where[0]), peerstore.PermanentAddrTTL)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stream network.Stream
	if stream, err = h.NewStream(ctx, to, recordsProtocol); err == nil {
		_, err = stream.Read(make([]byte, 1))
	}
	if host.over.gate.guest(h.ID()) {
		t.Errorf("a guest without the key, whose stream says %v", err)
	}
}

// A peer has the limits of a guest until it is a member.
func TestLimitsOfAGuest(t *testing.T) {
	t.Parallel()
	host := newBroker(t, "host")
	host.start()
	g := host.over.gate
	manager, err := newLimits(g)
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.Decode(string(PeerIDOf(key)))
	if err != nil {
		t.Fatal(err)
	}
	opened := func() (n int) {
		for range 4 * maxLookups {
			s, err := manager.OpenStream(id, network.DirInbound)
			if err != nil {
				break
			}
			defer s.Done()
			n++
		}
		return n
	}
	if n := opened(); n != maxLookups {
		t.Errorf("a guest has %d streams", n)
	}
	if err := host.over.SetMembers([]grid.Member{{Name: "other", Peer: PeerIDOf(key)}}); err != nil {
		t.Fatal(err)
	}
	if n := opened(); n != 4*maxLookups {
		t.Errorf("a member has %d streams", n)
	}
}
