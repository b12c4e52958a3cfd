package netmon

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// asked dials a Monitor that answers, or who answers a text; nil of both is a neighbour of before.
type asked struct {
	of   *Monitor
	text string
}

func (a asked) Open(_ context.Context, _ grid.PeerID, protocol string) (net.Conn, error) {
	if protocol != LinksProtocol || a.of == nil && a.text == "" {
		return nil, errors.New("protocols not supported")
	}
	near, far := net.Pipe()
	go func() {
		if a.of != nil {
			a.of.Tell("me", far)
			return
		}
		far.Read(make([]byte, maxQuestion))
		io.WriteString(far, a.text)
		far.Close()
	}()
	return near, nil
}

func monitor(t *testing.T, d Dialer) *Monitor {
	t.Helper()
	m, err := New(Config{Dialer: d})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A neighbour tells its forecasts of the ways to its own neighbours that are alive, by size, and nothing of others.
func TestAsk(t *testing.T) {
	t.Parallel()
	far := monitor(t, asked{})
	far.SetPeers([]grid.Member{{Peer: "k"}, {Peer: "dead"}})
	far.SetAlive("k", true)
	far.Observe("k", 1<<20, time.Second/4)
	links, err := monitor(t, asked{of: far}).Ask(t.Context(), "far", []grid.PeerID{"k", "dead", "stranger"})
	if err != nil || len(links) != 1 {
		t.Fatalf("%v, %v", links, err)
	}
	rate, measured := links["k"].Bandwidth(1 << 20)
	if !measured || !near(rate, 4<<20, 1e-9) {
		t.Errorf("a mebibyte at %v bytes a second, measured %v", rate, measured)
	}
	if _, measured := links["k"].Bandwidth(1 << 10); measured {
		t.Error("a size that was not measured is told as measured")
	}
}

// A neighbour of before, and what makes no sense, is an error; what is out of bounds is cut; what was not asked about is not taken.
func TestAskUnsound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "not supported",
		"{":                         "unexpected",
		`[{"peer":"k","rates":[]}]`: "0 rates",
		`[{"peer":"k","rtt_s":-1,"rates":[{"size":1,"bytes_per_s":1}]}]`:                        "round trip",
		`[{"peer":"k","rates":[{"size":1,"bytes_per_s":0}]}]`:                                   "0 bytes a second",
		`[{"peer":"k","rates":[{"size":2,"bytes_per_s":1},{"size":1,"bytes_per_s":1}]}]`:        "messages of 1 bytes",
		`[{"peer":"k","rates":[` + strings.Repeat(`{"size":1,"bytes_per_s":1},`, 1<<13) + `]}]`: "unexpected",
	} {
		if links, err := monitor(t, asked{text: text}).Ask(t.Context(), "far", []grid.PeerID{"k"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, %v", text, links, err)
		}
	}
	links, err := monitor(t, asked{text: `[{"peer":"k","rtt_s":1e9,"rates":[{"size":1,"bytes_per_s":1e300}]},{"peer":"x","rates":[]}]`}).Ask(t.Context(), "far", []grid.PeerID{"k"})
	if err != nil || len(links) != 1 || links["k"].RTT != grid.Hour || links["k"].Rates[0].BytesPerSecond != fastest {
		t.Errorf("%v, %v", links, err)
	}
}

// A question about too many, or that does not come, is not answered.
func TestTellIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"peers":[` + strings.Repeat(`"k",`, maxAsked) + `"k"]}` + "\n", strings.Repeat("x", maxQuestion+1)} {
		near, far := net.Pipe()
		go monitor(t, asked{}).Tell("me", far)
		go io.WriteString(near, text)
		if said, err := io.ReadAll(near); err != nil || len(said) > 0 {
			t.Errorf("%.30s is answered with %q (%v)", text, said, err)
		}
	}
}
