package netmon

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// timed is a connection whose time counts.
type timed struct {
	net.Conn
	began time.Time
	once  sync.Once
	spent *atomic.Int64
}

func (c *timed) Close() error {
	c.once.Do(func() { c.spent.Add(int64(time.Since(c.began))) })
	return c.Conn.Close()
}

// What a Monitor sends over a way on which nothing is as expected stays within its part of the time, and within its bytes: of a slow
// way the one bounds it, of a fast one the other.
func TestAMonitorKeepsToItsCost(t *testing.T) {
	const hours = 6
	for name, c := range map[string]struct {
		rates [2]float64
		cfg   Config
	}{
		"time":  {[2]float64{30e3, 120e3}, Config{BytesPerHour: 1 << 40, Interval: time.Second}},
		"bytes": {[2]float64{20e6, 80e6}, Config{TimeShare: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way := &shaped{rate: c.rates[0], delay: 5 * time.Millisecond}
				m := start(t, c.cfg, map[grid.PeerID]*shaped{"j": way}, grid.Member{Peer: "j"})
				m.SetAlive("j", true)
				for n := range hours * 60 {
					way.setRate(c.rates[n%2])
					elapse(time.Minute)
				}
				spent := time.Duration(m.cfg.Dialer.(*sites).spent.Load())
				w := newWay(&m.cfg, time.Now())
				limit := time.Duration(m.cfg.TimeShare*float64(hours*time.Hour)) + time.Duration(w.seconds.burst*float64(time.Second)) + cutFactor*m.cfg.MaxProbe
				bytes := float64(m.cfg.BytesPerHour)*hours + bursts(w)
				t.Logf("%v of %v, %d bytes of %.0f", spent, limit, way.total(), bytes)
				if spent > limit {
					t.Errorf("probes took %v in %d h: more than %v", spent, hours, limit)
				}
				if got := float64(way.total()); got > bytes*1.01 { // with what goes around the messages
					t.Errorf("probes sent %.0f bytes in %d h: more than %.0f", got, hours, bytes)
				}
			})
		})
	}
}
