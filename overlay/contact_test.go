package overlay

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	manet "github.com/multiformats/go-multiaddr/net"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/grid"
	"gbroker/wire"
)

// observed starts b with a log that can be looked at.
func observed(b *broker, members ...grid.Member) *observer.ObservedLogs {
	core, logs := observer.New(zap.InfoLevel)
	c := b.config(members...)
	c.Logger = zap.New(core)
	b.run(c)
	return logs
}

// of counts the lines that hold all of some words, in message or fields.
func of(logs *observer.ObservedLogs, words ...string) (n int) {
	for _, e := range logs.All() {
		text := e.Message
		for k, v := range e.ContextMap() {
			text += fmt.Sprintf(" %s %v", k, v)
		}
		all := true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			n++
		}
	}
	return n
}

// p lists b, and b does not list p: both are told, once, and what p is told ends when
// b lists it.
func TestRefusedIsTold(t *testing.T) {
	t.Parallel()
	p, b := newBroker(t, "p"), newBroker(t, "b")
	atB := observed(b)
	atP := observed(p, b.as())
	eventually(t, "p knows that it is refused", func() bool { return p.over.Contact(b.peer()) == grid.Refused })
	n := p.over.current.Load().neighbour(b.over.self)
	eventually(t, "p goes on dialling", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.contact.refused >= 5
	})
	if n := of(atB, "no neighbour here", "`gbroker neighbour add`", string(p.peer()), "/ip4/127.0.0.1/tcp/"); n != 1 {
		t.Errorf("b wrote %d lines about p, want 1: %v", n, atB.All())
	}
	if n := of(atP, "does it list it?", "b", string(b.peer())); n != 1 {
		t.Errorf("p wrote %d lines about b, want 1: %v", n, atP.All())
	}
	if err := b.over.SetMembers([]grid.Member{p.as()}); err != nil {
		t.Fatal(err)
	}
	p.sees(b, grid.Alive)
	if c := p.over.Contact(b.peer()); c != grid.Met {
		t.Errorf("b is alive, and at p %q", c)
	}
	b.stop()
	p.sees(b, grid.Dead)
	if c := p.over.Contact(b.peer()); c != grid.Met {
		t.Errorf("b was alive, and is now at p %q", c)
	}
	p.stop()
	p.start(b.as())
	if c := p.over.Contact(b.peer()); c != grid.Met {
		t.Errorf("b was alive before p began again, and is now at p %q", c)
	}
}

// A member that was never there, and one whose address is another's.
func TestNeverMet(t *testing.T) {
	t.Parallel()
	p, b, c, d := newBroker(t, "p"), newBroker(t, "b"), newBroker(t, "c"), newBroker(t, "d")
	b.start()
	wrong := c.as()
	wrong.Addresses = b.over.Addresses()
	atP := observed(p, d.as(), wrong)
	eventually(t, "p knows that another answers", func() bool { return p.over.Contact(c.peer()) == grid.OtherKey })
	if got := p.over.Contact(d.peer()); got != grid.NeverHeard {
		t.Errorf("who was never there is %q", got)
	}
	if n := of(atP, "another broker answers", string(c.peer()), string(b.peer())); n != 1 {
		t.Errorf("p wrote %d lines about that, want 1: %v", n, atP.All())
	}
}

// Messages that are not understood, and refused greetings, fill no log.
func TestNoFloodOfComplaints(t *testing.T) {
	t.Parallel()
	a := newBroker(t, "a")
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	logs := observed(a, grid.Member{Name: "bare", Peer: PeerIDOf(key)})
	h, to := bareHost(t, key, a)
	n := a.over.current.Load().neighbour(h.ID())
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		stream, err := h.NewStream(ctx, to, messageProtocol)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		unknown := []byte{0, 0, 0, 7, 0x94, 1, 0xcd, 0x7f, 0xff, 0, 0x80} // of a kind that is none
		for range maxComplaints + 1 {
			if _, err := stream.Write(unknown); err != nil {
				break
			}
		}
		stream.SetReadDeadline(time.Now().Add(patience))
		if _, err := stream.Read(make([]byte, 1)); err == nil {
			t.Error("the stream goes on")
		}
	}
	if n := of(logs, "a message was not understood", string(n.peer)); n != 1 {
		t.Errorf("%d lines about messages, want 1", n)
	}
	a.mu.Lock()
	a.refuse = grid.ErrInvalid
	a.mu.Unlock()
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		stream, err := h.NewStream(ctx, to, messageProtocol)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.WriteFrame(stream, a.config().Hello()); err != nil {
			t.Fatal(err)
		}
		stream.SetReadDeadline(time.Now().Add(patience))
		if _, err := stream.Read(make([]byte, 1)); err == nil {
			t.Error("a refused greeting is answered")
		}
	}
	if n := of(logs, "a member was refused", string(n.peer)); n != 1 {
		t.Errorf("%d lines about greetings, want 1", n)
	}
}

// A port that another program has is told with the way out, and once.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	address, err := manet.FromNetAddr(other.Addr())
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	b := newBroker(t, "b")
	c := b.config()
	c.Listen, c.Logger = []string{address.String()}, zap.New(core)
	o, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	err = o.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "in use by another program: choose another") {
		t.Errorf("the error is %v", err)
	}
	if all := logs.All(); len(all) > 0 {
		t.Errorf("beside the error there is in the log %v", all)
	}
}

// A port on an address that is another machine's is told with the way out.
func TestPortOfAnotherMachine(t *testing.T) {
	t.Parallel()
	c := newBroker(t, "b").config()
	c.Listen = []string{"/ip4/192.0.2.199/tcp/4010"}
	o, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Run(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "/ip4/192.0.2.199/tcp/4010: this machine does not have that address: write one that it has, or 0.0.0.0 for all of them (listen in gbroker.yaml, or --listen)") {
		t.Errorf("the error is %v", err)
	}
}

// What the libraries call an error is for debugging, and nothing less is written.
func TestDemoted(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	log := zap.New(demoted{core}).With(zap.Int("a", 1))
	log.Info("info")
	log.Error("error")
	if all := logs.All(); len(all) != 1 || all[0].Level != zapcore.DebugLevel || all[0].Message != "error" || len(all[0].Context) != 1 {
		t.Errorf("written was %v", all)
	}
	core, logs = observer.New(zap.InfoLevel)
	zap.New(demoted{core}).Error("error")
	if logs.Len() > 0 {
		t.Errorf("written at info was %v", logs.All())
	}
}
