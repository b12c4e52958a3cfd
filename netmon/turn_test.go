package netmon

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// watched counts the probes that are on their way to each peer, from dialling on.
type watched struct {
	Dialer
	mu   sync.Mutex
	to   map[grid.PeerID]int
	most int // peers probed at once
}

func (w *watched) change(to grid.PeerID, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to[to] += by; w.to[to] == 0 {
		delete(w.to, to)
	}
	w.most = max(w.most, len(w.to))
}

func (w *watched) Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	w.change(to, 1)
	c, err := w.Dialer.Open(ctx, to, protocol)
	if err != nil {
		w.change(to, -1)
		return nil, err
	}
	return &watchedConn{Conn: c, closed: sync.OnceFunc(func() { w.change(to, -1) })}, nil
}

type watchedConn struct {
	net.Conn
	closed func()
}

func (c *watchedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// Is one link probed at a time, always: beside slow ones, one that cannot be dialled, one that never answers, and one that falls silent in
// the middle of a large message? And do these hold up the others for seconds only?
func TestOneLinkIsProbedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ways := map[grid.PeerID]*shaped{
			"silent": {rate: 1e-3, delay: time.Hour},
			"dies":   {rate: 4e6, delay: 10 * time.Millisecond},
			"slow":   {rate: 300e3, delay: 300 * time.Millisecond},
		}
		members := []grid.Member{{Peer: "hangs"}, {Peer: "silent"}, {Peer: "dies"}, {Peer: "slow"}}
		for i := range 6 {
			p := grid.PeerID(fmt.Sprintf("good%d", i))
			ways[p] = &shaped{rate: 20e6, delay: 20 * time.Millisecond}
			members = append(members, grid.Member{Peer: p})
		}
		server := monitor(t, asked{})
		all := &sites{ways: ways, server: server}
		w := &watched{Dialer: all, to: map[grid.PeerID]int{}}
		m, err := New(Config{Dialer: w, BytesPerHour: 256 << 20, Streams: func(size int64) int { return int(max(size>>22, 1)) }})
		if err != nil {
			t.Fatal(err)
		}
		m.SetPeers(members)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		defer func() { cancel(); <-ended; all.wg.Wait() }()
		for _, member := range members {
			m.SetAlive(member.Peer, true)
		}
		elapse(time.Minute)
		for i := range 6 {
			if _, measured := m.Link(grid.PeerID(fmt.Sprintf("good%d", i))).Bandwidth(1 << 20); !measured {
				t.Errorf("good%d was not measured within a minute", i)
			}
		}
		ways["dies"].setRate(1)
		elapse(20 * time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.most != 1 {
			t.Errorf("%d links were probed at once", w.most)
		}
	})
}

// Does a message to a peer that has died hold the turn for as long as such messages take, and not for as long as the slowest may?
func TestAMessageIsGivenUpSoon(t *testing.T) {
	cfg := Config{}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	for k, z := range cfg.Sizes {
		w.note(now, z, time.Duration(float64(z)/10e6*float64(time.Second)))
		if got := w.limitOf(now, k); got < turnLimit || got > max(turnLimit, cutFactor*2*time.Second) {
			t.Errorf("%d bytes at 10 MB/s are given up after %v", z, got)
		}
	}
	last := len(cfg.Sizes) - 1
	w.note(now, cfg.Sizes[last], 8*time.Second)
	for range 4 {
		w.note(now, cfg.Sizes[last], 8*time.Second)
	}
	if got := w.limitOf(now, last); got != cutFactor*cfg.MaxProbe {
		t.Errorf("what took 8 s is given up after %v", got)
	}
}
