package netmon

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// sites dials peers over shaped ways; a peer without one hangs.
type sites struct {
	ways   map[grid.PeerID]*shaped
	server *Monitor
	wg     sync.WaitGroup
	spent  atomic.Int64 // time in which a stream was open
}

func (s *sites) Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	if protocol != Protocol {
		return nil, errors.New("not the probe protocol")
	}
	w := s.ways[to]
	if w == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	a, b := w.pair()
	s.wg.Go(func() { s.server.Serve("me", b) })
	return &timed{Conn: a, began: time.Now(), spent: &s.spent}, nil
}

// start runs a Monitor over the ways until the test's end.
func start(t *testing.T, cfg Config, ways map[grid.PeerID]*shaped, members ...grid.Member) *Monitor {
	t.Helper()
	server, err := New(Config{Dialer: &sites{}})
	if err != nil {
		t.Fatal(err)
	}
	s := &sites{ways: ways, server: server}
	cfg.Dialer = s
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.SetPeers(members)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("Run took %v to end", d)
		}
		s.wg.Wait()
	})
	return m
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// elapse lets virtual time pass.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ideal is the rate at which a message of z bytes is delivered, from the question to its last byte.
func ideal(z int64, rate float64, delay time.Duration) float64 {
	return float64(z) / (float64(z)/rate + 2*delay.Seconds())
}

func TestMeasuresRateAndRoundTrip(t *testing.T) {
	for name, w := range map[string]struct {
		rate  float64
		delay time.Duration
	}{
		"local":   {500e6, 100 * time.Microsecond},
		"campus":  {100e6, time.Millisecond},
		"country": {20e6, 15 * time.Millisecond},
		"ocean":   {8e6, 150 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := start(t, Config{}, map[grid.PeerID]*shaped{"j": {rate: w.rate, delay: w.delay}}, grid.Member{Peer: "j"})
				m.SetAlive("j", true)
				elapse(20 * time.Minute)
				l := m.Link("j")
				if !near(l.RTTFine, 2*w.delay.Seconds(), 0.15) {
					t.Errorf("round trip %v s, want %v", l.RTTFine, 2*w.delay.Seconds())
				}
				for _, r := range l.Rates {
					if want := ideal(r.Size, w.rate, w.delay); r.Measured != (r.Size <= 16<<20) || !near(r.BytesPerSecond, want, 0.15) {
						t.Errorf("%d bytes: %.0f B/s, measured %v; want %.0f", r.Size, r.BytesPerSecond, r.Measured, want)
					}
				}
				const z = 400 << 10 // between two sizes
				if got, measured := l.Bandwidth(z); !measured || got < l.Rates[2].BytesPerSecond || got > l.Rates[3].BytesPerSecond {
					t.Errorf("between sizes: %v, %v", got, measured)
				}
			})
		})
	}
}

func TestBeforeMeasurement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{}, nil, grid.Member{Peer: "a", DefaultBandwidth: 5000}, grid.Member{Peer: "b"}, grid.Member{Peer: "c", RateLimit: 700})
		for peer, want := range map[grid.PeerID]float64{"a": 5000, "b": grid.DefaultBandwidth, "c": 700, "stranger": grid.DefaultBandwidth} {
			l := m.Link(peer)
			if len(l.Rates) == 0 {
				t.Fatalf("%s: no rates", peer)
			}
			if got, measured := l.Bandwidth(1 << 20); got != want || measured {
				t.Errorf("%s: %v, measured %v; want %v, assumed", peer, got, measured, want)
			}
		}
	})
}

func TestProbesAtOnceWhenAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &shaped{rate: 100e6, delay: time.Millisecond}
		m := start(t, Config{}, map[grid.PeerID]*shaped{"j": w}, grid.Member{Peer: "j"})
		elapse(time.Hour)
		if n := w.total(); n != 0 {
			t.Fatalf("%d bytes went to a peer that is not alive", n)
		}
		m.SetAlive("j", true)
		elapse(500 * time.Millisecond)
		if l := m.Link("j"); !l.Rates[0].Measured || !l.Rates[2].Measured || l.Rates[3].Measured {
			t.Errorf("small ones are not measured at once, large ones alone: %+v", l)
		}
		elapse(3*coolDown + 2*time.Second)
		if l := m.Link("j"); !l.Rates[5].Measured {
			t.Errorf("not measured soon: %+v", l)
		}
		m.SetAlive("j", false)
		elapse(10 * time.Second)
		n := w.total()
		elapse(time.Hour)
		if w.total() != n {
			t.Error("a dead peer was probed")
		}
	})
}

func TestSkipsSizesTooLongForASlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &shaped{rate: 60e3, delay: 20 * time.Millisecond}
		m := start(t, Config{}, map[grid.PeerID]*shaped{"j": w}, grid.Member{Peer: "j"})
		m.SetAlive("j", true)
		elapse(30 * time.Minute)
		l := m.Link("j")
		for i, r := range l.Rates {
			want := ideal(r.Size, w.rate, w.delay)
			if r.Measured != (i < 3) || !near(r.BytesPerSecond, want, 0.15) {
				t.Errorf("%d bytes: %.0f B/s, measured %v; want %.0f", r.Size, r.BytesPerSecond, r.Measured, want)
			}
		}
		if n := w.total(); n > 2<<20 {
			t.Errorf("%d bytes were sent over a slow link", n)
		}
	})
}

func TestFollowsAChange(t *testing.T) {
	for name, to := range map[string]float64{"slower": 4e6, "faster": 200e6} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &shaped{rate: 40e6, delay: 2 * time.Millisecond}
				m := start(t, Config{BytesPerHour: 1 << 40}, map[grid.PeerID]*shaped{"j": w}, grid.Member{Peer: "j"})
				m.SetAlive("j", true)
				elapse(30 * time.Minute)
				w.setRate(to)
				elapse(calmLeast + 2*time.Minute + 4*time.Minute + 30*time.Second) // until it is noticed, and four probes of each size
				l := m.Link("j")
				for _, k := range []int{2, 3} {
					z := l.Rates[k].Size
					if want := ideal(z, to, w.delay); !near(l.Rates[k].BytesPerSecond, want, 0.15) {
						t.Errorf("%d bytes: %.0f B/s, want %.0f", z, l.Rates[k].BytesPerSecond, want)
					}
				}
			})
		})
	}
}

func TestObserveInfluencesTheForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []grid.Link
		m := start(t, Config{Changed: func(_ grid.PeerID, l grid.Link) { heard = append(heard, l) }}, nil, grid.Member{Peer: "j"})
		for range 3 {
			m.Observe("j", 100<<20, 50*time.Second)
		}
		m.Observe("j", 0, time.Second)
		m.Observe("j", 5, 0)
		m.Observe("stranger", 5, time.Second)
		got, measured := m.Link("j").Bandwidth(64 << 20)
		if want := float64(2 << 20); !measured || !near(got, want, 0.01) {
			t.Errorf("%.0f B/s, measured %v; want %.0f", got, measured, want)
		}
		if len(heard) != 3 {
			t.Errorf("Changed was called %d times, want 3", len(heard))
		}
	})
}

// While files move nothing is probed; they tell of their way, and how old and how steady that is.
func TestNoProbeWhileFilesMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		busy.Store(true)
		way := &shaped{rate: 50e6, delay: time.Millisecond}
		m := start(t, Config{Busy: busy.Load}, map[grid.PeerID]*shaped{"j": way}, grid.Member{Peer: "j"})
		m.SetAlive("j", true)
		elapse(10 * time.Minute)
		if n := way.total(); n > 0 {
			t.Errorf("%d bytes of probes were sent beside files", n)
		}
		for range 3 {
			m.Observe("j", 512<<20, 8*time.Second)
		}
		elapse(time.Minute)
		l, q := m.Link("j"), m.Qualities("j")
		r, ok := l.Largest()
		if !ok || r.Size != 512<<20 || !near(r.BytesPerSecond, 64<<20, 0.01) {
			t.Errorf("of files it has learned %+v", r)
		}
		if last := q[len(q)-1]; len(q) != len(l.Rates) || last.Age != grid.Minute || last.Spread != 0 || q[0] != (grid.Quality{}) {
			t.Errorf("that is believed by %+v", q)
		}
		busy.Store(false)
		elapse(time.Minute)
		if way.total() == 0 {
			t.Error("nothing is probed when the files are there")
		}
	})
}

// Files that never end to move, or a peer that says so, do not hinder all measuring for ever.
func TestProbesAreNotPutOffForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := &shaped{rate: 50e6, delay: time.Millisecond}
		m := start(t, Config{Busy: func() bool { return true }, Interval: time.Minute}, map[grid.PeerID]*shaped{"j": way}, grid.Member{Peer: "j"})
		m.SetAlive("j", true)
		elapse((mostPutOff - 1) * time.Minute)
		if n := way.total(); n > 0 {
			t.Errorf("%d bytes of probes were sent beside files", n)
		}
		elapse(2 * time.Minute)
		if way.total() == 0 {
			t.Error("nothing is ever probed")
		}
	})
}

