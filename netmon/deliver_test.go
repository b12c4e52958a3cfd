package netmon

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// lanes dials like sites, and counts the streams that are apart.
type lanes struct {
	*sites
	apart atomic.Int32
}

func (l *lanes) OpenApart(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	l.apart.Add(1)
	return l.Open(ctx, to, protocol)
}

// A message goes over as many streams as a file of its size, all but the first apart: where each has its own rate it takes as long as
// one of its parts, and its second half tells the rate of all of them together.
func TestAMessageGoesAsAFileDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, delay = 2e6, 10 * time.Millisecond
		server := monitor(t, asked{})
		d := &lanes{sites: &sites{ways: map[grid.PeerID]*shaped{"j": {rate: rate, delay: delay}}, server: server}}
		m, err := New(Config{Dialer: d, Streams: func(size int64) int { return int(min(max(size>>22, 1), 16)) }})
		if err != nil {
			t.Fatal(err)
		}
		m.SetPeers([]grid.Member{{Peer: "j"}})
		m.SetAlive("j", true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		elapse(time.Minute)
		cancel()
		<-ended
		d.wg.Wait()
		if d.apart.Load() != probeStreams-1 {
			t.Errorf("%d streams were apart, want those of one message of 16 MiB", d.apart.Load())
		}
		for size, want := range map[int64]float64{4 << 20: ideal(4<<20, rate, delay), 16 << 20: 4 * ideal(4<<20, rate, delay), 512 << 20: 4 * rate} {
			if got, _ := m.Link("j").Bandwidth(size); !near(got, want, 0.03) {
				t.Errorf("%d MiB: %.0f B/s, want %.0f", size>>20, got, want)
			}
		}
	})
}

// What shared its way with files is no measurement.
func TestAProbeBesideFilesDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		m := start(t, Config{Busy: busy.Load}, map[grid.PeerID]*shaped{"j": {rate: 1e6, delay: 100 * time.Millisecond}}, grid.Member{Peer: "j"})
		m.SetAlive("j", true)
		elapse(1100 * time.Millisecond) // 1 KiB is there after four round trips and its own; 16 KiB are on the way
		busy.Store(true)
		elapse(time.Minute)
		l := m.Link("j")
		if !l.Rates[0].Measured || l.Rates[1].Measured {
			t.Errorf("of 1 KiB, which went alone, and 16 KiB, which did not: %+v", l.Rates[:2])
		}
		busy.Store(false)
		elapse(time.Minute)
		if l := m.Link("j"); !l.Rates[1].Measured || !near(l.Rates[1].BytesPerSecond, ideal(16<<10, 1e6, 100*time.Millisecond), 0.01) {
			t.Errorf("when files have gone: %+v", l.Rates[1])
		}
	})
}

// A file of a size between two that are measured tells of the way, not of the size: what is forecast of it is what it took.
func TestFilesOfOtherSizesAreTaken(t *testing.T) {
	cfg := Config{}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	const delay, rate = 0.2, 10e6
	took := func(z int64, rate float64) time.Duration {
		return time.Duration((delay + float64(z)/rate) * float64(time.Second))
	}
	for _, z := range cfg.Sizes {
		w.note(now, z, took(z, rate))
	}
	small := w.forecast(now, 3)
	for range 20 {
		w.note(now, 6e6, took(6e6, rate))
	}
	if got := w.forecast(now, 4); !near(got, 4<<20/took(4<<20, rate).Seconds(), 0.01) {
		t.Errorf("where nothing has changed 4 MiB are told at %.0f B/s", got)
	}
	for range 20 {
		w.note(now, 6e6, took(6e6, rate/2))
	}
	if got, _ := w.link(now).Bandwidth(6e6); !near(got, 6e6/took(6e6, rate/2).Seconds(), 0.05) || w.forecast(now, 3) != small {
		t.Errorf("6 MB are told at %.0f B/s", got)
	}
}

func TestLaterHalf(t *testing.T) {
	begin := time.Unix(1e9, 0)
	at := func(s float64, bytes int64) arrival {
		return arrival{begin.Add(time.Duration(s * float64(time.Second))), bytes}
	}
	for _, c := range []struct {
		came []arrival
		want float64
	}{
		{[]arrival{at(9, 100), at(10, 100)}, 100},
		{[]arrival{at(10, 10), at(8, 10), at(1, 40), at(9, 20)}, 40 / 9.0},
		{[]arrival{at(3, 10), at(3, 10)}, 0},
		{[]arrival{at(3, 10)}, 0},
		{nil, 0},
	} {
		if got := laterHalf(c.came); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c.came, got, c.want)
		}
	}
}