// While a peer measures its way to here, the way to it is not measured; that to others is.
func TestTwoDoNotMeasureAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ways := map[grid.PeerID]*shaped{"j": {rate: 50e6, delay: time.Millisecond}, "k": {rate: 50e6, delay: time.Millisecond}}
		m := start(t, Config{}, ways, grid.Member{Peer: "j"}, grid.Member{Peer: "k"})
		there, here := (&shaped{rate: 1e6}).pair()
		var served sync.WaitGroup
		served.Go(func() { m.Serve("j", here) })
		synctest.Wait()
		m.SetAlive("j", true)
		m.SetAlive("k", true)
		elapse(20 * time.Second)
		if ways["j"].total() > 0 || ways["k"].total() == 0 {
			t.Errorf("%d bytes went to the one that measures, %d to the other", ways["j"].total(), ways["k"].total())
		}
		there.Close()
		served.Wait()
		elapse(5 * time.Second)
		if ways["j"].total() == 0 {
			t.Error("it is not measured when it has ended")
		}
	})
}

func TestAHangingPeerDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &shaped{rate: 1e-3, delay: time.Hour} // opens, never delivers
		ways := map[grid.PeerID]*shaped{"good": {rate: 50e6, delay: time.Millisecond}, "silent": silent}
		m := start(t, Config{}, ways, grid.Member{Peer: "hangs"}, grid.Member{Peer: "silent"}, grid.Member{Peer: "good"})
		m.SetAlive("hangs", true)
		m.SetAlive("silent", true)
		elapse(time.Second)
		m.SetAlive("good", true)
		elapse(10 * time.Second)
		if _, measured := m.Link("good").Bandwidth(1 << 20); !measured {
			t.Error("the good peer was not measured within 10 s")
		}
		if _, measured := m.Link("silent").Bandwidth(1 << 20); measured {
			t.Error("the silent peer counts as measured")
		}
	})
}

func TestRunEndsWhileProbing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{}, map[grid.PeerID]*shaped{"j": {rate: 1, delay: time.Hour}}, grid.Member{Peer: "j"})
		m.SetAlive("j", true)
		elapse(3 * time.Second) // a message is under way; start checks that the end comes soon
	})
}

func TestHostileGuest(t *testing.T) {
	t.Run("absurd size", func(t *testing.T) {
		m, err := New(Config{Dialer: &sites{}})
		if err != nil {
			t.Fatal(err)
		}
		a, b := net.Pipe()
		go m.Serve("evil", b)
		a.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := a.Write(binary.BigEndian.AppendUint32(nil, maxMessage+1)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want the end of the stream", err)
		}
	})
	t.Run("too much", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, err := New(Config{Dialer: &sites{}})
			if err != nil {
				t.Fatal(err)
			}
			w := &shaped{rate: 1e12}
			sent := int64(0)
			for range 10 {
				a, b := w.pair()
				done := make(chan struct{})
				go func() { m.Serve("evil", b); close(done) }()
				p := &prober{c: a}
				for {
					if _, err := p.send(maxMessage, time.Now().Add(time.Minute)); err != nil {
						break
					}
					sent += maxMessage
				}
				a.Close()
				<-done
			}
			if sent > guestBurst+maxMessage {
				t.Errorf("%d bytes were taken, want at most %d", sent, guestBurst)
			}
			if sent < guestBurst-maxMessage {
				t.Errorf("only %d bytes were taken", sent)
			}
		})
	})
	t.Run("too many streams", func(t *testing.T) {
		m, err := New(Config{Dialer: &sites{}})
		if err != nil {
			t.Fatal(err)
		}
		for range guestStreams {
			if !m.enter("evil") {
				t.Fatal("refused too early")
			}
		}
		a, b := net.Pipe()
		m.Serve("evil", b)
		if _, err := a.Read(make([]byte, 1)); err == nil {
			t.Error("one stream too many was served")
		}
		if !m.enter("good") {
			t.Error("another peer suffers")
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	d := &sites{}
	for name, c := range map[string]Config{
		"no dialer": {}, "descending": {Dialer: d, Sizes: []int64{2, 1}}, "double": {Dialer: d, Sizes: []int64{2, 2}},
		"zero": {Dialer: d, Sizes: []int64{0}}, "huge": {Dialer: d, Sizes: []int64{1 << 40}},
		"share": {Dialer: d, TimeShare: 1.5}, "bytes": {Dialer: d, BytesPerHour: -1},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
